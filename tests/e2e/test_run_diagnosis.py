"""What `smdebug run`, without any option, names as the cause of a bug, with its exit code."""

import pathlib
import subprocess
import sys

import one_bug
import pytest
from launched_script import SMDEBUG, result_of

LEARNING_RATE = "LearningRate"  # the rule names a learning rate sooner where it is present


def diagnosis_of(folder, script):
    """The diagnoses; a finding is a cause or a consequence, and is listed once."""
    result = result_of(folder, script)
    fired = [each["rule"] for each in result["verdicts"] if each["status"] == "IssuesFound"]
    told = [
        finding["rule"]
        for each in result["diagnosis"]
        for finding in (each["cause"], *each["consequences"])
    ]
    assert len(told) == len(set(told))
    assert set(told) <= set(fired)
    return result["diagnosis"]


def test_a_right_training_has_no_diagnosis(tmp_path):
    assert diagnosis_of(tmp_path, one_bug.script_with()) == []


def test_a_forgotten_step_is_the_cause(tmp_path):
    first, *rivals = diagnosis_of(tmp_path, one_bug.script_of("ParametersNotTrained"))
    assert first["cause"]["rule"] == "ParametersNotTrained"
    assert first["cause"]["kind"] == "nothing moves and no optimizer acts"
    assert first["cause"]["severity"] == "fatal"
    assert first["try"].startswith("call optimizer.step()")
    assert rivals == [] and first["confidence"] == "likely"


def test_a_learning_rate_of_10_is_the_cause(tmp_path):
    first, *rivals = diagnosis_of(tmp_path, one_bug.script_of("LossNotDecreasing"))
    assert first["cause"]["rule"] in ("LossNotDecreasing", LEARNING_RATE)
    assert "lower the learning rate" in first["try"]
    assert rivals == [] and first["confidence"] == "likely"


def test_a_softmax_before_a_cross_entropy_is_the_cause(tmp_path):
    first, *rivals = diagnosis_of(tmp_path, one_bug.script_of("LossInput"))
    assert first["cause"]["rule"] == "LossInput"
    assert first["cause"]["severity"] == "serious"
    assert "apply softmax only to show probabilities" in first["try"]
    assert rivals == [] and first["confidence"] == "likely"


def run(folder: pathlib.Path, script: str, *options: str) -> subprocess.CompletedProcess[str]:
    """`smdebug run` with `options` on the script."""
    path = folder / "train.py"
    path.write_text(script)
    command = [SMDEBUG, "run", *options, "--out", folder / "run", "--", sys.executable, path]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=folder)


@pytest.mark.parametrize(
    ("rule", "options", "code", "stops"),
    [
        ("ParametersNotTrained", ["--stop"], 3, True),  # fatal
        ("LossInput", ["--stop"], 3, False),  # serious
        ("CheckInputImages", ["--stop"], 0, False),  # advice
        ("CheckInputImages", ["--rule", "CheckInputImages"], 3, False),  # the user named it
    ],
)
def test_the_severity_decides_what_a_finding_does(tmp_path, rule, options, code, stops):
    script = one_bug.script_of(rule)
    if stops:
        script = script.replace("range(150)", "range(10**7)")
    done = run(tmp_path, script, *options)
    assert done.returncode == code, done.stderr
    assert ("trained to the end" in done.stdout) == (not stops)


def test_the_summary_has_at_most_12_lines_5_of_them_of_findings(tmp_path):
    done = run(tmp_path, one_bug.script_of("LossNotDecreasing"))
    summary = done.stderr[done.stderr.rindex("smdebug: ") :].splitlines()
    assert len(summary) <= 12, done.stderr
    titles = [line[2:].split("  ")[0] for line in summary[1:]]
    first = titles.index("found")
    last = max(titles.index(title) for title in titles if title in ("found", "cause", "try"))
    assert last - first < 5, done.stderr
