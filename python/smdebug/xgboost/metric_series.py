"""`MetricSeries`: notes the metrics of every round, saved or not."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from smdebug._core import metric_name

if TYPE_CHECKING:
    from smdebug import _core
    from smdebug.xgboost.rounds import EvaluationLog


class MetricSeries:
    """Scalar series of one hook: each metric, under the name of its tensor. Of the folds of
    xgboost.cv it is the mean."""

    def __init__(self, session: _core.Session) -> None:
        # Each name is built, and its slot looked up, once.
        self._slot = functools.cache(lambda *parts: session.scalar(metric_name(*parts)))

    def note(self, evals_log: EvaluationLog) -> None:
        """Notes the metrics of the round that just ended, of which `evals_log` has the values of
        all rounds."""
        for evaluation_set, metrics in evals_log.items():
            for metric, values in metrics.items():
                value = values[-1]
                number = value[0] if isinstance(value, tuple) else value
                self._slot(evaluation_set, metric).note(number)
