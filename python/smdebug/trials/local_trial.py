"""`LocalTrial`: a run on this machine, and whether such a run has ended."""

from __future__ import annotations

import os
from collections.abc import Sequence

from smdebug import _core
from smdebug.aws_credentials import use_boto3_credentials
from smdebug.exceptions import SMDebugRuntimeError
from smdebug.trials.trial import Trial

__all__ = ["LocalTrial", "check_dir_exists", "has_training_ended"]


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
        super().__init__(name, range_steps, cache=cache, path=dirname, timeout=timeout)


def has_training_ended(trial_prefix: str) -> bool:
    """Whether the run at `trial_prefix`, a path or an address such as "s3://bucket/run", has its
    end marker. Raises SMDebugError if its store does not tell."""
    path = os.fspath(trial_prefix)
    use_boto3_credentials(path)
    return _core.has_end_marker(path)


def check_dir_exists(path: str) -> None:
    """Raises SMDebugRuntimeError if `path`, which may be an address such as "s3://bucket/run",
    holds a finished run, because a new run must not be written into it."""
    if has_training_ended(path):
        raise SMDebugRuntimeError(
            f"'{path}' holds a finished run; remove it, or choose another path"
        )
