"""Which package tools/install_package installs: the wheel of the commit, or what it builds."""

import pathlib
import platform
import shutil
import subprocess

import pytest

TOOLS = pathlib.Path(__file__).parent
# Writes its arguments to pip.log, and a wheel where `pip wheel` is to write one.
PIP = """#!/bin/sh
echo "$@" >>pip.log
folder=
for word in "$@"; do
  [ "$folder" != next ] || folder=$word
  [ "$word" != -w ] || folder=next
done
[ "$1" != wheel ] || touch "$folder/built.whl"
"""
PYTHON = "#!/bin/sh\necho cp311\n"


@pytest.fixture
def checkout(tmp_path) -> pathlib.Path:
    """A repository with one commit, the tools, and an environment that runs no Python."""
    tools, programs = tmp_path / "tools", tmp_path / ".venv/torch/bin"
    tools.mkdir()
    programs.mkdir(parents=True)
    for name in ("install_package", "build_progress.py"):
        shutil.copy(TOOLS / name, tools)
    for name, text in (("pip", PIP), ("python", PYTHON)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (tmp_path / ".gitignore").write_text(".venv/\ndist/\npip.log\n")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(checkout: pathlib.Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", checkout, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commit(checkout: pathlib.Path) -> None:
    git(checkout, "add", "--all")
    git(checkout, "commit", "--quiet", "--allow-empty", "--message", "a")


def add_wheel(checkout: pathlib.Path) -> pathlib.Path:
    """A wheel of the commit, as tools/wheel leaves it."""
    wheel = checkout / f"dist/x-cp311-cp311-manylinux_2_28_{platform.machine()}.whl"
    wheel.parent.mkdir()
    wheel.touch()
    wheel.with_name(f"{wheel.name}.commit").write_text(git(checkout, "rev-parse", "HEAD"))
    return wheel.relative_to(checkout)


def calls_of_pip(checkout: pathlib.Path) -> list[list[str]]:
    subprocess.run([checkout / "tools/install_package"], check=True, capture_output=True)
    return [line.split() for line in (checkout / "pip.log").read_text().splitlines()]


def test_the_wheel_of_the_commit_is_installed_and_nothing_is_built(checkout):
    wheel = add_wheel(checkout)
    (call,) = calls_of_pip(checkout)
    assert (call[0], call[-1]) == ("install", str(wheel))


def test_the_wheel_of_another_commit_is_not_installed(checkout):
    add_wheel(checkout)
    commit(checkout)
    build, install = calls_of_pip(checkout)
    assert build[0] == "wheel"
    assert install[-1].endswith("/built.whl")


def test_a_changed_checkout_is_built(checkout):
    add_wheel(checkout)
    (checkout / "changed.py").touch()
    build, install = calls_of_pip(checkout)
    assert build[0] == "wheel"
    assert install[-1].endswith("/built.whl")


def test_a_build_that_fails_shows_its_output(checkout):
    (checkout / ".venv/torch/bin/pip").write_text("#!/bin/sh\necho no compiler\nexit 1\n")
    done = subprocess.run([checkout / "tools/install_package"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "no compiler\n"
