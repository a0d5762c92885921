"""Each wheel of tools/wheel, with each Python that it is for.

`make test` builds the wheel for one Python, of which tests/packaging/test_wheel.py says more.
"""

import subprocess

import pytest
from built_wheels import CATCH, RECORD, SESSION, built_wheel
from load_program import load_program

PROGRAM = load_program("wheel")
PAIRS = [(wheel, python) for wheel, pythons in PROGRAM.WHEELS.items() for python in pythons]


@pytest.mark.long
@pytest.mark.parametrize("wheel, python", PAIRS)
def test_a_wheel_writes_a_run_reads_it_and_catches_exceptions(wheel, python, tmp_path):
    interpreter = PROGRAM.interpreter_of(python)
    if interpreter is None:
        pytest.skip(f"there is no Python {python} on PATH or in pyenv")
    path = built_wheel(python=f"cp{wheel.replace('.', '')}")
    environment = tmp_path / "environment"
    run(interpreter, "-m", "venv", environment)
    run(environment / "bin/pip", "install", "--quiet", "--disable-pip-version-check", path)
    its_python = environment / "bin/python"
    answer = run(its_python, "-c", SESSION + RECORD, tmp_path / "run", "float32", "bool")
    assert '"names": ["bool", "float32"]' in answer
    caught = run(its_python, "-c", SESSION + CATCH, tmp_path / "other")
    assert caught.startswith("caught: collection 'default'")


def run(*command) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
