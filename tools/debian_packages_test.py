"""The lists of packages are Debian's, whatever else the system has."""

import debian_packages


def test_lists_of_source_packages_are_those_of_debian(tmp_path, monkeypatch):
    etc = tmp_path / "etc"
    (etc / "sources.list.d").mkdir(parents=True)
    debian = (
        "Types: deb\nURIs: https://mirror.example/x\nSigned-By: /k/debian-archive-keyring.gpg\n"
    )
    (etc / "sources.list.d/debian.sources").write_text(debian)
    (etc / "sources.list.d/other.sources").write_text("Types: deb\nURIs: https://o.example/\n")
    line = "deb https://mirror.example/debian bookworm main\n"
    (etc / "sources.list").write_text(line + "deb https://o.example/apt stable main\n")
    monkeypatch.setattr(debian_packages, "ETC", etc)
    parts = tmp_path / "parts"
    parts.mkdir()
    debian_packages.write_lists(parts, "deb-src")
    assert (parts / "sources.list").read_text() == line.replace("deb ", "deb-src ", 1)
    assert (parts / "debian.sources").read_text().startswith("Types: deb-src\nURIs: https://mirror")
    assert "o.example" not in (parts / "other.sources").read_text()


def test_lists_of_another_suite_are_those_of_the_main_archive(tmp_path, monkeypatch):
    (tmp_path / "sources.list").write_text(
        "deb [arch=amd64] https://mirror.example/debian bookworm main\n"
        "deb [arch=amd64] https://mirror.example/debian bookworm-updates main\n"
        "deb https://mirror.example/debian-security bookworm-security main\n"
    )
    stanza = "URIs: https://mirror.example/x\nSuites: {}\nSigned-By: /k/debian-archive-keyring.gpg"
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d/debian.sources").write_text(
        stanza.format("bookworm bookworm-updates") + "\n\n" + stanza.format("bookworm-security")
    )
    monkeypatch.setattr(debian_packages, "ETC", tmp_path)
    parts = tmp_path / "parts"
    parts.mkdir()
    debian_packages.write_lists(parts, "deb", "bullseye")
    written = (parts / "sources.list").read_text()
    assert written == "deb [arch=amd64] https://mirror.example/debian bullseye main\n"
    assert (parts / "debian.sources").read_text() == stanza.format("bullseye") + "\n"


def test_a_list_of_sources_is_also_one_of_packages(tmp_path, monkeypatch):
    (tmp_path / "sources.list").write_text("deb-src https://mirror.example/debian bookworm main\n")
    monkeypatch.setattr(debian_packages, "ETC", tmp_path)
    parts = tmp_path / "parts"
    parts.mkdir()
    debian_packages.write_lists(parts, "deb")
    assert (parts / "sources.list").read_text().startswith("deb https://mirror")
