"""The package answers about runs of the original as the original did (README.md)."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def test_answers_about_the_originals_runs_are_the_originals():
    check = subprocess.run(
        [sys.executable, HERE / "check.py", "--accept", HERE / "differences.toml"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert check.returncode == 0, check.stdout + check.stderr
