"""`FirstData`: measures the inputs of a model, and what its loss is given, in the first saved
training steps. See `DataFacts` and `LossInputFacts` in include/smdebug/core/run_facts.h.

Measured are models that Keras trains with its own `train_step` and that have one output and one
loss. Targets that weights or a mask may hide from the loss are unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    share_outside,
)
from smdebug.data_summary import MOST_ELEMENTS
from smdebug.loss_summary import BINARY, ELEMENTWISE, RANGES, LossInput, LossSummary
from smdebug.tensorflow import names
from smdebug.tensorflow.keras.loss_kinds import LossKind, loss_kinds
from smdebug.tensorflow.keras.model_parts import first_layer, last_activation
from smdebug.tensorflow.keras.step_backend import backend
from smdebug.tensorflow.keras.step_trace import StepTrace
from smdebug.tensorflow.private_names import has_mask

# The captured tensors that are measured are called so, and a number follows.
_MEASURED = "~smdebug_facts/"
_ROLES = (names.INPUTS, names.LABELS, names.PREDICTIONS)
_MOST_INPUTS = 4


def is_measured(name: str) -> bool:
    """Returns whether a captured tensor of that name is for FirstData only."""
    return name.startswith(_MEASURED)


class FirstData:
    """The first data of one model."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.steps: int = 0
        self._inputs: dict[str, tuple[str, ArraySummary]] = {}  # name -> (first layer, summary)
        self._loss: LossSummary | None = None  # once it was measured
        self._targets: ArraySummary | None = None
        # Of the last trace:
        self._hides_targets = False  # whether weights or a mask hide some from the loss
        self._are_targets_told = False
        self._input_count = 0
        self._are_inputs_named = False  # several in a dict, in any order
        self._uses_scores = False  # whether the loss finds the scores behind a softmax

    def tensors_of(self, trace: StepTrace) -> dict[str, Any]:
        """Returns the tensors of a trace to measure, by name, and notes what it shows of
        them."""
        predictions = trace.data(names.PREDICTIONS)
        self._hides_targets = trace.has_weights or any(map(has_mask, predictions))
        self._uses_scores = any(map(backend.uses_scores, predictions))
        self._input_count = len(trace.data(names.INPUTS))
        self._are_inputs_named = trace.has_named_inputs and self._input_count > 1
        return {
            f"{_MEASURED}{role}/{number}": tensor
            for role in _ROLES
            for number, tensor in enumerate(trace.data(role)[:_MOST_INPUTS])
            if trace.can_leave(tensor)
        }

    def add(self, captures: Mapping[str, Any], step: int, are_targets_told: bool) -> None:
        """Measures the tensors of a step, by name. Targets are summarized if `are_targets_told`."""
        self.steps += 1
        self._are_targets_told = are_targets_told and not self._hides_targets
        found: dict[str, dict[int, Any]] = {role: {} for role in _ROLES}
        for name, tensor in captures.items():
            role, number = name.removeprefix(_MEASURED).split("/")
            found[role][int(number)] = tensor
        for number, tensor in sorted(found[names.INPUTS].items()):
            self._add_input(number, tensor, step)
        labels, predictions = found[names.LABELS], found[names.PREDICTIONS]
        if len(labels) == len(predictions) == 1:
            self._add_loss(labels[0], predictions[0], step)

    def inputs(self) -> list[_core.DataFacts]:
        """The facts of the inputs so far."""
        return [summary.facts(name, layer) for name, (layer, summary) in self._inputs.items()]

    def losses(self, name: str) -> list[_core.LossFacts]:
        """The facts of the losses so far. `name` is that of their sum in the run."""
        kinds = loss_kinds(self._model)
        measured = self._loss.facts(self._targets) if self._loss and len(kinds) == 1 else None
        return [
            _core.LossFacts(
                name,
                each.kind,
                reduction=self._reduction_of(each),
                ignored_label=each.ignored_label,
                input=measured,
            )
            for each in kinds
        ]

    def _reduction_of(self, kind):
        is_weighted = self._hides_targets and kind.reduction == "mean"
        return "weighted_mean" if is_weighted else kind.reduction

    def _add_input(self, number, tensor, step):
        layer = "" if self._are_inputs_named else first_layer(self._model, number)
        array = backend.first_samples(tensor, MOST_ELEMENTS) if layer else None
        if array is None:
            return
        name = _core.numbered_names(names.INPUTS, self._input_count)[number]
        if name not in self._inputs:
            self._inputs[name] = (layer, ArraySummary())
        self._inputs[name][1].add(array, list(tensor.shape), step)

    def _add_loss(self, labels, predictions, step):
        kinds = loss_kinds(self._model)
        if len(kinds) != 1 or not kinds[0].function:
            return
        given = backend.first_samples(predictions, MOST_ELEMENTS)
        targets = backend.first_samples(labels, MOST_ELEMENTS)
        if given is None or targets is None or not given.ndim:
            return
        kind = kinds[0].of_probabilities() if self._uses_scores else kinds[0]
        if self._loss is None or self._loss.kind != kind.function:  # it was compiled again
            self._loss, self._targets = LossSummary(kind.function), None
        shapes = list(predictions.shape), list(labels.shape)
        count = min(len(given), len(targets)) if targets.ndim else 0
        given, targets = given[:count], targets[:count]
        self._loss.add(self._measured(kind, given, targets, shapes))
        if self._are_targets_told:
            self._add_targets(kind, given, targets, shapes[1], step)

    def _measured(self, kind, given, targets, shapes):
        activation = last_activation(self._model)
        shape, target_shape = shapes
        measured = LossInput(
            shape, target_shape=_as_keras_aligns(target_shape, shape), activation=activation
        )
        rows = rows_of(given)
        if kind.function in BINARY:
            measured.values = "probabilities" if are_between(rows, 0, 1) else _scores_if(rows)
        elif kind.function not in ELEMENTWISE:
            measured.shape = [int(np.prod(shape[:-1])), shape[-1]]
            measured.target_shape = None
            # Keras divides what it is given by its sum.
            is_positive = rows.size and rows.min() > -1e-6 and not kind.takes_scores
            other = "" if is_positive else _scores_if(rows)
            measured.values = "probabilities" if are_distributions(rows) else other
        if activation == "Softmax" and rows.shape[1] == 1 and are_distributions(rows):
            measured.are_outputs_equal = True
        if not self._hides_targets:
            _measure_targets(measured, kind, given, targets)
        return measured

    def _add_targets(self, kind, given, targets, shape, step):
        if self._targets is None:
            self._targets = ArraySummary()
        labels = _labels_of(kind, given, targets, last_activation(self._model))
        if labels is not None:
            self._targets.add_classes(labels, targets.dtype.name, shape, kind.ignored_label)
        else:
            is_number = kind.function in ELEMENTWISE
            self._targets.add(targets.astype(np.float64) if is_number else targets, shape, step)


def _measure_targets(measured: LossInput, kind: LossKind, given: Any, targets: Any) -> None:
    """Adds what targets tell that the loss counts."""
    if kind.is_sparse:
        labels = targets.reshape(-1, 1)
        rows = rows_of(given)
        if kind.ignored_label is not None and labels.size:
            measured.ignored = float((labels == kind.ignored_label).mean())
        measured.are_outputs_equal |= are_equal(rows, labels[: len(rows)])
        return
    samples = samples_of(targets)
    measured.are_outputs_equal |= are_equal(samples_of(given), samples)
    bounds = (0.0, 1.0) if kind.function in BINARY else RANGES.get(measured.activation)
    if not (kind.function in BINARY or kind.function in ELEMENTWISE) or not samples.size:
        return
    if np.isfinite(samples).all():
        measured.target_range = float(samples.min()), float(samples.max())
    if bounds is not None:
        measured.outside = share_outside(samples, bounds)


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


def _as_keras_aligns(target: list[int], shape: list[int]) -> list[int]:
    """The shape of the targets when Keras has added or removed a last dimension of 1."""
    if target == [*shape, 1] or [*target, 1] == shape:
        return shape
    return target
