"""Programs that the tests of this folder run."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = ROOT / "build/release"


def run(*command, **environment: str) -> str:
    """Returns what the command prints to standard output; it must succeed."""
    words = ["env", *(f"{name}={value}" for name, value in environment.items()), *command]
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_stranger(project: pathlib.Path, build: pathlib.Path, prefix: pathlib.Path, *more) -> None:
    """Builds a project that finds smdebug in `prefix`, and nothing of the source tree."""
    run("cmake", "-S", project, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", *more)
    run("cmake", "--build", build)


def needed_libraries(program: pathlib.Path) -> set[str]:
    """The shared libraries that a program or library is linked with, such as libc.so.6."""
    return set(re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", program)))


def library_folder(prefix: pathlib.Path) -> pathlib.Path:
    (package,) = prefix.glob("lib/**/cmake/smdebug")
    return package.parents[1]
