"""libsmdebug.so: what it exports, and a stranger's programs that link it."""

import pathlib
import re

import pytest
from commands import ROOT, build_stranger, library_folder, needed_libraries, run

# The packages of CMake and pkg-config that the static library asks for.
THIRD_PARTY = ("fmt", "spdlog", "simdjson", "hwy", "CURL", "OpenSSL", "PkgConfig", "Threads")


@pytest.fixture(scope="module")
def library(prefix) -> pathlib.Path:
    return library_folder(prefix) / "libsmdebug.so"


@pytest.fixture(scope="module")
def exported(library) -> list[str]:
    """The names that the library exports, as C++ writes them."""
    listed = run("nm", "--dynamic", "--demangle", "--defined-only", library)
    return [line.split(maxsplit=2)[2] for line in listed.splitlines()]


@pytest.fixture(scope="module")
def programs(prefix, tmp_path_factory) -> pathlib.Path:
    """Programs that link the library where no package of a third party can be found."""
    build = tmp_path_factory.mktemp("shared")
    hidden = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in THIRD_PARTY]
    build_stranger(ROOT / "tests/cmake_package/shared", build, prefix, *hidden)
    return build


def without_comments(header: pathlib.Path) -> str:
    return re.sub(r"//.*", "", header.read_text())


OWN_TYPE = re.compile(r"^(?:class|struct) (?:__attribute__\S+ )?(\w+)(?: final)?(?: :.*)? \{", re.M)
HEADERS = [without_comments(path) for path in sorted((ROOT / "include").rglob("*.h"))]


def defined_types() -> set[str]:
    pattern = r"\b(?:class|struct|enum class) (?:\[\[\w+\]\] )?(\w+)[^;{}()]*\{"
    return {name for text in HEADERS for name in re.findall(pattern, text)}


def opaque_types() -> set[str]:
    """Types that a header names and that src/ alone defines."""
    declared = {name for text in HEADERS for name in re.findall(r"\b(?:class|struct) (\w+);", text)}
    return declared - defined_types()


def parts(symbol: str) -> list[str]:
    """The parts of a qualified name: of smdebug::Trial::open(std::string), Trial and open."""
    name = re.sub(r"^(vtable|typeinfo|typeinfo name) for ", "", symbol)
    name = re.sub(r"\[abi:\w+\]", "", name)
    previous = None
    while previous != name:
        previous, name = name, re.sub(r"<[^<>]*>", "", name)
    name = name.split("(")[0]
    first, *others = name.split("::")
    assert first == "smdebug", symbol
    return [part.lstrip("~") for part in others]


def test_each_public_header_makes_its_names_visible():
    namespaces = [each for text in HEADERS for each in re.findall(r"namespace.* smdebug \{", text)]
    assert len(namespaces) > 80
    assert set(namespaces) == {'namespace [[gnu::visibility("default")]] smdebug {'}


def test_every_exported_symbol_is_declared_in_a_public_header(exported):
    assert len(exported) > 200
    opaque = opaque_types()
    words = [set(re.findall(r"\w+", text)) for text in HEADERS]
    for symbol in exported:
        named = [re.sub(r"operator.*", "operator", part) for part in parts(symbol)]
        assert any(file.issuperset(named) for file in words), symbol
        assert not opaque.intersection(named), symbol


def test_no_class_of_src_is_exported(exported):
    assert {"Impl", "SessionImpl", "SlotState"} <= opaque_types()
    own = {
        name
        for path in (ROOT / "src").rglob("*.h")
        for name in re.findall(OWN_TYPE, path.read_text())
    }
    assert {"SessionImpl", "FileWindow"} <= own
    assert not {parts(symbol)[0] for symbol in exported} & (own - defined_types())


def test_its_name_has_the_major_version(library):
    assert "Library soname: [libsmdebug.so.2]" in run("readelf", "-d", library)
    assert library.readlink().name == "libsmdebug.so.2"


def test_programs_need_neither_the_packages_nor_the_libraries_of_third_parties(programs):
    for name in ("main", "first_run", "own_rule"):
        needed = needed_libraries(programs / name)
        assert "libsmdebug.so.2" in needed
        assert needed <= {
            "libsmdebug.so.2",
            "libstdc++.so.6",
            "libgcc_s.so.1",
            "libc.so.6",
            "libm.so.6",
        }


def test_a_program_records_and_reads(programs, tmp_path):
    said = run(programs / "main", tmp_path / "run").splitlines()
    assert said[0] == "scalar/accuracy"
    assert said[1].endswith("version 2.0.0")


def test_a_rule_of_ones_own_derives_from_a_class_of_the_library(programs, tmp_path):
    assert run(programs / "first_run", tmp_path / "run").startswith("100 steps judged\n")
    own, built_in = run(programs / "own_rule", tmp_path / "run", 1000).splitlines()
    assert own.startswith("WeightOutgrown: weight: max |w| is ")
    assert built_in.startswith("ExplodingTensor: gradient/weight: ")


def test_the_command_finds_the_library_in_a_moved_prefix(prefix, library):
    program = prefix / "bin/smdebug"
    assert "libsmdebug.so.2" in needed_libraries(program)
    assert run(program, "--version").startswith("smdebug 2.0.0 ")
    (path,) = re.findall(r"RUNPATH.*\[(.*)\]", run("readelf", "-d", program))
    assert path.startswith("$ORIGIN/")
    assert (program.parent / path.removeprefix("$ORIGIN/")).samefile(library.parent)
