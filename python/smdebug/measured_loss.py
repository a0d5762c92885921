"""`MeasuredLoss`: what a loss was given in the first saved training steps, as numpy arrays. See
`LossInputFacts` in include/smdebug/core/run_facts.h. It imports no framework."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smdebug import _core
from smdebug.array_summary import (
    ArraySummary,
    are_between,
    are_distributions,
    are_equal,
    labels_in,
    labels_of_one_hot,
    rows_of,
    samples_of,
    share_fractional,
    share_off_one,
    share_outside,
)
from smdebug.counted_padding import counted_padding
from smdebug.loss_summary import (
    BINARY,
    BINARY_OF_PROBABILITIES,
    DISTRIBUTIONS,
    ELEMENTWISE,
    RANGES,
    LossInput,
    LossSummary,
)
from smdebug.revealing_features import revealing_features
from smdebug.token_shift import token_shift

# A cross entropy that is given scores is another function than one that is given probabilities.
_OF_SCORES = {
    "binary_cross_entropy": "binary_cross_entropy_with_logits",
    "categorical_cross_entropy": "cross_entropy",
}
# Losses of the probabilities of all classes.
_OF_CLASSES = ("categorical_cross_entropy", "cross_entropy")


@dataclass
class LossKind:
    """One loss of a training."""

    kind: str  # the name of its class or function
    reduction: str = ""  # as in LossFacts
    function: str = ""  # as in LossInputFacts; empty: unknown
    is_sparse: bool = False  # whether its targets are class labels
    ignored_label: int | None = None

    def of_scores(self) -> LossKind:
        """The same loss, given scores."""
        return replace(self, function=_OF_SCORES.get(self.function, ""))

    @property
    def takes_scores(self) -> bool:
        """Whether it applies a softmax or a sigmoid itself."""
        return self.function in _OF_SCORES.values()

    def of_probabilities(self) -> LossKind:
        """The same loss, given probabilities."""
        functions = {scores: function for function, scores in _OF_SCORES.items()}
        return replace(self, function=functions.get(self.function, self.function))


@dataclass(frozen=True)
class LossBatch:
    """The arguments of a loss in one step: arrays of the first samples, and the shapes of all."""

    given: Any
    targets: Any
    shape: list[int]
    target_shape: list[int]  # as the loss compares them
    activation: str = ""  # the last one of the model; empty: unknown
    hides_targets: bool = False  # whether weights or a mask may hide some from the loss
    inputs: tuple[Any, ...] = ()  # of the model: arrays of its first samples
    class_weights: Any = None  # by the class: an array, or None
    linear_layers: int | None = None  # of the model, without an activation; None: unknown


class MeasuredLoss:
    """The loss of one output. Targets that weights or a mask may hide from it are unknown."""

    def __init__(self) -> None:
        self._summary: LossSummary | None = None  # once it was measured
        self._targets: ArraySummary | None = None

    def facts(self) -> _core.LossInputFacts | None:
        """Its arguments so far; None if it was not measured."""
        return self._summary and self._summary.facts(self._targets)

    def add(self, kind: LossKind, batch: LossBatch, step: int, are_targets_told: bool) -> None:
        """Measures a step. Targets are summarized if `are_targets_told`."""
        if self._summary is None or self._summary.kind != kind.function:  # it was compiled again
            self._summary, self._targets = LossSummary(kind.function), None
        count = min(len(batch.given), len(batch.targets)) if batch.targets.ndim else 0
        given, targets = batch.given[:count], batch.targets[:count]
        self._summary.add(_measured(kind, batch, given, targets))
        if are_targets_told and not batch.hides_targets:
            self._add_targets(kind, batch, given, targets, step)

    def _add_targets(self, kind, batch, given, targets, step):
        if self._targets is None:
            self._targets = ArraySummary()
        labels = _labels_of(kind, given, targets, batch.activation)
        shape = batch.target_shape
        if labels is not None:
            self._targets.add_classes(labels, targets.dtype.name, shape, kind.ignored_label)
        else:
            is_number = kind.function in ELEMENTWISE
            self._targets.add(targets.astype(np.float64) if is_number else targets, shape, step)


def _measured(kind: LossKind, batch: LossBatch, given: Any, targets: Any) -> LossInput:
    shape = batch.shape
    measured = LossInput(
        shape,
        target_shape=batch.target_shape,
        activation=batch.activation,
        class_weights=batch.class_weights,
        linear_layers=batch.linear_layers,
    )
    rows = rows_of(given)
    if kind.function in BINARY:
        measured.values = "probabilities" if are_between(rows, 0, 1) else _scores_if(rows)
    elif kind.function not in ELEMENTWISE:
        measured.shape = [int(np.prod(shape[:-1])), shape[-1]]
        measured.target_shape = None
        # Keras divides what it is given by its sum, so that positive numbers are shares.
        is_positive = rows.size and rows.min() > -1e-6 and not kind.takes_scores
        other = "" if is_positive else _scores_if(rows)
        measured.values = "probabilities" if are_distributions(rows) else other
    if batch.activation == "Softmax" and rows.shape[1] == 1 and are_distributions(rows):
        measured.are_outputs_equal = True
    if not batch.hides_targets:
        _measure_targets(measured, kind, batch, given, targets)
    return measured


def _measure_targets(
    measured: LossInput, kind: LossKind, batch: LossBatch, given: Any, targets: Any
) -> None:
    """Adds what targets tell that the loss counts."""
    for features in batch.inputs[:1]:
        count = min(len(features), len(targets)) if features.ndim else 0
        measured.revealing = revealing_features(features[:count], targets[:count])
    if kind.is_sparse:
        labels = targets.reshape(-1, 1)
        rows = rows_of(given)
        if kind.ignored_label is not None and labels.size:
            measured.ignored = float((labels == kind.ignored_label).mean())
        measured.fractional = share_fractional(targets)
        measured.target_shift = token_shift(batch.inputs, targets, kind.ignored_label)
        measured.padding = counted_padding(batch.inputs, targets, kind.ignored_label)
        measured.are_outputs_equal |= are_equal(rows, labels[: len(rows)])
        return
    samples = samples_of(targets)
    measured.are_outputs_equal |= are_equal(samples_of(given), samples)
    if kind.function in _OF_CLASSES and list(targets.shape) == list(given.shape):
        measured.outside = share_off_one(targets)
    bounds = (0.0, 1.0) if kind.function in BINARY else RANGES.get(measured.activation)
    if not (kind.function in BINARY or kind.function in ELEMENTWISE) or not samples.size:
        return
    if np.isfinite(samples).all():
        measured.target_range = float(samples.min()), float(samples.max())
    if bounds is not None:
        measured.outside = share_outside(samples, bounds)
    if kind.function == BINARY_OF_PROBABILITIES and list(targets.shape) == list(given.shape):
        rows = rows_of(given)
        if rows.shape[1] > 1 and are_distributions(rows):
            measured.values = DISTRIBUTIONS
            measured.outside = max(measured.outside or 0.0, share_off_one(targets) or 0.0)


def _labels_of(kind: LossKind, given: Any, targets: Any, activation: str) -> Any:
    """The class labels that targets are; None if they are no classes, or it is unknown."""
    if kind.is_sparse:
        return labels_in(targets)
    has_one_output = given.ndim == 1 or (given.ndim == 2 and given.shape[1] == 1)
    if kind.function in BINARY:
        return labels_in(targets) if has_one_output else None
    if kind.function in ELEMENTWISE:
        # Whole numbers are often no classes. Where the output is a share, they are.
        is_share = has_one_output and activation in ("Sigmoid", "Softmax")
        return labels_in(targets) if is_share else None
    return labels_of_one_hot(targets)


def _scores_if(rows):
    """The kind of elements that are no probabilities: unknown if some are not finite."""
    return "scores" if are_between(rows, -np.inf, np.inf) else ""
