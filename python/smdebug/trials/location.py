"""What can be said of a place before it is opened as a run."""

import os
import re

from smdebug.exceptions import SMDebugRuntimeError

END_MARKER = "training_job_end.ts"


def is_s3(path):
    """(True, bucket, key) of an S3 address, (False, None, None) of anything else."""
    found = re.fullmatch(r"s3://([^/]+)/?(.*)", path, re.DOTALL)
    return (True, found[1], found[2]) if found else (False, None, None)


def has_training_ended(path):
    """Whether the run at `path` has its end marker."""
    return os.path.exists(os.path.join(os.path.expanduser(path), END_MARKER))


def check_dir_exists(path):
    """Raises SMDebugRuntimeError where a finished run lies: it must not be written into."""
    if has_training_ended(path):
        raise SMDebugRuntimeError(
            f"'{path}' holds a finished run; remove it, or choose another place"
        )
