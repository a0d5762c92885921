"""The metrics that callbacks of Keras watch. See `MetricWatchFacts` in run_facts.h."""

import weakref
from collections.abc import Iterable
from typing import Any, NamedTuple

import keras

# A difference that no callback ignores.
_LOW, _HIGH = -1e30, 1e30


class MetricWatch(NamedTuple):
    """The fields of `_core.MetricWatchFacts`."""

    kind: str
    metric: str
    prefers_high: bool
    is_of_training: bool


class WatchingCallbacks:
    """The callbacks of a `fit`, which it does not keep alive."""

    def __init__(self, callbacks: Iterable[Any], has_validation: bool) -> None:
        self._callbacks = [weakref.ref(each) for each in callbacks]
        self._has_validation = has_validation

    def watches(self) -> list[MetricWatch]:
        """Describes those that stop the training, keep its best model or lower its learning rate,
        as far as their direction is known: Keras 3 chooses that of mode "auto" at the end of the
        first epoch."""
        found = []
        for callback in (reference() for reference in self._callbacks):
            metric, prefers_high = getattr(callback, "monitor", None), _prefers_high(callback)
            if not isinstance(metric, str) or prefers_high is None:
                continue
            # A learning rate may well follow the training loss.
            is_of_training = self._has_validation and not metric.startswith("val_")
            is_of_training &= not isinstance(callback, keras.callbacks.ReduceLROnPlateau)
            found.append(MetricWatch(type(callback).__name__, metric, prefers_high, is_of_training))
        return found


def _prefers_high(callback: Any) -> bool | None:
    keeps_best = isinstance(callback, keras.callbacks.ModelCheckpoint) and callback.save_best_only
    watching = (keras.callbacks.EarlyStopping, keras.callbacks.ReduceLROnPlateau)
    if not keeps_best and not isinstance(callback, watching):
        return None
    mode = getattr(callback, "mode", "auto")
    if mode in ("min", "max"):
        return bool(mode == "max")
    is_better = getattr(callback, "monitor_op", None)
    if is_better is None:
        return None
    high, low = bool(is_better(_HIGH, _LOW)), bool(is_better(_LOW, _HIGH))
    return None if high == low else high
