"""The examples of tapes and sessions run as they are."""

import os
import subprocess
import sys

import pytest

from conftest import REPOSITORY


def run(name, out_dir):
    """The lines that an example prints."""
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "examples/tensorflow" / name), out_dir],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_the_loop_of_the_readme_runs(out_dir):
    lines = run("gradient_tape.py", out_dir)
    assert [line.split()[1] for line in lines] == ["0", "4", "8", "12"]
    losses = [float(line.split()[3]) for line in lines]
    assert losses[-1] < losses[0]
    assert float(lines[-1].split()[5]) > float(lines[0].split()[5])


def test_the_session_runs(out_dir):
    lines = run("session.py", out_dir)
    assert [line.split()[1] for line in lines] == ["0", "10", "20", "30"]
    assert lines[0].split()[3] == "0.00"
    assert float(lines[-1].split()[3]) == pytest.approx(2, abs=0.3)
