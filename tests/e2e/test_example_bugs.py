"""The scripts of examples/bugs, each with one bug, under `smdebug run` without options: the bug
leads the diagnosis, and the repaired script gets no finding."""

import json
import pathlib
import re
import subprocess
import sys

import pytest
from launched_script import SMDEBUG

ROOT = pathlib.Path(__file__).parents[2]
BUGS = ROOT / "examples/bugs"
(IN_README,) = re.findall(r"(?m)^  cause     likely (.*)$", (ROOT / "README.md").read_text())
# Script -> the rule that leads, and words of its cause.
CAUSES = {
    "softmax_twice": ("LossInput", IN_README),
    "broadcast_targets": ("LossInput", "shape (N, 1) and targets of shape (N)"),
    "head_without_optimizer": ("ParametersNotTrained", "replaced after the optimizer was made"),
}


def told(folder, script, *arguments):
    """(exit code, the JSON of `smdebug run --json`)."""
    done = subprocess.run(
        [SMDEBUG, "run", "--json", "--out", folder / "run", "--", sys.executable, script]
        + list(arguments),
        capture_output=True,
        text=True,
        timeout=240,
    )
    return done.returncode, json.loads(done.stdout[done.stdout.index("{") :])


def test_each_script_has_its_bug_here():
    assert {path.stem for path in BUGS.glob("*.py")} == set(CAUSES)


@pytest.mark.parametrize("name", CAUSES)
def test_the_bug_of_a_script_leads_the_diagnosis(tmp_path, name):
    code, result = told(tmp_path, BUGS / f"{name}.py")
    assert code == 3
    rule, cause = CAUSES[name]
    (diagnosis,) = result["diagnosis"]
    assert diagnosis["confidence"] == "likely"
    assert diagnosis["cause"]["rule"] == rule
    (verdict,) = [each for each in result["verdicts"] if each["rule"] == rule]
    assert cause in verdict["cause"]


@pytest.mark.parametrize("name", CAUSES)
def test_the_repaired_script_gets_no_finding(tmp_path, name):
    code, result = told(tmp_path, BUGS / f"{name}.py", "--repaired")
    assert code == 0
    assert result["diagnosis"] == []
