"""The wheels of tools/wheel, for the tests that look into them or install them."""

import os
import pathlib
import platform
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NATIVE = platform.machine()
# The version of Python that each wheel is for: that of the tests, and that of Debian.
PYTHONS = {"aarch64": "cp311", NATIVE: f"cp{sys.version_info.major}{sys.version_info.minor}"}

# Programs for an interpreter that has a wheel: RECORD and CATCH follow SESSION. Their argument is
# the folder of a run; RECORD also takes the dtypes that it saves.
SESSION = """
import sys
import smdebug
from smdebug import _core

def new_session(pattern):
    config = _core.HookConfig(
        sys.argv[1], include_regex=[pattern], include_collections=[], save_all=False,
        dry_run=False, all_workers=False, collections=[],
        save_config=smdebug.SaveConfig(save_interval=1),
    )
    return _core.Session.create(config, _core.pytorch_framework(), [], {}, {})
"""
RECORD = """
import json
import numpy
from smdebug.trials import create_trial

session = new_session(".")
random = numpy.random.default_rng(0)
# An odd size: the vectors of the kernel have a rest.
saved = [
    {name: (random.standard_normal(5003) * 50).astype(name) for name in sys.argv[2:]}
    for step in range(3)
]
for tensors in saved:
    session.set_mode(_core.ModeKeys.TRAIN)
    session.begin_step()
    for name, values in tensors.items():
        session.tensor(name).put(values)
session.close()

trial = create_trial(sys.argv[1])
for step, tensors in enumerate(saved):
    for name, values in tensors.items():
        numpy.testing.assert_array_equal(trial.tensor(name).value(step), values)
        found = trial.tensor(name).statistics(step)
        wide = values.astype(float)
        expected = {
            "count": wide.size, "nan": 0, "positive_inf": 0, "negative_inf": 0,
            "zeros": (wide == 0).sum(), "min": wide.min(), "max": wide.max(), "mean": wide.mean(),
            "m2": ((wide - wide.mean()) ** 2).sum(), "sum_abs": abs(wide).sum(),
            "sum_squares": (wide**2).sum(),
        }
        assert found.keys() == expected.keys()
        for part in expected:
            numpy.testing.assert_allclose(found[part], expected[part], 1e-12, err_msg=name)
print(json.dumps({"steps": trial.steps(), "names": trial.tensor_names(), "damage": trial.damage()}))
"""
CATCH = """
from smdebug.exceptions import SMDebugValueError

try:
    new_session("([")
except SMDebugValueError as error:
    print("caught:", error)
"""


def built_wheel(machine: str = NATIVE, python: str | None = None) -> pathlib.Path:
    """The wheel for a kind of machine, and a Python such as cp311. Skips the test if there is none,
    and fails it under CI."""
    names = f"smdebug_ng-*-{python or PYTHONS[machine]}-*manylinux*_{machine}.whl"
    found = sorted((ROOT / "dist").glob(names))
    if not found and not os.environ.get("CI"):
        pytest.skip(f"no wheel for {machine} in dist; run tools/wheel")
    (path,) = found
    return path


def printed(*command, **options) -> str:
    """The output of a command that succeeds. `options` are those of subprocess.run."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, **options)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout
