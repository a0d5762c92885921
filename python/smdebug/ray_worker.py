"""Judges one run in a process of a Ray cluster, for `smdebug check --ray` (ray_cluster.py)."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

from smdebug import _core
from smdebug.aws_credentials import use_boto3_credentials
from smdebug.rules.judge import load_judge


def judge_run(command: list[str], folder: str) -> tuple[bytes | None, str]:
    """Judges the run of `command`, whose relative paths begin in `folder`. Returns its result, and
    what was printed; or None, and why there is no result."""
    try:
        os.chdir(folder)
    except OSError as error:
        if not all(map(_is_absolute, _paths_in(command))):
            return None, (
                f"a worker of the Ray cluster has no folder '{folder}' ({error.strerror}); name "
                "runs and files of rules by a path that all of its machines share, or by an "
                "address such as s3://bucket/run"
            )
    with tempfile.TemporaryFile() as printed:
        with _printing_to(printed):
            use_boto3_credentials(*command)
            result = _core.judge_for_ray(command, load_judge)
        printed.seek(0)
        return result, printed.read().decode(errors="replace")


def _paths_in(command: list[str]) -> list[str]:
    rules = [word.removeprefix("--rule=") for word in command if word.startswith("--rule=")]
    return [command[1], *(rule for rule in rules if ".py:" in rule)]


def _is_absolute(path: str) -> bool:
    return os.path.isabs(path) or re.match(r"[^/]+://", path) is not None


@contextlib.contextmanager
def _printing_to(file: BinaryIO) -> Iterator[None]:
    """Lets both streams of the process, of C++ and of Python, write to `file` in the block."""
    streams = (sys.stdout, sys.stderr)
    before = [os.dup(number) for number in (1, 2)]
    try:
        for stream, number in zip(streams, (1, 2), strict=True):
            stream.flush()
            os.dup2(file.fileno(), number)
        # Ray's streams of Python do not write to these numbers.
        with (
            open(2, "w", buffering=1, closefd=False) as text,
            contextlib.redirect_stdout(text),
            contextlib.redirect_stderr(text),
        ):
            yield
    finally:
        for kept, number in zip(before, (1, 2), strict=True):
            os.dup2(kept, number)
            os.close(kept)
