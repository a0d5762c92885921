"""`no_refresh` and `refresh`: whether queries on a trial look for new steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smdebug.trials import Trial


@contextmanager
def no_refresh(trials: Trial | Iterable[Trial]) -> Iterator[None]:
    """Within the context, the trial or trials answer from the steps that they already know."""
    with _refreshing(trials, False):
        yield


@contextmanager
def refresh(trials: Trial | Iterable[Trial]) -> Iterator[None]:
    """Within the context, the trial or trials look for new steps at every query."""
    with _refreshing(trials, True):
        yield


@contextmanager
def _refreshing(trials: Trial | Iterable[Trial], wanted: bool) -> Iterator[None]:
    each = list(trials) if isinstance(trials, (list, tuple, set)) else [trials]
    before = [trial.dynamic_refresh for trial in each]
    try:
        for trial in each:
            trial.dynamic_refresh = wanted
        yield
    finally:
        for trial, was in zip(each, before, strict=True):
            trial.dynamic_refresh = was
