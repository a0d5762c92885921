"""The original distribution, smdebug, beside this one, smdebug-ng: both have a folder `smdebug`."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OWN = next((ROOT / ".venv/torch/lib").glob("python*/site-packages"))
ORIGINAL = next((ROOT / ".venv/original/lib").glob("python*/site-packages"), None)
SENTENCE = (
    "the packages smdebug 1.0.34 and smdebug-ng are both installed and overwrite each other's "
    "files; run 'pip uninstall -y smdebug smdebug-ng', then 'pip install'"
)


def install(site: pathlib.Path, distribution: str, target: pathlib.Path) -> None:
    """Copies the files of a distribution over those that are there, as pip does."""
    (record,) = site.glob(f"{distribution}-*.dist-info/RECORD")
    for line in record.read_text().splitlines():
        name = line.rpartition(",")[0].rpartition(",")[0].strip('"')
        if not name.startswith("..") and (site / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(site / name, target / name)


def install_both(folder: pathlib.Path, last: str) -> None:
    if ORIGINAL is None:
        pytest.skip("there is no environment of the original")
    both = {"the original": (ORIGINAL, "smdebug"), "this one": (OWN, "smdebug_ng")}
    for name in sorted(both, key=lambda name: name == last):
        install(*both[name], folder)


def run(site: pathlib.Path, code: str, requirements: pathlib.Path = OWN, **more: str):
    environment = {key: value for key, value in os.environ.items() if key != "SMDEBUG_RUN"}
    environment |= {"PYTHONPATH": f"{site}{os.pathsep}{requirements}", **more}
    command = [sys.executable, "-S", "-c", f"import sys; {code}"]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_the_command_warns_in_one_sentence_and_works_if_this_one_is_last(tmp_path):
    install_both(tmp_path, last="this one")
    done = run(tmp_path, "from smdebug_ng.command import main; sys.exit(main(['--version']))")
    assert (done.returncode, done.stdout[:26]) == (0, "smdebug 2.0.0 (smdebug-ng,"), done.stderr
    assert done.stderr.startswith(f"smdebug: warning: {SENTENCE}")
    assert done.stderr.count("\n") == 1


# In the environment of this one, protobuf is missing: the original cannot be imported.
@pytest.mark.parametrize("requirements", [ORIGINAL, OWN], ids=["importable", "not importable"])
def test_the_command_ends_with_one_sentence_if_the_original_is_last(tmp_path, requirements):
    install_both(tmp_path, last="the original")
    code = "from smdebug_ng.command import main; sys.exit(main(['--version']))"
    done = run(tmp_path, code, requirements)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"smdebug: error: {SENTENCE}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("last", ["this one", "the original"])
@pytest.mark.parametrize("requirements", [ORIGINAL, OWN], ids=["importable", "not importable"])
def test_a_watched_script_is_not_recorded_and_trains(tmp_path, last, requirements):
    install_both(tmp_path / "site", last)
    out_dir = tmp_path / "run"
    out_dir.mkdir()
    request = json.dumps({"out_dir": str(out_dir)})
    code = "import smdebug_ng.autostart; print('trained')"
    done = run(tmp_path / "site", code, requirements, SMDEBUG_RUN=request)
    assert (done.returncode, done.stdout) == (0, "trained\n"), done.stderr
    assert done.stderr.startswith(f"smdebug: this run is not recorded: {SENTENCE}")
    assert (out_dir / "not_recorded.txt").read_text().startswith(SENTENCE)


def test_an_import_warns_if_this_package_was_installed_last(tmp_path):
    install(OWN, "smdebug_ng", tmp_path)
    assert run(tmp_path, "import smdebug").stderr == ""
    (tmp_path / "smdebug-1.0.34.dist-info").mkdir()
    assert run(tmp_path, "import smdebug").stderr.startswith(f"smdebug: warning: {SENTENCE}")
