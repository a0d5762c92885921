"""`LocalTrial`: a run on this machine, and whether such a run has ended."""

from __future__ import annotations

import os
from collections.abc import Sequence

from smdebug.exceptions import SMDebugRuntimeError
from smdebug.trials.trial import Trial

__all__ = ["LocalTrial", "check_dir_exists", "has_training_ended"]

END_MARKER = "training_job_end.ts"


class LocalTrial(Trial):
    """A run on this machine, with the arguments of the original.

    `dirname` is the path; `create_trial` documents the others.
    """

    def __init__(
        self,
        name: str | None,
        dirname: str | os.PathLike[str],
        range_steps: Sequence[int | None] | None = None,
        parallel: bool = True,
        check: bool = False,
        index_mode: bool = True,
        cache: bool = False,
        timeout: float | None = None,
    ) -> None:
        super().__init__(dirname, name, range_steps=range_steps, cache=cache, timeout=timeout)


def has_training_ended(path: str) -> bool:
    """Whether the run at `path` has its end marker."""
    return os.path.exists(os.path.join(os.path.expanduser(path), END_MARKER))


def check_dir_exists(path: str) -> None:
    """Raises SMDebugRuntimeError if `path` holds a finished run, because a new run must not be
    written into it."""
    if has_training_ended(path):
        raise SMDebugRuntimeError(
            f"'{path}' holds a finished run; remove it, or choose another path"
        )
