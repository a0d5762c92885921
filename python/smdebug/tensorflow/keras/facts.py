"""`KerasFacts`: reports what a training with Keras is made of: parameters, the optimizer, layers,
the loss and the first data. See include/smdebug/core/run_facts.h.

They are gathered in the first training step and in saved ones, and reported if they differ from
those before. Of a model with a `train_step` of the script, the parameters and layers are known, and
of its losses what their operations show, as of a loop with a tape. Nothing else is known: the step
may use optimizers and data in any way.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from smdebug import _core
from smdebug.hook_arguments import encodable
from smdebug.log import get_logger
from smdebug.loss_summary import EVALUATIONS_REPORTED_AFTER, MEASURED_STEPS, REPORTED_AFTER
from smdebug.tensorflow import names
from smdebug.tensorflow.keras.first_data import FirstData, first_input_of, is_measured
from smdebug.tensorflow.keras.layer_names import LayerNames
from smdebug.tensorflow.keras.metric_watches import MetricWatch, WatchingCallbacks
from smdebug.tensorflow.keras.model_parts import (
    is_of_keras,
    layer_settings,
    learning_rate,
    optimizer_settings,
)
from smdebug.tensorflow.keras.step_trace import StepTrace
from smdebug.tensorflow.private_names import scaled_optimizer
from smdebug.tensorflow.written_losses import WrittenLosses

_logger = get_logger()

_MOST_CLASSES = 100_000


class _ModelFacts:
    """The facts of one model."""

    def __init__(self, model: Any, layer_names: LayerNames) -> None:
        self.model = model
        self.layer_names = layer_names
        self.data: FirstData = FirstData(model)
        self.is_own_step: bool = False  # whether train_step and compute_loss are Keras's
        self.trained: list[Any] | None = None  # the variables of the optimizer; None: unknown
        self.modes: dict[int, bool] = {}  # by the id of a layer

    def trained_ids(self) -> set[int]:
        """The ids of the variables that the training changes by gradients."""
        trained = self.model.trainable_variables if self.trained is None else self.trained
        return {id(each) for each in trained}


class KerasFacts:
    """Reports the facts of all models of a hook to `session`. No method raises."""

    def __init__(self, session: _core.Session) -> None:
        self.written: WrittenLosses = WrittenLosses()
        self.layers_outside: list[str] = []  # see LoopFacts
        self._callbacks = WatchingCallbacks((), False)  # of the last fit
        self._metric_watches: list[MetricWatch] = []
        self._session = session
        self._models: dict[int, _ModelFacts] = {}  # by the id of the model
        self._class_weights: dict[int, np.ndarray | None] = {}  # likewise
        self._described: object = None  # the state that was described last
        self._steps = 0  # in which data were measured
        self._evaluation_steps = 0
        self._has_failed = False

    def wants_data(self) -> bool:
        """Returns whether the coming training step, if it is saved, is measured."""
        return self._steps < MEASURED_STEPS and not self._has_failed

    def wants_evaluation(self, model: Any) -> bool:
        """Returns whether the coming evaluation step of a model, if it is saved, is measured: one
        of the first, of a model that trains."""
        known = self._models.get(id(model))
        is_known = known is not None and known.is_own_step and known.data.steps > 0
        return is_known and self._evaluation_steps < MEASURED_STEPS and not self._has_failed

    def note_model(self, model: Any, layer_names: LayerNames, step: Any) -> None:
        """Notes a model that trains, and its train_step before ours replaced it."""
        if id(model) in self._models:
            return
        known = self._models[id(model)] = _ModelFacts(model, layer_names)
        loss = getattr(type(model), "compute_loss", None)
        known.is_own_step = is_of_keras(getattr(step, "__func__", step)) and is_of_keras(loss)

    def note_trace(self, model: Any) -> None:
        """Notes the variables that a step, which was just traced or run, updates."""
        known = self._models.get(id(model))
        if known is not None:
            known.trained = list(model.trainable_variables)

    def tensors_of(self, model: Any, trace: StepTrace) -> dict[str, Any]:
        """Returns the tensors of a trace that are measured, by name."""
        known = self._models.get(id(model))
        if known is None or not self.wants_data():
            return {}
        known.modes |= trace.modes
        if known.is_own_step:
            known.data.class_weights = self._class_weights.get(id(model))
            return known.data.tensors_of(trace)
        return first_input_of(trace) if self.written.wants_batch else {}

    def evaluation_tensors_of(self, model: Any, trace: StepTrace) -> dict[str, Any]:
        """Returns the inputs in the trace of an evaluation that are measured, by name."""
        if not self.wants_evaluation(model):
            return {}
        return self._models[id(model)].data.evaluation_tensors_of(trace)

    def take(self, model: Any, captures: Mapping[str, Any], is_in_fit: bool) -> dict[str, Any]:
        """Measures the captured tensors of a step, which is the open one. Returns the others.
        Outside of `fit`, a script chooses the batches: the labels of a batch may be alike on
        purpose, as for the discriminator of a GAN."""
        own, rest = _split(captures)
        if own and self.wants_data():
            self._steps += 1
            known = self._models[id(model)]
            with _unknown_data_ignored():
                if self.written.wants_batch:
                    self.written.note_batch(int(next(iter(own.values())).shape[0]))
                if known.is_own_step:
                    known.data.add(own, self._session.step[0], is_in_fit)
        return rest

    def take_evaluation(self, model: Any, captures: Mapping[str, Any]) -> dict[str, Any]:
        """Does the same for a step that evaluates a model."""
        own, rest = _split(captures)
        if own and self.wants_evaluation(model):
            self._evaluation_steps += 1
            with _unknown_data_ignored():
                self._models[id(model)].data.add_evaluation(own, self._session.step[0])
        return rest

    def note_class_weights(self, model: Any, weights: np.ndarray | None) -> None:
        """Notes the weights of the classes in the coming `fit` of a model; None if there are none,
        or other weights as well."""
        self._class_weights[id(model)] = weights

    def note_callbacks(self, callbacks: Iterable[Any], has_validation: bool) -> None:
        """Notes the callbacks of the coming `fit`, and whether it evaluates the model."""
        self._callbacks = WatchingCallbacks(callbacks, has_validation)
        self._metric_watches = self._callbacks.watches()

    def end_epoch(self) -> None:
        """Notes what the callbacks, which are called before, chose in the epoch."""
        with _unknown_data_ignored():
            self._metric_watches = self._callbacks.watches()

    def end_step(self, is_saved: bool, is_training: bool = True) -> None:
        """Reports the facts of the step that ends now, if they are new."""
        is_due = is_saved or self._described is None
        if is_saved and is_training:
            self.written.end_step()
        has_facts = self._models or self.written.has_found or self.layers_outside
        if self._has_failed or not is_due or not has_facts:
            return
        try:
            state = self._state()
            if state != self._described:
                self._described = state
                self._session.set_facts(self._facts())
        except Exception as error:  # a layer of a script may lack what those of Keras have
            self._has_failed = True
            _logger.warning(
                "the model is not described to rules and to 'smdebug show --model': %r", error
            )

    def _state(self):
        """The state that the facts depend on, cheap to compare."""
        return [self.written.version, len(self.layers_outside), self._metric_watches] + [
            (
                key,
                id(getattr(known.model, "optimizer", None)),
                id(getattr(known.model, "loss", None)),
                len(known.trained_ids()),
                learning_rate(getattr(known.model, "optimizer", None)) == 0,
                sum(known.data.steps >= steps for steps in REPORTED_AFTER),
                sum(known.data.evaluation_steps >= steps for steps in EVALUATIONS_REPORTED_AFTER),
            )
            for key, known in self._models.items()
        ]

    def _facts(self):
        parameters: dict[str, _core.ParameterFacts] = {}
        optimizers, modules, losses = [], [], []
        inputs: list[_core.DataFacts] = []
        evaluation_inputs: list[_core.DataFacts] = []
        for number, known in enumerate(self._models.values()):
            group = None
            if known.is_own_step and getattr(known.model, "optimizer", None) is not None:
                group = (len(optimizers), 0)
                optimizers.append(_optimizer_facts(known))
                name = f"{names.LOSS}_{number}" if number else names.LOSS
                losses += known.data.losses(name)
                inputs += known.data.inputs()
                evaluation_inputs += known.data.evaluation_inputs()
            for each in _parameter_facts(known, group):
                # Of models that share a layer, the one that trains it counts.
                if each.tensor not in parameters or each.is_trainable:
                    parameters[each.tensor] = each
            modules += _module_facts(known)
        return _core.RunFacts(
            parameters=list(parameters.values()),
            optimizers=optimizers,
            modules=modules,
            losses=self.written.added_to(losses),
            inputs=inputs,
            evaluation_inputs=evaluation_inputs,
            loop=_core.LoopFacts(
                not_finite_by=self.written.not_finite_by,
                layers_outside=self.layers_outside,
                metric_watches=[
                    _core.MetricWatchFacts(**each._asdict()) for each in self._metric_watches
                ],
            ),
        )


def weights_by_class(class_weight: Any) -> np.ndarray | None:
    """The weights of all classes, given the `class_weight` of `fit`; None if it is no such. Keras
    gives the other classes the weight 1."""
    if not isinstance(class_weight, Mapping) or not class_weight:
        return None
    classes = [int(each) for each in class_weight]
    if min(classes) < 0 or max(classes) >= _MOST_CLASSES:
        return None
    weights = np.ones(max(classes) + 1)
    for number, weight in class_weight.items():
        weights[int(number)] = float(weight)
    return weights


def _split(captures: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the tensors that are for FirstData only, and the others."""
    own = {name: tensor for name, tensor in captures.items() if is_measured(name)}
    return own, {name: tensor for name, tensor in captures.items() if name not in own}


@contextlib.contextmanager
def _unknown_data_ignored() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # data of another library
        _logger.debug("the first data of a model are unknown: %r", error)


def _parameter_facts(known, group):
    trained = known.trained_ids()
    return [
        _core.ParameterFacts(
            _core.layer_weight_name(layer, names.variable_name(variable)),
            is_trainable=id(variable) in trained,
            dtype=getattr(variable.dtype, "name", str(variable.dtype)),
            shape=[int(size) for size in variable.shape],
            updated_by=group if id(variable) in trained else None,
        )
        for layer, variable in known.layer_names.weights()
    ]


def _optimizer_facts(known):
    optimizer = known.model.optimizer
    settings = optimizer_settings(optimizer)
    rate = learning_rate(optimizer)
    if rate is not None:
        settings["learning_rate"] = rate
    return _core.OptimizerFacts(
        encodable(type(scaled_optimizer(optimizer)).__name__),
        [_core.OptimizerGroupFacts(parameters=len(known.trained_ids()), settings=settings)],
        keeps_gradients=False,  # each step has a tape of its own
        discards_gradients=False,
    )


def _module_facts(known):
    root = (encodable(known.model.name), known.model)
    return [
        _core.ModuleFacts(
            name,
            encodable(type(layer).__name__),
            is_training=_mode_of(layer, known.modes),
            settings=layer_settings(layer),
        )
        for name, layer in [root, *known.layer_names.named_layers()]
    ]


def _mode_of(layer, modes):
    """Whether a layer trains. A frozen BatchNormalization never does. Others may be in evaluation
    mode on purpose: only `True` is reported of them."""
    if type(layer).__name__ == "BatchNormalization" and not layer.trainable:
        return False
    return True if modes.get(id(layer)) else None
