"""The program that `tools/check types` checks also runs."""

import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).with_name("train_and_judge.py")


def test_the_typed_program_records_reads_and_judges_a_run():
    done = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "3 steps, fired: True" in done.stdout
