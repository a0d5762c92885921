"""The wheel in the userland of Debian 11, whose C library is of version 2.31.

A Python that the wheel is for is compiled there, which takes minutes; build/bullseye keeps it.
"""

import os
import pathlib
import shutil
import sys

import pytest
from built_wheels import CATCH, RECORD, ROOT, SESSION, built_wheel, printed
from load_program import load_program

debian_packages = load_program("debian_packages.py")
pytestmark = pytest.mark.long
FOLDER = ROOT / "build/bullseye"
# What compiles Python there, and what it then needs.
PACKAGES = [
    *("gcc", "make", "libc6-dev", "zlib1g-dev", "libffi-dev", "libstdc++6"),
    *("bash", "coreutils", "diffutils", "findutils", "gawk", "grep", "sed"),
]
VERSION = ".".join(map(str, sys.version_info[:2]))
COMPILE = """
set -e
cd /python
./configure --prefix=/usr --disable-test-modules --without-ensurepip CFLAGS=-O1
make -j2
make install
"""


@pytest.fixture(scope="module")
def userland() -> pathlib.Path:
    """The root folder of Debian 11 with Python, numpy and the wheel."""
    if os.getuid() != 0 or not shutil.which("chroot"):
        pytest.skip("only root can change to another root folder")
    root = FOLDER / "root"
    if not (root / f"usr/bin/python{VERSION}").exists():
        shutil.rmtree(FOLDER, ignore_errors=True)
        unpack_debian(root)
        compile_python(root)
    site = root / "site"
    shutil.rmtree(site, ignore_errors=True)
    platform = ["--only-binary=:all:", "--platform=manylinux_2_28_x86_64"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    printed(*pip, *platform, "--target", site, built_wheel(), "numpy")
    return root


def unpack_debian(root: pathlib.Path) -> None:
    """Unpacks the packages; none of their scripts runs."""
    downloads = FOLDER / "packages"
    downloads.mkdir(parents=True)
    for package in debian_packages.download_with_dependencies(
        downloads, "amd64", PACKAGES, "bullseye"
    ):
        printed("dpkg", "--extract", package, root)
    for name, program in (("awk", "gawk"), ("cc", "gcc")):
        (root / "usr/bin" / name).symlink_to(program)
    printed("mknod", "--mode=666", root / "dev/null", "c", "1", "3")


def compile_python(root: pathlib.Path) -> None:
    downloads = FOLDER / "sources"
    downloads.mkdir()
    debian_packages.download_sources(downloads, [f"python{VERSION}"])
    (archive,) = downloads.glob("*.orig.tar.*")
    (root / "python").mkdir()
    printed("tar", "-xf", archive, "-C", root / "python", "--strip-components=1")
    printed("chroot", root, "/bin/bash", "-c", COMPILE)
    shutil.rmtree(root / "python")


def run_there(userland: pathlib.Path, code: str, *arguments: str) -> str:
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": "/site", "OPENBLAS_NUM_THREADS": "1"}
    shutil.rmtree(userland / "tmp/run", ignore_errors=True)
    python = ["chroot", userland, f"/usr/bin/python{VERSION}"]
    return printed(*python, "-c", code, "/tmp/run", *arguments, env=environment)


def test_the_c_library_there_is_old(userland):
    code = "import platform, smdebug._core as core; print(*platform.libc_ver(), core.__file__)"
    name, version, file = run_there(userland, code).split()
    assert (name, version) == ("glibc", "2.31")
    assert file.startswith("/site/")


def test_a_run_has_its_values_and_statistics(userland):
    answer = run_there(userland, SESSION + RECORD, "float32", "int64")
    assert '"names": ["float32", "int64"]' in answer


def test_its_exceptions_are_caught(userland):
    assert "caught: collection 'default'" in run_there(userland, SESSION + CATCH)
