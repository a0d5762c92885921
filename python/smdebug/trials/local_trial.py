"""`LocalTrial`: a run on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence

from smdebug.trials.trial import Trial

__all__ = ["LocalTrial"]


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
