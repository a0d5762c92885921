"""Programs of a project without CMake, which asks pkg-config for the flags."""

import pathlib
import re

import pytest
from commands import ROOT, library_folder, needed_libraries, run


@pytest.fixture(scope="module")
def flags(prefix):
    """Asks pkg-config, which finds the moved prefix by its own path alone."""
    path = library_folder(prefix) / "pkgconfig"

    def ask(*options: str) -> list[str]:
        return run("pkg-config", *options, "smdebug", PKG_CONFIG_PATH=str(path)).split()

    return ask


@pytest.fixture(scope="module")
def compiled(flags, tmp_path_factory) -> pathlib.Path:
    """An object file, which is linked in two ways."""
    target = tmp_path_factory.mktemp("pkg-config") / "main.o"
    source = ROOT / "tests/cmake_package/main.cc"
    run("c++", "-std=c++20", *flags("--cflags"), "-c", source, "-o", target)
    return target


def test_a_program_links_the_shared_library(compiled, flags, prefix, tmp_path):
    program = tmp_path / "program"
    run("c++", compiled, *flags("--libs"), "-o", program)
    assert "libsmdebug.so.2" in needed_libraries(program)
    said = run(program, tmp_path / "run", LD_LIBRARY_PATH=str(library_folder(prefix)))
    assert said.startswith("scalar/accuracy\n")


def test_a_program_links_the_static_library(compiled, flags, tmp_path):
    program = tmp_path / "program"
    words = [
        "-l:libsmdebug.a" if word == "-lsmdebug" else word for word in flags("--static", "--libs")
    ]
    run("c++", compiled, *words, "-o", program)
    assert "libsmdebug.so.2" not in needed_libraries(program)
    assert run(program, tmp_path / "run").startswith("scalar/accuracy\n")


def test_the_shared_library_asks_for_no_package_of_a_third_party(flags, prefix):
    path = library_folder(prefix) / "pkgconfig"
    nowhere_else = {"PKG_CONFIG_LIBDIR": str(path), "PKG_CONFIG_PATH": ""}
    words = run("pkg-config", "--cflags", "--libs", "smdebug", **nowhere_else).split()
    assert [word for word in words if not re.match("-[IL]", word)] == ["-lsmdebug"]


def test_the_version_can_be_asked_for(flags):
    assert flags("--modversion") == ["2.0.0"]
    flags("--exists", "--atleast-version=2")
