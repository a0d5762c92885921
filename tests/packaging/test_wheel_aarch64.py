"""The wheel for aarch64, imported under qemu by a Python of Debian.

`tools/test --long package` builds the wheel, with the libraries beside that Python.
"""

import json
import os
import shutil
import subprocess

import pytest
from built_wheels import CATCH, RECORD, ROOT, SESSION, built_wheel, printed

from smdebug.trials import create_trial

pytestmark = pytest.mark.long
SYSROOT = ROOT / "build/aarch64/sysroot"
LIBRARIES = "/usr/lib/aarch64-linux-gnu"


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
