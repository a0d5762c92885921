"""The page of the report in a browser: each section shows data, and nothing is fetched."""

import json
import pathlib
import struct
import subprocess
import sys

import chromium
import pytest
import xgboost_runs
from page_parts import Page

SMDEBUG = pathlib.Path(sys.executable).parent / "smdebug"
OF_CLASSES = ["confusion", "scores", "class-accuracy"]
OF_NUMBERS = ["residuals", "error-by-label"]
OF_ALL = ["run", "labels", "metrics", "importance"]

pytestmark = pytest.mark.skipif(
    chromium.PROGRAM is None, reason="no chromium here: tools/bootstrap installs it"
)


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    return tmp_path_factory.mktemp("profile")


def page_of(task, folder, **options):
    run = xgboost_runs.record(task, folder / "run", **options)
    page = folder / "report.html"
    subprocess.run([SMDEBUG, "report", run.path, "--out", page], check=True, timeout=120)
    return page


@pytest.mark.parametrize(
    ("task", "shown"),
    [
        (xgboost_runs.binary, [*OF_ALL, *OF_CLASSES, "roc"]),
        (xgboost_runs.multiclass, [*OF_ALL, *OF_CLASSES]),
        (xgboost_runs.regression, [*OF_ALL, *OF_NUMBERS]),
    ],
)
def test_each_section_shows_data_or_says_why_not(tmp_path, profile, task, shown):
    path = page_of(task, tmp_path)
    dump = chromium.run(path, profile, "--dump-dom")
    page = Page(dump.stdout)
    assert list(page.sections) == [*OF_ALL, *OF_CLASSES, "roc", *OF_NUMBERS], dump.stderr
    without_plots = {"run", "scores"}  # they are tables
    for section in set(shown) - without_plots:
        assert page.plots[section] >= 1, section
    for section in set(page.sections) - set(shown):
        assert page.plots[section] == 0
        assert "Shown only for" in page.sections[section]
    assert "0." in page.sections["scores"] or "scores" not in shown


def test_nothing_is_fetched_and_no_script_runs(tmp_path, profile):
    names = {"feature 0": "<script>document.title='caught'</script>", "feature 1": '"><img src=x>'}
    path = page_of(xgboost_runs.binary, tmp_path, rename=names, rounds=4)
    dump = chromium.run(path, profile, "--dump-dom")
    page = Page(dump.stdout)
    assert "<script>document.title" in page.sections["importance"]
    assert {"script", "img", "link", "iframe", "object"}.isdisjoint(tag for tag, _ in page.elements)
    for tag, attributes in page.elements:
        assert not {"src", "href", "xlink:href", "srcset"} & set(attributes), (tag, attributes)
        assert not any("url(" in (value or "") for value in attributes.values()), (tag, attributes)
    assert "://" not in path.read_text()


def test_the_page_can_be_photographed(tmp_path, profile):
    path = page_of(xgboost_runs.binary, tmp_path, rounds=4)
    picture = tmp_path / "report.png"
    chromium.run(path, profile, f"--screenshot={picture}", "--window-size=800,2400")
    content = picture.read_bytes()
    assert struct.unpack(">II", content[16:24]) == (800, 2400)
    assert len(content) > 50_000  # plots and text, no white page


# Appended to a copy of the page without its policy: counts what sticks out.
MEASURE = """<script>
const page = document.documentElement;
let outside = page.scrollWidth > page.clientWidth ? ['page'] : [];
for (const text of document.querySelectorAll('svg text')) {
  const inner = text.getBoundingClientRect();
  const outer = text.closest('svg').getBoundingClientRect();
  if (inner.left < outer.left || inner.right > outer.right) outside.push(text.textContent);
}
document.title = JSON.stringify(outside);
</script>"""


@pytest.mark.parametrize("width", [500, 800])
def test_long_names_stay_whole_and_within_the_page(tmp_path, profile, width):
    long = {
        "feature 0": "customer_worst_texture_normalised_over_the_last_30_days",
        "feature 1": "customer_worst_texture_normalised_over_the_last_90_days",
        "feature 2": "x" * 120,
        "feature 3": "CUSTOMER_WORST_MMMM_WWWW_NORMALIZED",
        "feature 4": "\u6e29\u5ea6" * 20,
    }
    path = page_of(xgboost_runs.binary, tmp_path, rename=long, rounds=4)
    text = path.read_text()
    assert "30_days</text>" in text and "90_days</text>" in text
    copy = tmp_path / "copy.html"
    policy = text[text.index("<meta http-equiv") : text.index("<meta name=")]
    copy.write_text(text.replace(policy, "") + MEASURE)
    dump = chromium.run(copy, profile, "--dump-dom", f"--window-size={width},900").stdout
    title = dump[dump.index("<title>") + len("<title>") : dump.index("</title>")]
    assert json.loads(title) == []
