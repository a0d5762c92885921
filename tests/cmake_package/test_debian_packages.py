"""The packages that cpack makes: what they depend on, and how a program uses them.

dpkg installs them into a folder whose database of packages is a copy of this machine's: it checks
the dependencies, and leaves no trace outside.
"""

import pathlib
import re

import pytest
from commands import ROOT, library_folder, needed_libraries, run

STATUS = pathlib.Path("/var/lib/dpkg/status")


@pytest.fixture(scope="module")
def packages(release, tmp_path_factory) -> dict[str, pathlib.Path]:
    folder = tmp_path_factory.mktemp("packages")
    run("cpack", "--config", release / "CPackConfig.cmake", "-B", folder)
    return {field(path, "Package"): path for path in folder.glob("*.deb")}


@pytest.fixture(scope="module")
def root(packages, tmp_path_factory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("root")
    install(root, STATUS.read_text(), *packages.values())
    return root


def install(root: pathlib.Path, status: str, *packages: pathlib.Path) -> None:
    database = root / "var/lib/dpkg"
    for name in ("info", "triggers", "updates"):
        (database / name).mkdir(parents=True)
    (database / "status").write_text(status)
    # In place of the program of this machine, whose cache no test may change.
    ldconfig = root / "programs/ldconfig"
    ldconfig.parent.mkdir()
    ldconfig.write_text('#!/bin/sh\necho called >> "$DPKG_ROOT/ldconfig.txt"\n')
    ldconfig.chmod(0o755)
    options = ["--force-not-root", "--force-script-chrootless", f"--root={root}"]
    path = f"{ldconfig.parent}:/usr/sbin:/usr/bin:/sbin:/bin"
    run("dpkg", *options, "--install", *packages, PATH=path)


def field(package: pathlib.Path, name: str) -> str:
    return run("dpkg-deb", "--field", package, name).strip()


def dependencies(package: pathlib.Path) -> dict[str, str]:
    """The packages that a package depends on, with their versions. In place of a virtual package
    stands the one that provides it here."""
    found = re.findall(r"([\w.+-]+)(?: \(([^)]*)\))?(?:, |$)", field(package, "Depends"))
    listed = run("dpkg-query", "--show", "--showformat", "${Package}: ${Provides}\\n")
    real = {}
    for line in listed.splitlines():
        name, _, provided = line.partition(": ")
        real |= {each.split()[0]: name for each in provided.split(", ") if each}
    return {real.get(name, name): version for name, version in found}


def owners(files: set[str]) -> set[str]:
    """The packages that have these files in the folders of libraries of this architecture."""
    folder = run("c++", "-print-multiarch").strip()
    found = run("dpkg", "--search", *(f"*/{folder}/{file}" for file in files)).splitlines()
    return {line.split(":")[0] for line in found}


def test_there_are_two_packages_with_a_license_and_a_description(packages, root):
    assert set(packages) == {"smdebug", "libsmdebug-dev"}
    for name, path in packages.items():
        assert path.name == f"{name}_2.0.0_{field(path, 'Architecture')}.deb"
        license = root / f"usr/share/doc/{name}/copyright"
        assert license.read_bytes() == (ROOT / "LICENSE").read_bytes()
        assert re.match(r"[^\n]{20,80}\n [^\n]", field(path, "Description"))
        assert re.fullmatch(r"[^<]+ <[^@]+@[^@]+>", field(path, "Maintainer"))


def test_the_program_depends_on_the_packages_of_the_libraries_that_it_loads(packages, root):
    library = library_folder(root / "usr") / "libsmdebug.so.2"
    loaded = needed_libraries(library) | needed_libraries(root / "usr/bin/smdebug")
    expected = owners(loaded - {"libsmdebug.so.2"})
    assert {"libfmt9", "libcurl4", "libssl3", "libc6"} <= expected
    assert set(dependencies(packages["smdebug"])) == expected


def test_the_libraries_depend_on_what_linking_the_static_one_needs(packages, root):
    path = library_folder(root / "usr") / "pkgconfig"
    words = run("pkg-config", "--static", "--libs", "smdebug", PKG_CONFIG_PATH=str(path)).split()
    linked = {word.removeprefix("-l") for word in words if word.startswith("-l")} - {"smdebug"}
    expected = owners({f"lib{name}.so" for name in linked})
    found = dependencies(packages["libsmdebug-dev"])
    assert found.pop("smdebug") == "= 2.0.0"
    assert set(found) == expected


def test_packages_of_programs_learn_from_the_library_what_to_depend_on(packages, tmp_path):
    run("dpkg-deb", "--control", packages["smdebug"], tmp_path)
    assert (tmp_path / "shlibs").read_text().strip() == "libsmdebug 2 smdebug (>= 2.0.0)"


def test_the_loader_learns_of_the_library(root):
    assert (root / "ldconfig.txt").read_text() == "called\n"


def test_the_installed_program_runs(root):
    assert run(root / "usr/bin/smdebug", "--version").startswith("smdebug 2.0.0 ")


def test_the_installed_headers_and_library_are_used_by_a_program(root, tmp_path):
    libraries = library_folder(root / "usr")
    flags = run(
        *("pkg-config", "--cflags", "--libs", "smdebug"),
        PKG_CONFIG_PATH=str(libraries / "pkgconfig"),
    ).split()
    source = ROOT / "examples/first_run/first_run.cc"
    run("c++", "-std=c++20", source, *flags, "-o", tmp_path / "program")
    said = run(tmp_path / "program", tmp_path / "run", LD_LIBRARY_PATH=str(libraries))
    assert said.startswith("100 steps judged\n")


def test_cmake_finds_both_libraries(root, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(stranger LANGUAGES CXX)\n"
        "find_package(smdebug 2 REQUIRED)\n"
        "foreach(name IN ITEMS smdebug shared)\n"
        "  get_target_property(path smdebug::${name} LOCATION)\n"
        '  message(STATUS "location: ${path}")\n'
        "endforeach()\n"
    )
    configure = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja"]
    said = run(*configure, f"-DCMAKE_PREFIX_PATH={root}/usr")
    found = [pathlib.Path(line) for line in re.findall(r"location: (.*)", said)]
    assert [path.name for path in found] == ["libsmdebug.a", "libsmdebug.so.2.0.0"]
    assert all(path.is_relative_to(root) and path.exists() for path in found)


def test_a_missing_dependency_is_noticed_by_dpkg(packages, tmp_path):
    without = re.sub(r"(?ms)^Package: libpugixml1v5\n.*?\n\n", "", STATUS.read_text())
    assert without != STATUS.read_text()
    with pytest.raises(AssertionError, match="libpugixml1v5"):
        install(tmp_path / "root", without, packages["smdebug"])
