"""What a path tells before it is opened as a run."""

from __future__ import annotations

import os
import re

from smdebug.exceptions import SMDebugRuntimeError

END_MARKER = "training_job_end.ts"


def is_s3(path: str) -> tuple[bool, str | None, str | None]:
    """(True, bucket, key) for an S3 address, else (False, None, None)."""
    found = re.fullmatch(r"s3://([^/]+)/?(.*)", path, re.DOTALL)
    return (True, found[1], found[2]) if found else (False, None, None)


def has_training_ended(path: str) -> bool:
    """Whether the run at `path` has its end marker."""
    return os.path.exists(os.path.join(os.path.expanduser(path), END_MARKER))


def check_dir_exists(path: str) -> None:
    """Raises SMDebugRuntimeError if `path` holds a finished run, which must not be written into."""
    if has_training_ended(path):
        raise SMDebugRuntimeError(
            f"'{path}' holds a finished run; remove it, or choose another path"
        )
