"""Each wheel of tools/wheel, with each Python that it is for.

`make test` builds the wheel for one Python, and tests/packaging/test_wheel.py says more of that one.
"""

import os
import pathlib
import subprocess

import pytest
from load_program import load_program

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = load_program("wheel")
PAIRS = [(wheel, python) for wheel, pythons in PROGRAM.WHEELS.items() for python in pythons]
SCRIPT = """
import numpy
from smdebug.core.writer import FileWriter
from smdebug.exceptions import TensorUnavailable
from smdebug.trials import create_trial

with FileWriter("run", "worker_0", 3) as writer:
    writer.write_tensor(numpy.arange(6.0).reshape(2, 3), "weight")
trial = create_trial("run")
print(trial.tensor("weight").value(3).sum())
try:
    trial.tensor("bias")
except TensorUnavailable as error:
    print("caught:", error)
"""


@pytest.mark.long
@pytest.mark.parametrize("wheel, python", PAIRS)
def test_a_wheel_writes_a_run_reads_it_and_catches_exceptions(wheel, python, tmp_path):
    interpreter = PROGRAM.interpreter_of(python)
    found = sorted((ROOT / "dist").glob(f"smdebug_ng-*-cp{wheel.replace('.', '')}-*x86_64.whl"))
    if interpreter is None or (not found and not os.environ.get("CI")):
        pytest.skip(f"there is no Python {python}, or no wheel for it in dist; run tools/wheel")
    (path,) = found
    environment = tmp_path / "environment"
    run(interpreter, "-m", "venv", environment)
    run(environment / "bin/pip", "install", "--quiet", "--disable-pip-version-check", path)
    first, second = run(environment / "bin/python", "-c", SCRIPT, cwd=tmp_path).splitlines()
    assert first == "15.0"
    assert second.startswith("caught:")
    assert "bias" in second


def run(*command, cwd=None) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
