"""`S3Trial`: a run in an S3 bucket, and `is_s3`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from smdebug.trials.trial import Trial

__all__ = ["S3Trial", "is_s3"]


class S3Trial(Trial):
    """A run below `prefix_name` in the bucket `bucket_name`, with the arguments of the original.
    `create_trial` documents the others, docs/storage.md credentials and servers."""

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
        path = f"s3://{bucket_name}/{prefix_name}"
        super().__init__(name, range_steps, cache=cache, path=path, timeout=timeout)


def is_s3(path: str) -> tuple[bool, str | None, str | None]:
    """(True, bucket, key) for an S3 address, else (False, None, None)."""
    found = re.fullmatch(r"s3://([^/]+)/?(.*)", path, re.DOTALL)
    return (True, found[1], found[2]) if found else (False, None, None)
