"""Each wheel of tools/wheel, with each Python that it is for.

`make test` builds the wheel for one Python, of which tests/packaging/test_wheel.py says more.
"""

import pytest
from built_wheels import CATCH, RECORD, SESSION, built_wheel, printed
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
    printed(interpreter, "-m", "venv", environment)
    printed(environment / "bin/pip", "install", "--quiet", "--disable-pip-version-check", path)
    its_python = environment / "bin/python"
    answer = printed(its_python, "-c", SESSION + RECORD, tmp_path / "run", "float32", "bool")
    assert '"names": ["bool", "float32"]' in answer
    caught = printed(its_python, "-c", SESSION + CATCH, tmp_path / "other")
    assert caught.startswith("caught: collection 'default'")
