"""`LossGrowth`: the loss of each training step of a model, from the mean that Keras logs.

Keras does not return the loss of a batch: its log is the mean over the epoch so far, of a metric
that counts samples. The growth of mean times count during a step gives its loss. A step with one
more result would be another program, which may round differently (step_function.py).
"""

from __future__ import annotations

import math
from typing import Any

import keras

from smdebug import _core
from smdebug.tensorflow import names
from smdebug.tensorflow.keras.late_numbers import LateNumbers
from smdebug.tensorflow.keras.step_backend import backend

# The dtypes of a metric whose growth is precise enough -> the distance of 1 to the next number.
_EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}
# The sum, the mean and their product are rounded, before and after a step.
_ROUNDINGS = 4
# A log is the mean of a metric if they differ by no more than rounding.
_SAME = 1e-5


class LossGrowth:
    """Notes the losses of one model in `slot`.

    If the log of a step is the mean of a metric, the loss is the mean of the samples of this step,
    exact to the rounding of the sum over the epoch; a change that may be rounding counts as none.
    Otherwise, as with a train_step of the script that returns the loss, it is the log itself.
    """

    def __init__(self, model: Any, slot: _core.ScalarSlot, late: LateNumbers) -> None:
        self._model = model
        self._slot = slot
        self._late = late
        self._mean: _RunningMean | None = None  # the metric of the log, once it is known
        self._has_no_mean = False  # the log is the loss itself, or there is none
        self._candidates: list[tuple[_RunningMean, list[Any]]] = []  # what they hold before a step
        self._is_followed = False  # whether the step before was noted by `_mean`
        # Of the numbers that have arrived: the sum, the count, and the newest loss.
        self._before = (0.0, 0.0)
        self._newest = math.nan

    def interrupt(self) -> None:
        """Notes that metrics may be reset, or take other losses, before the next step."""
        self._is_followed = False

    def begin_step(self) -> None:
        """Call before a training step runs."""
        if self._is_followed or self._has_no_mean:
            return
        if self._mean is not None and not self._mean.is_of(self._model):
            self._mean = None  # the model was compiled again
        if self._mean is not None:
            self._late.add(self._mean.read(), self._start)
        else:
            self._candidates = [(each, each.read()) for each in _running_means(self._model)]

    def end_step(self, step: Any, log: Any) -> None:
        """Call after a training step, which is the open `step`. `log` is the loss that it
        returned, or None."""
        if not backend.is_number(log):
            self._has_no_mean = True
            return
        if self._mean is None and not self._has_no_mean:
            self._choose(log)
        mean = self._mean
        if mean is None:
            self._late.add([log], lambda numbers: self._slot.note_at(step, numbers[0]))
        else:
            self._is_followed = True
            self._late.add(
                [log, *mean.read_count()], lambda numbers: self._note_growth(step, mean, numbers)
            )

    def _choose(self, log):
        """Finds the metric of the log. In the first step after a reset, the log is both the mean
        and the loss, so that the question stays open."""
        candidates, self._candidates = self._candidates, []
        started = [each for each in candidates if _sums(backend.numbers(each[1]))[1] > 0]
        (mean_of_log,) = backend.numbers([log]) if started else (math.nan,)
        if not math.isfinite(mean_of_log):
            return
        for metric, before in started:
            total, count = _sums(backend.numbers(metric.read()))
            if count > 0 and math.isclose(total / count, mean_of_log, rel_tol=_SAME):
                self._mean = metric
                self._late.add(before, self._start)
                return
        self._has_no_mean = True

    def _start(self, numbers):
        self._before = _sums(numbers)

    def _note_growth(self, step, mean, numbers):
        """Notes the loss of a step whose log and counts are `numbers`."""
        count = sum(numbers[1:])
        before, after = self._before, (numbers[0] * count, count)
        self._before = after
        if not math.isfinite(before[0]):
            return  # an earlier loss that is not finite has made the sum useless
        if after[1] < before[1] or (after[1] == before[1] and after[0] != before[0]):
            before = (0.0, 0.0)  # it was reset
        samples = after[1] - before[1]
        if samples <= 0:
            return
        loss = (after[0] - before[0]) / samples
        rounding = _ROUNDINGS * mean.epsilon * max(abs(after[0]), abs(before[0])) / samples
        if not abs(loss - self._newest) <= rounding:
            self._newest = loss
        self._slot.note_at(step, self._newest)


class _RunningMean:
    """A keras.metrics.Mean."""

    def __init__(self, metric: Any) -> None:
        self._metric = metric
        self._total = backend.VariableReader(metric.total)
        self._count = backend.VariableReader(metric.count)
        self.read_count = self._count.read
        self.epsilon: float = _EPSILON[metric.dtype]

    def is_of(self, model: Any) -> bool:
        """Returns whether the model still has it."""
        return any(each is self._metric for each in model.metrics)

    def read(self) -> list[Any]:
        """Returns its sum and its number of samples, each of every replica."""
        return self._total.read() + self._count.read()


def _running_means(model):
    """The metrics that may hold the mean of the loss, the likeliest first."""
    metrics = [each for each in model.metrics if type(each) is keras.metrics.Mean]
    metrics.sort(key=lambda metric: metric.name != names.LOSS)
    return [_RunningMean(each) for each in metrics if each.dtype in _EPSILON]


def _sums(numbers):
    half = len(numbers) // 2
    return sum(numbers[:half]), sum(numbers[half:])
