"""`no_refresh` and `refresh`: whether queries on a trial look for new steps."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from smdebug.exceptions import SMDebugTypeError

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


def refuse_path(taker: str, trial: object) -> None:
    """Raises SMDebugTypeError if `trial`, which `taker` takes, is the path of a run."""
    if isinstance(trial, (str, os.PathLike)):
        path = os.fspath(trial)
        raise SMDebugTypeError(f"{taker} takes a trial, found {path!r}; use create_trial({path!r})")


@contextmanager
def _refreshing(trials: Trial | Iterable[Trial], wanted: bool) -> Iterator[None]:
    refuse_path("refresh" if wanted else "no_refresh", trials)
    each = list(trials) if isinstance(trials, Iterable) else [trials]
    before = [trial.dynamic_refresh for trial in each]
    try:
        for trial in each:
            trial.dynamic_refresh = wanted
        yield
    finally:
        for trial, was in zip(each, before, strict=True):
            trial.dynamic_refresh = was
