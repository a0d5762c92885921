"""`no_refresh` and `refresh`: whether queries on a trial look for new steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from smdebug.trials import Trial

Trials = TypeVar("Trials", bound="Trial | Iterable[Trial]")


@contextmanager
def no_refresh(trials: Trials) -> Iterator[Trials]:
    """Within the context, the trial or trials answer from the steps that they already know. `as`
    receives `trials`."""
    with _refreshing(trials, False):
        yield trials


@contextmanager
def refresh(trials: Trials) -> Iterator[Trials]:
    """Within the context, the trial or trials look for new steps at every query. `as` receives
    `trials`."""
    with _refreshing(trials, True):
        yield trials


@contextmanager
def _refreshing(trials: Trial | Iterable[Trial], wanted: bool) -> Iterator[None]:
    each = list(trials) if isinstance(trials, Iterable) else [trials]
    before = [trial.dynamic_refresh for trial in each]
    try:
        for trial in each:
            trial.dynamic_refresh = wanted
        yield
    finally:
        for trial, was in zip(each, before, strict=True):
            trial.dynamic_refresh = was
