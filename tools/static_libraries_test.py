"""The static libraries of the wheel: what is pinned is what is built."""

import hashlib
import json
import pathlib
import re

import pytest
import tomllib
from load_program import load_program

LIST = pathlib.Path(__file__).with_name("static_libraries.toml")


@pytest.fixture(scope="module")
def program():
    return load_program("static_libraries")


def test_an_archive_with_another_checksum_is_refused(program, tmp_path):
    archive = tmp_path / "fmt.tar.gz"
    archive.write_bytes(b"other sources")
    right = hashlib.sha256(b"other sources").hexdigest()
    assert program.checked(archive, right) == archive
    with pytest.raises(program.BuildError, match=f"SHA-256 {right}, .* pins {'0' * 64}"):
        program.checked(archive, "0" * 64)


def test_an_archive_that_the_mirror_lacks_is_named(program, tmp_path):
    with pytest.raises(program.BuildError, match=r"the mirror has no fmt\.tar\.gz, which"):
        program.checked(tmp_path / "fmt.tar.gz", "0" * 64)


def test_headers_of_another_version_are_refused(program):
    with pytest.raises(program.BuildError, match="the headers of bash are of version .* pins"):
        program.check_headers({"headers": "bash", "version": "0.1"})
    with pytest.raises(program.BuildError, match="version none"):
        program.check_headers({"headers": "no-such-package", "version": "1"})


def test_a_library_is_built_again_if_its_entry_has_changed(program, tmp_path):
    entry = {"version": "1"}
    (tmp_path / "libx.a").touch()
    assert not program.is_built(tmp_path, "x", entry)
    program.stamp_of(tmp_path, "x").write_text(json.dumps(entry))
    assert program.is_built(tmp_path, "x", entry)
    assert not program.is_built(tmp_path, "x", {"version": "2"})
    (tmp_path / "libx.a").unlink()
    assert not program.is_built(tmp_path, "x", entry)


def test_the_fields_of_another_machine_replace_those_of_this_one(program, tmp_path):
    library = {"flags": ["-I."], "sources": ["x.asm"], "aarch64": {"sources": ["x.S"]}}
    assert program.HERE.entry(library) == {"flags": ["-I."], "sources": ["x.asm"]}
    arm = program.Machine(tmp_path)
    assert arm.entry(library) == {"flags": ["-I."], "sources": ["x.S"]}
    assert arm.tool("c++")[:2] == ["aarch64-linux-gnu-g++", f"--sysroot={tmp_path}"]
    assert arm.tool("ar") == ["aarch64-linux-gnu-ar"]


def test_each_entry_pins_one_version_of_one_archive():
    for name, library in tomllib.loads(LIST.read_text()).items():
        assert re.fullmatch("[0-9a-f]{64}", library["sha256"]), name
        assert library["archive"].startswith(f"{library['package']}_{library['version']}.orig."), (
            name
        )
        assert ("sources" in library) != ("cmake" in library), name
