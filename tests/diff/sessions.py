"""Console sessions: commands of `smdebug` with their answers, kept as text files.

A session is a file with lines `$ smdebug ...`, each followed by what the command printed to
standard output, then to standard error, and `[exit N]` if N is not 0. A command names its runs by
the folders of tests/golden, or by the archives beside this file. It runs in a temporary folder
with copies of the runs that its session names.

To add a command, add its `$` line and run `tools/rebase`.
"""

import concurrent.futures
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden"
PROMPT = "$ smdebug "


def session_files() -> list[pathlib.Path]:
    """All sessions below this folder."""
    return sorted(HERE.rglob("*.txt"))


def commands_of(text: str) -> list[str]:
    """The command lines of a session, without the prompt."""
    lines = text.splitlines()
    return [line.removeprefix(PROMPT) for line in lines if line.startswith(PROMPT)]


def replay(commands: list[str]) -> str:
    """Runs the commands one after another; returns the text of the session."""
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            for word in shlex.split(command.replace("=", " ")):
                provide_run(word, pathlib.Path(folder))
        return "\n".join(f"{PROMPT}{each}\n{answer(each, folder)}" for each in commands)


def replay_all(files: list[pathlib.Path]) -> dict[pathlib.Path, str]:
    """Runs several sessions at once; returns the text that each should have."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = pool.map(lambda file: replay(commands_of(file.read_text())), files)
        return dict(zip(files, texts, strict=True))


def provide_run(name: str, folder: pathlib.Path) -> None:
    """Copies the run of this name into the folder, if there is such a run."""
    target = folder / name
    archives = [HERE / f"{name}.tar.gz", GOLDEN / name / "run.tar.gz"]
    if "/" in name or target.exists():
        return
    if (GOLDEN / name / "run").is_dir():
        shutil.copytree(GOLDEN / name / "run", target)
    for archive in filter(pathlib.Path.exists, archives):
        with tempfile.TemporaryDirectory() as unpacked:
            shutil.unpack_archive(archive, unpacked)
            shutil.move(pathlib.Path(unpacked) / "run", target)


def answer(command: str, folder: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "smdebug", *shlex.split(command)],
        cwd=folder,
        env={**os.environ, "SMDEBUG_LOG_LEVEL": "warning", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    code = f"[exit {done.returncode}]\n" if done.returncode else ""
    return done.stdout + done.stderr + code
