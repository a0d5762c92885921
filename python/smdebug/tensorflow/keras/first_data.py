"""`FirstData`: measures the inputs of a model, and what its losses are given, in the first saved
training steps, and the inputs also in the first that evaluate it. See `DataFacts` and
`LossInputFacts` in include/smdebug/core/run_facts.h.

Measured are models that Keras trains with its own `train_step`. Of a model with several outputs,
each loss is measured whose labels and predictions are known. Inputs that cannot be measured are
listed without numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from smdebug import _core
from smdebug.array_summary import ArraySummary
from smdebug.data_summary import MOST_ELEMENTS
from smdebug.measured_loss import LossBatch, MeasuredLoss
from smdebug.tensorflow import names
from smdebug.tensorflow.keras.data_parts import Output, Structure, input_position, outputs_of
from smdebug.tensorflow.keras.linear_layers import linear_layers
from smdebug.tensorflow.keras.loss_kinds import loss_kinds
from smdebug.tensorflow.keras.model_parts import first_layer, input_rank, last_activation
from smdebug.tensorflow.keras.step_backend import backend
from smdebug.tensorflow.keras.step_trace import StepTrace
from smdebug.tensorflow.private_names import has_mask

# The captured tensors that are measured are called so, and a number follows.
_MEASURED = "~smdebug_facts/"
_ROLES = (names.INPUTS, names.LABELS, names.PREDICTIONS)
# A model for tables may have an input for each column.
_MOST_OF_ROLE = 32
_Inputs = dict[str, tuple[str, ArraySummary]]  # name -> (first layer, summary)


def is_measured(name: str) -> bool:
    """Returns whether a captured tensor of that name is for FirstData only."""
    return name.startswith(_MEASURED)


class FirstData:
    """The first data of one model."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.steps: int = 0
        self.evaluation_steps: int = 0
        self._inputs: _Inputs = {}
        self._evaluation_inputs: _Inputs = {}
        self._losses: dict[int, MeasuredLoss] = {}  # by the number of the prediction
        # Of the last trace:
        self._has_weights = False
        # Of the classes, in the coming steps. None: there are none, or other weights as well.
        self.class_weights: np.ndarray | None = None
        self._forms: dict[str, Structure] = {}  # by role
        self._input_count = 0
        self._masked: list[bool] = []  # by prediction: whether a mask hides some targets
        self._uses_scores: list[bool] = []  # whether the loss finds the scores behind a softmax

    def tensors_of(self, trace: StepTrace) -> dict[str, Any]:
        """Returns the tensors of a trace to measure, by name, and notes what it shows of
        them."""
        predictions = trace.data(names.PREDICTIONS)
        self._has_weights = trace.has_weights
        self._masked = [has_mask(each) for each in predictions]
        self._uses_scores = [backend.uses_scores(each) for each in predictions]
        self._input_count = len(trace.data(names.INPUTS))
        self._forms = {role: trace.form(role) for role in _ROLES}
        return _measured_in(trace, _ROLES)

    def evaluation_tensors_of(self, trace: StepTrace) -> dict[str, Any]:
        """Returns the inputs in the trace of an evaluation, by name, if they have the form of those
        that the model was trained with."""
        form = self._forms.get(names.INPUTS)
        if form is None or trace.form(names.INPUTS) != form:
            return {}
        return _measured_in(trace, (names.INPUTS,))

    def add(self, captures: Mapping[str, Any], step: int, are_targets_told: bool) -> None:
        """Measures the tensors of a step, by name. Targets are summarized if `are_targets_told`."""
        self.steps += 1
        found = _by_role(captures)
        inputs = self._add_inputs(self._inputs, found[names.INPUTS], step)
        for output in self._outputs():
            labels = found[names.LABELS].get(output.label)
            predictions = found[names.PREDICTIONS].get(output.prediction)
            if labels is not None and predictions is not None and output.loss.function:
                self._add_loss(output, labels, predictions, inputs, step, are_targets_told)

    def add_evaluation(self, captures: Mapping[str, Any], step: int) -> None:
        """Measures the inputs of an evaluation, by name."""
        self.evaluation_steps += 1
        self._add_inputs(self._evaluation_inputs, _by_role(captures)[names.INPUTS], step)

    def inputs(self) -> list[_core.DataFacts]:
        """The facts of the inputs so far, in training steps."""
        return _facts_of(self._inputs)

    def evaluation_inputs(self) -> list[_core.DataFacts]:
        """The facts of the inputs so far, in steps that evaluate."""
        return _facts_of(self._evaluation_inputs)

    def losses(self, name: str) -> list[_core.LossFacts]:
        """The facts of the losses so far. `name` is that of their sum in the run."""
        return [
            _core.LossFacts(
                f"{each.name}_{name}" if each.name else name,
                each.loss.kind,
                reduction=self._reduction_of(each),
                ignored_label=each.loss.ignored_label,
                input=self._input_of(each),
            )
            for each in self._outputs()
        ]

    def _input_of(self, output):
        measured = self._losses.get(output.prediction)
        return None if measured is None else measured.facts()

    def _outputs(self) -> list[Output]:
        if not self._forms:
            return [Output("", kind, None, None) for kind in loss_kinds(self._model)]
        return outputs_of(self._model, self._forms[names.LABELS], self._forms[names.PREDICTIONS])

    def _hides_targets(self, output):
        # Positive weights of classes hide nothing.
        weights = self.class_weights
        is_hiding = self._has_weights and (weights is None or bool((weights <= 0).any()))
        return is_hiding or self._is_masked(output)

    def _is_masked(self, output):
        masked = self._masked if output.prediction is None else [self._masked[output.prediction]]
        return any(masked)

    def _reduction_of(self, output):
        has_weights = self._has_weights or self._is_masked(output)
        is_weighted = has_weights and output.loss.reduction == "mean"
        return "weighted_mean" if is_weighted else output.loss.reduction

    def _add_inputs(self, known, tensors, step):
        """Adds the inputs of a step to `known`. Returns the arrays that were measured."""
        arrays = {
            number: backend.first_samples(tensor, MOST_ELEMENTS)
            for number, tensor in tensors.items()
        }
        for number in range(self._input_count):
            self._add_input(known, number, tensors.get(number), arrays.get(number), step)
        return tuple(array for array in arrays.values() if array is not None)

    def _add_input(self, known, number, tensor, array, step):
        position = input_position(self._model, self._forms[names.INPUTS], number)
        name = _core.numbered_names(names.INPUTS, self._input_count)[number]
        if name not in known:
            layer = "" if position is None else first_layer(self._model, position)
            known[name] = (layer, ArraySummary())
        if array is None:
            return
        shape = list(tensor.shape)
        if array.ndim == 1 and position is not None and input_rank(self._model, position) == 2:
            # Keras gives its layers a number of each sample as a row.
            array, shape = array.reshape(-1, 1), [*shape, 1]
        known[name][1].add(array, shape, step)

    def _add_loss(self, output, labels, predictions, inputs, step, are_targets_told):
        given = backend.first_samples(predictions, MOST_ELEMENTS)
        targets = backend.first_samples(labels, MOST_ELEMENTS)
        if given is None or targets is None or not given.ndim:
            return
        has_scores = self._uses_scores[output.prediction]
        batch = LossBatch(
            given,
            targets,
            list(predictions.shape),
            _as_keras_aligns(list(labels.shape), list(predictions.shape)),
            last_activation(self._model, output.prediction),
            self._hides_targets(output),
            inputs,
            self.class_weights,
            linear_layers(self._model),
        )
        self._losses.setdefault(output.prediction, MeasuredLoss()).add(
            output.loss.of_probabilities() if has_scores else output.loss,
            batch,
            step,
            are_targets_told,
        )


def first_input_of(trace: StepTrace) -> dict[str, Any]:
    """Returns the first input in a trace, by the name under which it is captured."""
    return dict(list(_measured_in(trace, (names.INPUTS,)).items())[:1])


def _measured_in(trace: StepTrace, roles: tuple[str, ...]) -> dict[str, Any]:
    """The tensors of a trace with these roles, by the name under which they are captured."""
    return {
        f"{_MEASURED}{role}/{number}": tensor
        for role in roles
        for number, tensor in enumerate(trace.data(role)[:_MOST_OF_ROLE])
        if trace.can_leave(tensor)
    }


def _by_role(captures: Mapping[str, Any]) -> dict[str, dict[int, Any]]:
    found: dict[str, dict[int, Any]] = {role: {} for role in _ROLES}
    for name, tensor in captures.items():
        role, number = name.removeprefix(_MEASURED).split("/")
        found[role][int(number)] = tensor
    return found


def _facts_of(inputs: _Inputs) -> list[_core.DataFacts]:
    return [summary.facts(name, layer) for name, (layer, summary) in inputs.items()]


def _as_keras_aligns(target: list[int], shape: list[int]) -> list[int]:
    """The shape of the targets when Keras has added or removed a last dimension of 1."""
    if target == [*shape, 1] or [*target, 1] == shape:
        return shape
    return target
