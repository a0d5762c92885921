"""Downloads packages of Debian, with lists of apt's own, so that no system file changes.

tools/static_libraries downloads source packages, and tools/sysroot packages of another
architecture.
"""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
ETC = pathlib.Path("/etc/apt")


class BuildError(Exception):
    """Names a step that failed, and the reason."""


def download_sources(folder: pathlib.Path, packages: list[str]) -> None:
    """Downloads what the mirror has of source packages."""
    options = read_lists(folder / "apt", "deb-src", [])
    # Its own checks fail for a file that the mirror lacks, also for one that is not needed.
    command = ["apt-get", *options, "source", "--download-only", *packages]
    subprocess.run(command, cwd=folder, capture_output=True)


def download_with_dependencies(
    folder: pathlib.Path, architecture: str, packages: list[str], suite: str | None = None
) -> list[pathlib.Path]:
    """Downloads packages and all that they depend on, of a suite or of those that the system has.
    Returns their files."""
    installed = folder / "none-installed"
    installed.touch()
    foreign = [
        f"-oAPT::Architecture={architecture}",
        f"-oAPT::Architectures={architecture}",
        f"-oDir::State::status={installed}",
        "-oDebug::NoLocking=1",
    ]
    options = read_lists(folder / "apt", "deb", foreign, suite)
    install = ["install", "--yes", "--no-install-recommends", "--download-only", *packages]
    run(["apt-get", *options, *install], f"download packages for {architecture}")
    return sorted((folder / "apt/cache/archives").glob("*.deb"))


def read_lists(
    state: pathlib.Path, kind: str, options: list[str], suite: str | None = None
) -> list[str]:
    """Reads the lists of packages of a kind, "deb" or "deb-src", into `state`. Returns the options
    with which apt-get uses them."""
    for each in ("lists/partial", "cache/archives/partial", "parts"):
        (state / each).mkdir(parents=True)
    write_lists(state / "parts", kind, suite)
    options = [
        *options,
        "-oDir::Etc::sourcelist=-",
        f"-oDir::Etc::sourceparts={state / 'parts'}",
        f"-oDir::State::lists={state / 'lists'}",
        f"-oDir::Cache={state / 'cache'}",
        "-qq",
    ]
    run(["apt-get", *options, "update"], f"read the lists of {kind}")
    return options


def write_lists(parts: pathlib.Path, kind: str, suite: str | None = None) -> None:
    """Turns Debian's entries of the system's lists into those of a kind, and of another suite if
    `suite` names one."""
    for path in [ETC / "sources.list", *sorted((ETC / "sources.list.d").glob("*"))]:
        if not path.is_file():
            continue
        text = path.read_text()
        if path.suffix == ".sources":
            stanzas = [each for each in re.split(r"\n\s*\n", text) if "debian-archive" in each]
            text = "\n\n".join(re.sub(r"(?m)^Types:.*$", f"Types: {kind}", s) for s in stanzas)
        else:
            lines = re.findall(r"(?m)^deb(?:-src)?\s.*$", text)
            lines = [line for line in lines if re.search(r"/debian(-security)?/?\s", line)]
            text = "\n".join(re.sub(r"^deb(-src)?", kind, line) for line in lines)
        (parts / path.name).write_text((of_suite(text, suite) if suite else text) + "\n")


def of_suite(text: str, suite: str) -> str:
    """Lists of the main archive with another suite."""
    if stanzas := [each for each in text.split("\n\n") if re.search(r"(?m)^Suites:", each)]:
        main = [each for each in stanzas if "-security" not in each]
        return "\n\n".join(re.sub(r"(?m)^Suites:.*$", f"Suites: {suite}", each) for each in main)
    lines = [line for line in text.splitlines() if "-security" not in line]
    entry = re.compile(r"^(deb(?:-src)?\s+(?:\[.*?\]\s+)?\S+\s+)\S+")
    return "\n".join(dict.fromkeys(entry.sub(rf"\g<1>{suite}", line) for line in lines))


def run(command: list, purpose: str, folder: pathlib.Path = ROOT) -> None:
    """Runs a command. If it fails, the error names its purpose."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    except FileNotFoundError:
        raise BuildError(f"cannot {purpose}: {words[0]} is not installed") from None
    if done.returncode:
        raise BuildError(f"cannot {purpose}:\n{(done.stdout + done.stderr)[-4000:]}")
