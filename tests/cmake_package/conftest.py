"""The release build, and where it was installed."""

import pathlib

import pytest
from commands import RELEASE, ROOT, run


@pytest.fixture(scope="session")
def release() -> pathlib.Path:
    if not (RELEASE / "build.ninja").exists():
        run("cmake", "--preset", "release", "-S", ROOT)
    run("cmake", "--build", RELEASE)
    return RELEASE


@pytest.fixture(scope="session")
def prefix(release, tmp_path_factory) -> pathlib.Path:
    """A prefix that was moved after `cmake --install`."""
    folder = tmp_path_factory.mktemp("installed")
    run("cmake", "--install", release, "--prefix", folder / "first")
    return (folder / "first").rename(folder / "moved")
