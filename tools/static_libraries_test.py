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


def test_lists_of_source_packages_are_those_of_debian(program, tmp_path, monkeypatch):
    etc = tmp_path / "etc"
    (etc / "sources.list.d").mkdir(parents=True)
    debian = (
        "Types: deb\nURIs: https://mirror.example/x\nSigned-By: /k/debian-archive-keyring.gpg\n"
    )
    (etc / "sources.list.d/debian.sources").write_text(debian)
    (etc / "sources.list.d/other.sources").write_text("Types: deb\nURIs: https://o.example/\n")
    line = "deb https://mirror.example/debian bookworm main\n"
    (etc / "sources.list").write_text(line + "deb https://o.example/apt stable main\n")
    monkeypatch.setattr(program, "ETC", etc)
    parts = tmp_path / "parts"
    parts.mkdir()
    program.write_source_lists(parts)
    assert (parts / "sources.list").read_text() == line.replace("deb ", "deb-src ", 1)
    assert (parts / "debian.sources").read_text().startswith("Types: deb-src\nURIs: https://mirror")
    assert "o.example" not in (parts / "other.sources").read_text()


def test_each_entry_pins_one_version_of_one_archive():
    for name, library in tomllib.loads(LIST.read_text()).items():
        assert re.fullmatch("[0-9a-f]{64}", library["sha256"]), name
        assert library["archive"].startswith(f"{library['package']}_{library['version']}.orig."), (
            name
        )
        assert ("sources" in library) != ("cmake" in library), name
