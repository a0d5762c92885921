"""The metrics that callbacks of Keras watch. See `MetricWatchFacts` in run_facts.h."""

from collections.abc import Iterable
from typing import Any

import keras

from smdebug import _core

# A difference that no callback ignores.
_LOW, _HIGH = -1e30, 1e30


def metric_watches(callbacks: Iterable[Any], has_validation: bool) -> list[_core.MetricWatchFacts]:
    """Describes the callbacks of a `fit` that stop the training, keep its best model or lower its
    learning rate, as far as their direction is known: that of mode "auto" is chosen later in
    Keras 3."""
    found = []
    for callback in callbacks:
        metric, prefers_high = getattr(callback, "monitor", None), _prefers_high(callback)
        if not isinstance(metric, str) or prefers_high is None:
            continue
        # A learning rate may well follow the training loss.
        is_of_training = has_validation and not metric.startswith("val_")
        is_of_training &= not isinstance(callback, keras.callbacks.ReduceLROnPlateau)
        found.append(
            _core.MetricWatchFacts(
                type(callback).__name__,
                metric,
                prefers_high=prefers_high,
                is_of_training=is_of_training,
            )
        )
    return found


def _prefers_high(callback: Any) -> bool | None:
    keeps_best = isinstance(callback, keras.callbacks.ModelCheckpoint) and callback.save_best_only
    watching = (keras.callbacks.EarlyStopping, keras.callbacks.ReduceLROnPlateau)
    is_better = getattr(callback, "monitor_op", None)
    if not (keeps_best or isinstance(callback, watching)) or is_better is None:
        return None
    high, low = bool(is_better(_HIGH, _LOW)), bool(is_better(_LOW, _HIGH))
    return None if high == low else high
