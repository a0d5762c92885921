"""`LocalTrial`: a run on this machine, and whether such a run has ended."""

from __future__ import annotations

import os
from collections.abc import Sequence

from smdebug.exceptions import SMDebugNotImplementedError, SMDebugRuntimeError
from smdebug.trials.s3_trial import is_s3
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
        super().__init__(name, range_steps, cache=cache, path=dirname, timeout=timeout)


def has_training_ended(trial_prefix: str) -> bool:
    """Whether the run at `trial_prefix`, its path, has its end marker. Raises
    SMDebugNotImplementedError for an address in S3."""
    if is_s3(trial_prefix)[0]:
        raise SMDebugNotImplementedError(
            f"cannot look for the end marker of '{trial_prefix}': runs in S3 cannot be read yet; "
            "copy the run to this machine and pass the path of the copy"
        )
    return os.path.exists(os.path.join(os.path.expanduser(trial_prefix), END_MARKER))


def check_dir_exists(path: str) -> None:
    """Raises SMDebugRuntimeError if `path` holds a finished run, because a new run must not be
    written into it, and SMDebugNotImplementedError for an address in S3."""
    if has_training_ended(path):
        raise SMDebugRuntimeError(
            f"'{path}' holds a finished run; remove it, or choose another path"
        )
