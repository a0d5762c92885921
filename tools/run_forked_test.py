"""Files that run in forked processes: each is counted, and one that dies is a failure."""

import pathlib
import subprocess
import sys
import xml.etree.ElementTree

import pytest

RUNNER = pathlib.Path(__file__).with_name("run_forked.py")
FILES = {
    "test_a.py": "import shared\ndef test_one():\n    shared.seen.append(1)\n",
    "test_b.py": "import shared\ndef test_two():\n    assert shared.seen == []\n",
    "test_dies.py": "import os\ndef test_three():\n    os.abort()\n",
    "test_empty.py": "",
}
PRELOAD = "import sys\nimport shared\n"


@pytest.fixture
def ran(tmp_path):
    def run(*files):
        (tmp_path / "shared.py").write_text("seen = []\n")
        (tmp_path / "preload.py").write_text(PRELOAD)
        for name in files:
            (tmp_path / name).write_text(FILES[name])
        report = tmp_path / "report.xml"
        command = [sys.executable, RUNNER, "preload.py", report, "not long", *files]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        cases = xml.etree.ElementTree.parse(report).iter("testcase")
        passed = {case.get("name"): case.find("failure") is None for case in cases}
        return done.returncode, passed

    return run


def test_each_file_has_a_process_that_shares_the_imports(ran):
    assert ran("test_a.py", "test_b.py", "test_empty.py") == (
        0,
        {"test_one": True, "test_two": True},
    )


def test_a_process_that_dies_fails_and_the_next_file_runs(ran):
    code, passed = ran("test_dies.py", "test_b.py")
    assert code == 1
    assert passed == {"test_dies.py::test_three ended with -6": False, "test_two": True}


def test_threads_of_the_imports_are_refused(tmp_path):
    (tmp_path / "preload.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    command = [sys.executable, RUNNER, "preload.py", "report.xml", "", "test_a.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "started threads" in done.stderr
