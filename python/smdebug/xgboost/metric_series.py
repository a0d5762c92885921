"""`MetricSeries`: notes the losses of every round, saved or not."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from smdebug._core import metric_name

if TYPE_CHECKING:
    from smdebug import _core
    from smdebug.xgboost.rounds import EvaluationLog


class MetricSeries:
    """Scalar series of one hook: each metric whose name one of `patterns` matches, under the name
    of its tensor. Of the folds of xgboost.cv it is the mean."""

    def __init__(self, session: _core.Session, patterns: Iterable[str]) -> None:
        self._session = session
        self._patterns = [re.compile(pattern) for pattern in patterns]
        # Each name is built, and its slot looked up, once.
        self._slot = functools.cache(self._find_slot)

    def note(self, evals_log: EvaluationLog) -> None:
        """Notes the metrics of the round that just ended, of which `evals_log` has the values of
        all rounds."""
        for evaluation_set, metrics in evals_log.items():
            for metric, values in metrics.items():
                if slot := self._slot(evaluation_set, metric):
                    value = values[-1]
                    slot.note(value[0] if isinstance(value, tuple) else value)

    def _find_slot(self, evaluation_set: str, metric: str) -> _core.ScalarSlot | None:
        name = metric_name(evaluation_set, metric)
        if any(pattern.search(name) for pattern in self._patterns):
            return self._session.scalar(name)
        return None
