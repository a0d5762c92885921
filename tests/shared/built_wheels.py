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


def built_wheel(machine: str) -> pathlib.Path:
    """The wheel for a kind of machine. Skips the test if there is none, and fails it under CI."""
    names = f"smdebug_ng-*-{PYTHONS[machine]}-*manylinux*_{machine}.whl"
    found = sorted((ROOT / "dist").glob(names))
    if not found and not os.environ.get("CI"):
        pytest.skip(f"no wheel for {machine} in dist; run tools/wheel")
    (path,) = found
    return path


def printed(*command) -> str:
    """The output of a command that succeeds."""
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout
