"""docs/diagnosis.md: its examples are current; `tools/check` holds its table."""

import pathlib
import re

from smdebug import _core

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs/diagnosis.md").read_text()
EXAMPLES = PAGE.split("<!-- generated: examples -->")[1]


def sections():
    """Rule -> its example, without line breaks and indentation."""
    parts = re.split(r"^### (\w+)$", EXAMPLES, flags=re.MULTILINE)
    return {
        name: re.sub(r"\s+", " ", text) for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def test_each_rule_has_an_example_in_which_it_fires():
    assert set(sections()) == {rule["name"] for rule in _core.builtin_rules()}
    for name, text in sections().items():
        if name == "CreateXgboostReport":  # it never fires
            assert "smdebug: report: sick/rule-output/CreateXgboostReport/" in text
            continue
        assert re.search(rf"{name}( \(.*\))? fired|\b{name}:|{name} +IssuesFound", text), name


def test_each_example_ends_with_advice_that_a_rule_gives():
    """A finding that is reworded changes its example: tools/make_diagnosis_page.py."""
    given = [row["advice"] for rule in _core.builtin_rules() for row in rule["advice"]]
    for name, text in sections().items():
        if "smdebug check" in text and "diagnosis of" not in text:
            continue  # advice, which `check` lists without a diagnosis, or a report
        assert any(f"try {advice}" in re.sub(r" +", " ", text) for advice in given), name


def test_no_example_has_more_than_five_lines_of_findings():
    for block in re.findall(r"^\$ smdebug run.*?```", EXAMPLES, flags=re.DOTALL | re.MULTILINE):
        starts = re.findall(r"^  (found|cause|try|advice) |^ +also: ", block, flags=re.MULTILINE)
        assert 0 < len(starts) <= 5, block
