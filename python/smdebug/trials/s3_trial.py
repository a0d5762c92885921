"""`S3Trial`: a run in an S3 bucket, which smdebug cannot read yet, and `is_s3`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from smdebug.exceptions import SMDebugNotImplementedError
from smdebug.trials.trial import Trial

__all__ = ["S3Trial", "is_s3"]


class S3Trial(Trial):
    """A run in an S3 bucket, with the arguments of the original. Raises
    SMDebugNotImplementedError."""

    def __init__(
        self,
        name: str | None,
        bucket_name: str,
        prefix_name: str,
        range_steps: Sequence[int | None] | None = None,
        check: bool = False,
        index_mode: bool = True,
        cache: bool = False,
        timeout: float | None = None,
    ) -> None:
        raise SMDebugNotImplementedError(
            f"cannot open 's3://{bucket_name}/{prefix_name}': runs in S3 cannot be read yet; copy "
            "the run to this machine and open the copy"
        )


def is_s3(path: str) -> tuple[bool, str | None, str | None]:
    """(True, bucket, key) for an S3 address, else (False, None, None)."""
    found = re.fullmatch(r"s3://([^/]+)/?(.*)", path, re.DOTALL)
    return (True, found[1], found[2]) if found else (False, None, None)
