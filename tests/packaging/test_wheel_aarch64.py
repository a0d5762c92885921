"""The wheel for aarch64, imported under qemu by a Python of Debian.

`tools/test --long package` builds the wheel, with the libraries beside that Python.
"""

import json
import os
import shutil
import subprocess

import pytest
from built_wheels import ROOT, built_wheel, printed

from smdebug.trials import create_trial

pytestmark = pytest.mark.long
SYSROOT = ROOT / "build/aarch64/sysroot"
LIBRARIES = "/usr/lib/aarch64-linux-gnu"
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


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> list:
    """The command that starts Python for aarch64, with the wheel and numpy."""
    qemu = shutil.which("qemu-aarch64-static")
    if not qemu and not os.environ.get("CI"):
        pytest.skip("qemu-aarch64-static is not there; run tools/bootstrap --aarch64")
    folder = tmp_path_factory.mktemp("installed")
    shutil.unpack_archive(built_wheel("aarch64"), folder, "zip")
    variables = {
        "LD_LIBRARY_PATH": f"{LIBRARIES}/blas:{LIBRARIES}/lapack",
        "PYTHONPATH": str(folder),
        "OPENBLAS_NUM_THREADS": "1",
    }
    settings = [word for item in variables.items() for word in ("-E", "=".join(item))]
    return [qemu, "-L", SYSROOT, *settings, SYSROOT / "usr/bin/python3.11"]


def test_it_is_imported_on_aarch64(python):
    code = "import platform, smdebug._core as core; print(platform.machine(), core.__file__)"
    machine, file = printed(*python, "-c", code).split()
    assert machine == "aarch64"
    assert file.endswith("smdebug/_core.cpython-311-aarch64-linux-gnu.so")


def test_a_run_has_its_values_and_statistics(python, tmp_path):
    dtypes = ["float16", "float32", "float64", "int8", "uint8", "int32", "uint32", "int64", "bool"]
    answer = json.loads(printed(*python, "-c", SESSION + RECORD, tmp_path / "run", *dtypes))
    assert answer == {"steps": [0, 1, 2], "names": sorted(dtypes), "damage": []}
    # This machine computes the checksums in another way.
    here = create_trial(str(tmp_path / "run"))
    assert {here.tensor(name).value(2).size for name in here.tensor_names()} == {5003}
    assert here.damage() == []


def test_its_exceptions_are_caught(python, tmp_path):
    done = subprocess.run(
        [*python, "-c", SESSION + CATCH, tmp_path / "run"], capture_output=True, text=True
    )
    assert "caught: collection 'default': include_regex: pattern '(['" in done.stdout, done.stderr
