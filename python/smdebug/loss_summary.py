"""`LossSummary`: what a loss was given in the first saved steps. See `LossInputFacts` in
include/smdebug/core/run_facts.h. It imports no framework."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from smdebug import _core
from smdebug.data_summary import DataSummary
from smdebug.token_shift import NO_SHIFT

_Value = TypeVar("_Value")

MEASURED_STEPS = 10
REPORTED_AFTER = (3, 5, MEASURED_STEPS)  # steps
# The inputs of evaluations, which may have one batch.
EVALUATIONS_REPORTED_AFTER = (1, MEASURED_STEPS)
# The results that an activation can have.
RANGES = {
    "Relu": (0.0, float("inf")),
    "Sigmoid": (0.0, 1.0),
    "Softmax": (0.0, 1.0),
    "Tanh": (-1.0, 1.0),
}
# Losses of differences, and of probabilities of one class against the other.
ELEMENTWISE = ("mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss")
BINARY_OF_PROBABILITIES = "binary_cross_entropy"
BINARY = (BINARY_OF_PROBABILITIES, "binary_cross_entropy_with_logits")
# The values of rows that sum to 1, although the loss takes each number for itself.
DISTRIBUTIONS = "distributions"


@dataclass
class LossInput:
    """The input of one loss in one step. None: unknown."""

    shape: list[int]
    target_shape: list[int] | None = None
    activation: str = ""  # what computed it: "Softmax", "Linear", ...
    values: str = ""  # "probabilities", "distributions", "log_probabilities", "scores"
    ignored: float | None = None  # the share of labels that are ignored
    fractional: float | None = None  # the share of class labels that are no whole numbers
    padding: tuple[float, int | None] | None = None  # of counted_padding.py
    are_outputs_equal: bool = False  # of samples whose targets differ
    outside: float | None = None  # the share of targets that the activation cannot give
    target_range: tuple[float, float] | None = None
    target_shift: int | None = None  # of token_shift.py
    revealing: set[int] | None = None  # of revealing_features.py
    linear_layers: int | None = None  # without an activation; 0: the model is not linear
    sees_later: bool | None = None  # whether its attention uses the tokens that it predicts
    has_softmax_of_one: bool | None = None  # over a single score
    has_softmax_of_batch: bool | None = None  # over the samples
    mixes_places: bool | None = None  # whether a view has mixed places and classes
    ignored_tokens: int | None = None  # of ignored_tokens.py
    class_weights: np.ndarray | None = None
    divergence_weight: float | None = None  # of a variational autoencoder


class LossSummary:
    """The inputs of a loss over the steps. `kind` is the function that computes it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._inputs: list[LossInput] = []

    @property
    def steps(self) -> int:
        """The number of steps so far."""
        return len(self._inputs)

    def add(self, measured: LossInput) -> None:
        """Adds the input of a further step."""
        self._inputs.append(measured)

    def facts(self, targets: DataSummary | None) -> _core.LossInputFacts:
        """The inputs so far, as far as they agree, with the `targets` of the same steps."""
        inputs = self._inputs
        ranges = [each.target_range for each in inputs if each.target_range is not None]
        return _core.LossInputFacts(
            self.kind,
            steps=self.steps,
            shape=inputs[-1].shape,
            target_shape=_common([each.target_shape for each in inputs]),
            activation=_same([each.activation for each in inputs]),
            values=_same([each.values for each in inputs]),
            ignored=_least([each.ignored for each in inputs]),
            fractional=_largest([each.fractional for each in inputs]),
            padding=_least([each.padding and each.padding[0] for each in inputs]),
            padding_label=_label([each.padding and each.padding[1] for each in inputs]),
            equal_outputs=sum(each.are_outputs_equal for each in inputs),
            outside=_least([each.outside for each in inputs]),
            target_range=_hull(ranges),
            target_shift=_shift([each.target_shift for each in inputs]),
            revealing_feature=_revealing([each.revealing for each in inputs]),
            linear_layers=_agreed([each.linear_layers for each in inputs]) or None,
            sees_later=_agreed([each.sees_later for each in inputs]),
            has_softmax_of_one=_agreed([each.has_softmax_of_one for each in inputs]),
            has_softmax_of_batch=_agreed([each.has_softmax_of_batch for each in inputs]),
            mixes_places=_agreed([each.mixes_places for each in inputs]),
            ignored_tokens=_fewest([each.ignored_tokens for each in inputs]),
            class_weights=weights_of_extremes(
                inputs[-1].class_weights, {} if targets is None else targets.label_counts
            ),
            divergence_weight=_least([each.divergence_weight for each in inputs]),
            targets=None if targets is None else targets.facts(),
        )


def weights_of_extremes(
    weights: np.ndarray | None, counts: Mapping[int, int]
) -> tuple[float, float] | None:
    """The weights of the most and of the least frequent class."""
    if weights is None or len(counts) < 2:
        return None
    most, least = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
    if not (0 <= most < len(weights) and 0 <= least < len(weights)):
        return None
    return float(weights[most]), float(weights[least])


def _agreed(values: list[_Value | None]) -> _Value | None:
    """The value of all steps in which it is known."""
    known = {value for value in values if value is not None}
    return known.pop() if len(known) == 1 else None


def _fewest(counts: list[int | None]) -> int | None:
    return min((count for count in counts if count is not None), default=None)


def _same(texts: list[str]) -> str:
    return texts[0] if len(set(texts)) == 1 else ""


def _shift(shifts: list[int | None]) -> int | None:
    """The shift that all steps have whose tokens are known."""
    known = set(shifts) - {None}
    return known.pop() if len(known) == 1 and NO_SHIFT not in known else None


def _label(labels: list[int | None]) -> int | None:
    return labels[0] if len(set(labels)) == 1 else None


def _revealing(features: list[set[int] | None]) -> int | None:
    """The first of the features that equal the targets in all steps in which that is known."""
    known = [each for each in features if each is not None]
    return min(set.intersection(*known), default=None) if known else None


def _common(shapes: list[list[int] | None]) -> list[int] | None:
    """The last shape, if all are known and have as many dimensions."""
    sizes = {None if shape is None else len(shape) for shape in shapes}
    return shapes[-1] if len(sizes) == 1 else None


def _hull(ranges: list[tuple[float, float]]) -> tuple[float, float] | None:
    if not ranges or not all(map(math.isfinite, sum(ranges, ()))):
        return None
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _least(shares: list[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return min(known) if len(known) == len(shares) else None


def _largest(shares: list[float | None]) -> float | None:
    return max((share for share in shares if share is not None), default=None)
