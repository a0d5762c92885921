"""What a build prints where it has no terminal: enough to see that it works."""

import os
import pathlib
import pty
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).with_name("build_progress.py")
OUTPUT = "".join(f"  [{step}/99] Building CXX object a{step}.o\n" for step in range(1, 100))


def shown(log: pathlib.Path, output: str = OUTPUT) -> list[str]:
    done = subprocess.run(
        [sys.executable, PROGRAM, log], input=output, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_a_log_has_a_line_at_each_quarter_and_at_the_end(tmp_path):
    lines = shown(tmp_path / "log")
    assert lines == [f"  {step} of 99 steps" for step in (24, 48, 72, 96, 99)]


def test_a_build_without_steps_prints_nothing(tmp_path):
    assert shown(tmp_path / "log", "Processing .\n") == []


def test_the_whole_output_is_kept(tmp_path):
    shown(tmp_path / "log")
    assert (tmp_path / "log").read_text() == OUTPUT


def test_a_terminal_has_one_line(tmp_path):
    leader, follower = pty.openpty()
    subprocess.run(
        [sys.executable, PROGRAM, tmp_path / "log"],
        input=OUTPUT,
        stdout=follower,
        text=True,
        check=True,
    )
    text = os.read(leader, 1 << 16).decode()
    assert text.count("\r") == 100  # one for each step, and that of the line break
    assert text.endswith("\r  99 of 99 steps\r\n")
