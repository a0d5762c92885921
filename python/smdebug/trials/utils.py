"""`create_trial` opens a run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from smdebug.exceptions import (
    SMDebugNotImplementedError,
    SMDebugTypeError,
)
from smdebug.trials.arguments import checked_path
from smdebug.trials.local_trial import LocalTrial
from smdebug.trials.s3_trial import S3Trial, is_s3
from smdebug.trials.trial import Trial
from smdebug.unknown_arguments import with_known_arguments

__all__ = ["create_trial"]


@with_known_arguments
def create_trial(
    path: str | os.PathLike[str] | None = None,
    name: str | None = None,
    profiler: bool = False,
    output_dir: str = "/opt/ml/processing/outputs/",
    *,
    out_dir: str | os.PathLike[str] | None = None,
    range_steps: Sequence[int | None] | None = None,
    check: bool = False,
    index_mode: bool = True,
    cache: bool = False,
    timeout: float | None = None,
    parallel: bool = True,
) -> Trial:
    """Opens the run at `path` (also called `out_dir`), in which `~` is the home folder. It may be
    in an object store, such as "s3://bucket/run" (docs/storage.md).

    Waits until every worker of the run has written its collections file: at most `timeout`
    seconds, or forever if that is None, with a reminder in the log after two seconds and every ten
    seconds from then on. Ctrl-C ends the wait. `name` is the last part of the path by default.
    `range_steps=(first, end)` skips global steps outside [first, end); either may be None.
    `cache=True` keeps values in memory once they are read.

    The original's `check`, `index_mode` and `parallel` have no effect: checksums are always
    verified, and runs are always read by their index. `output_dir` is for the reports of a
    profiler trial.

    Without a `timeout`, only a folder that exists is waited for; a path that does not exist, and a
    folder that only holds other runs, raise at once. To open a run before its training begins, pass
    a `timeout`.

    Raises SMDebugError with the code "not_found" if no run appears in time, MissingCollectionFiles
    for a run that ended before every worker wrote its collections file, SMDebugTypeError for a path
    of another type and for text as `range_steps`, SMDebugValueError for an invalid range of steps
    (also an AssertionError, which the original raises), SMDebugError with the code "io" or
    "unavailable" if a store refuses or does not answer, and SMDebugNotImplementedError for
    `profiler=True` and for other stores.
    """
    path = path if path is not None else out_dir
    if path is None:
        raise SMDebugTypeError("create_trial needs the path of a run, found None")
    path = checked_path(path)
    if profiler:
        raise SMDebugNotImplementedError("profiler output cannot be read yet")
    options: dict[str, Any] = {"range_steps": range_steps, "cache": cache, "timeout": timeout}
    in_s3, bucket, prefix = is_s3(path)
    if in_s3:
        return S3Trial(name, bucket, prefix, **options)
    return LocalTrial(name, path, **options)
