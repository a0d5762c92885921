"""`DataSummary`: summarizes the data of the first saved steps: an input of a model, or the targets
of a loss. See `DataFacts` in include/smdebug/core/run_facts.h.

It takes numbers that an adapter has computed from its tensors, and imports no framework.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

import numpy as np

from smdebug import _core

MOST_ELEMENTS = 1 << 18  # of a tensor that are measured
MOST_FEATURES = 1 << 14
_FEWEST_LABELS = 8  # of a step
_FEWEST_STEPS = 3  # with so many labels, to tell their order


class DataSummary:
    """Adds up the data of several steps, which may have different numbers of samples."""

    def __init__(self) -> None:
        self._steps = 0
        self._dtype = ""
        self._shape: list[int] = []
        self._not_finite: int | None = None  # the first step with NaN or infinity
        # Of each feature, over all samples:
        self._samples = 0
        self._means: np.ndarray | None = None
        self._squares: np.ndarray | None = None  # sums of squared distances from the mean
        self._low, self._high = math.inf, -math.inf
        self._first: tuple[bytes, ...] | None = None  # identifies the numbers of the first step
        self._repeats = 0
        self._labels: Counter[int] = Counter()
        # Of the steps with enough labels: their number, their labels, and the diversity within a
        # step, times its labels.
        self._counted_steps = self._counted_labels = 0
        self._diversity = 0.0
        self._have_mixed_channels: bool | None = None  # the images of all steps

    @property
    def is_finite(self) -> bool:
        """Whether neither NaN nor infinity was found so far."""
        return self._not_finite is None

    @property
    def label_counts(self) -> Mapping[int, int]:
        """How often each label has occurred."""
        return self._labels

    def begin_step(self, dtype: str, shape: list[int]) -> None:
        """Begins the data of a further step."""
        self._steps += 1
        self._dtype, self._shape = dtype, shape

    def describe_once(self, dtype: str, shape: list[int]) -> None:
        """Notes the form of data that are not measured, unless it is known."""
        if not self._shape:
            self._dtype, self._shape = dtype, shape

    def set_not_finite(self, step: int) -> None:
        """Notes that the data of a step, measured or not, contain NaN or infinity."""
        if self._not_finite is None:
            self._not_finite = step

    def add_numbers(
        self,
        samples: int,
        means: np.ndarray,
        variances: np.ndarray,
        extremes: tuple[float, float],
    ) -> None:
        """Adds the means and variances of the features of so many samples, in float64, and the
        smallest and largest element."""
        own = (means.tobytes(), variances.tobytes())
        self._first = self._first or own
        self._repeats += self._means is not None and own == self._first
        self.add_range(*extremes)
        if self._means is None or self._squares is None:
            self._samples, self._means, self._squares = samples, means, variances * samples
        elif len(self._means) == len(means):
            self._merge(samples, means, variances, self._means, self._squares)

    def add_range(self, low: float, high: float) -> None:
        """Adds the smallest and the largest element of a step, of numbers or of indices."""
        self._low, self._high = min(self._low, low), max(self._high, high)

    def add_labels(self, count_of: Mapping[int, int], ignored: int | None = None) -> None:
        """Adds the labels of a step: label -> how often it occurs. `ignored` does not count."""
        count_of = {label: count for label, count in count_of.items() if label != ignored}
        if not count_of:
            return
        total = sum(count_of.values())
        self._labels.update(count_of)
        if total >= _FEWEST_LABELS:
            self._counted_steps += 1
            self._counted_labels += total
            self._diversity += total * _diversity(count_of)

    def add_channels(self, are_mixed: bool) -> None:
        """Adds whether the channels of the images of a step are mixed."""
        self._have_mixed_channels = are_mixed and self._have_mixed_channels is not False

    def facts(self, tensor: str = "", received_by: str = "") -> _core.DataFacts:
        """The data so far, under the name of their tensor."""
        mean, deviation, median, largest = self._numbers()
        return _core.DataFacts(
            tensor,
            received_by=received_by,
            dtype=self._dtype,
            steps=self._steps,
            repeats=self._repeats,
            shape=self._shape,
            mean=mean,
            deviation=deviation,
            low=None if math.isinf(self._low) else self._low,
            high=None if math.isinf(self._high) else self._high,
            median_feature_deviation=median,
            largest_feature_deviation=largest,
            not_finite=self._not_finite,
            labels=sum(self._labels.values()),
            classes=len(self._labels),
            largest_class=max(self._labels.values(), default=0),
            smallest_class=min(self._labels.values(), default=0),
            label_order=self._label_order(),
            has_mixed_channels=self._have_mixed_channels,
        )

    def _label_order(self) -> float | None:
        """The share of the labels' diversity that lies between the steps: M. Nei, "Analysis of gene
        diversity in subdivided populations", 1973. Below 0 by chance, which counts as 0."""
        if self._counted_steps < _FEWEST_STEPS or len(self._labels) < 2:
            return None
        within = self._diversity / self._counted_labels
        return max(1 - within / _diversity(self._labels), 0.0)

    def _merge(self, samples, means, variances, own_means, own_squares):
        """Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
        variances", 1979."""
        total = self._samples + samples
        difference = means - own_means
        self._squares = (
            own_squares + variances * samples + difference**2 * (self._samples * samples / total)
        )
        self._means = own_means + difference * (samples / total)
        self._samples = total

    def _numbers(self) -> tuple[float | None, float | None, float | None, float | None]:
        """(mean, standard deviation, of the features their median and largest)."""
        if self._means is None or self._squares is None:
            return None, None, None, None
        variances = self._squares / self._samples
        mean = float(self._means.mean())
        deviation = math.sqrt(float((variances + (self._means - mean) ** 2).mean()))
        deviations = np.sort(np.sqrt(variances[variances > 0]))
        if len(self._means) < 2 or not len(deviations):
            return mean, deviation, None, None
        return mean, deviation, float(deviations[(len(deviations) - 1) // 2]), float(deviations[-1])


def _diversity(count_of: Mapping[int, int]) -> float:
    """The probability that two of the labels, drawn without replacement, are of different
    classes."""
    total = sum(count_of.values())
    equal = sum(count * (count - 1) for count in count_of.values())
    return 1 - equal / (total * (total - 1))
