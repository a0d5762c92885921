"""`no_refresh` and `refresh`: whether questions to a trial look for new steps."""

from contextlib import contextmanager


@contextmanager
def no_refresh(trials):
    """Within it, the trial (or each of several) answers from what it knows."""
    with _refreshing(trials, False):
        yield


@contextmanager
def refresh(trials):
    """Within it, the trial (or each of several) looks for new steps at each question."""
    with _refreshing(trials, True):
        yield


@contextmanager
def _refreshing(trials, wanted):
    trials = list(trials) if isinstance(trials, (list, tuple, set)) else [trials]
    before = [trial.dynamic_refresh for trial in trials]
    try:
        for trial in trials:
            trial.dynamic_refresh = wanted
        yield
    finally:
        for trial, was in zip(trials, before, strict=True):
            trial.dynamic_refresh = was
