"""`WatchedModel`: everything that a hook does with one model of Keras."""

from collections.abc import Sequence
from typing import Any

from smdebug.tensorflow import names
from smdebug.tensorflow.capture_sink import CaptureSink, PlanView, attempt
from smdebug.tensorflow.keras.activations import activation_kind, has_inner_input
from smdebug.tensorflow.keras.layer_names import LayerNames
from smdebug.tensorflow.keras.step_function import BatchObserver, StepFunction
from smdebug.tensorflow.keras.step_trace import TraceSettings, current_trace
from smdebug.tensorflow.keras.tensor_saver import TensorSaver
from smdebug.tensorflow.optimizers import WatchedOptimizer, optimizer_variables
from smdebug.tensorflow.private_names import as_traced, left_alone
from smdebug.tensorflow.replaced_method import ReplacedMethod
from smdebug.tensorflow.replica_sessions import ReplicaSessions
from smdebug.tensorflow.variable_values import VariableValues


class WatchedModel:
    """Puts the hook into a model and takes it out again; functions that were traced stay.

    `observer` takes what the model's step functions report.
    """

    def __init__(
        self,
        observer: BatchObserver,
        sink: CaptureSink,
        plan: PlanView,
        session: ReplicaSessions,
        saver: TensorSaver,
        model: Any,
    ) -> None:
        self.model = model
        self.layer_names = LayerNames(model, plan.mark_edited)
        self._sink = sink
        self._plan = plan
        self._session = session
        self._weights = VariableValues(session, plan.is_bias)
        self._optimizer_variables = VariableValues(session)
        self._optimizer: WatchedOptimizer | None = None
        settings = TraceSettings(model, self.layer_names, plan, session, saver)
        self._functions = [
            StepFunction(observer, sink, saver, settings, kind)
            for kind in ("train", "test", "predict")
        ]
        self._is_installed = False
        self._loss: ReplacedMethod | None = None  # in place of the model's compute_loss

    def install(self) -> None:
        """Replaces what reports the model's steps. A second call only follows a new optimizer."""
        self._watch_optimizer()
        if self._is_installed:
            return
        self._is_installed = True
        for function in self._functions:
            function.install()
        self._watch_loss()

    def uninstall(self) -> None:
        """Restores what `install` replaced."""
        if not self._is_installed:
            return
        self._is_installed = False
        for function in self._functions:
            function.uninstall()
        if self._loss is not None:
            self._loss.undo()
        if self._optimizer is not None:
            self._optimizer.uninstall()

    @property
    def is_in_batch(self) -> bool:
        """Whether the model runs a batch at present."""
        return any(function.is_in_batch for function in self._functions)

    def put_variables(self, state: Sequence[Any] | None = None) -> None:
        """Saves the variables that are due. `state` has their values on JAX, by kind of variable;
        otherwise the variables have them."""
        values = {} if state is None else self._values_in(state)
        if self._weights.may_be_due():
            self._weights.follow_weights(self.layer_names.weights())
            self._weights.put(values, self._session.is_per_replica)
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is not None and self._optimizer_variables.may_be_due():
            self._optimizer_variables.follow_optimizer(optimizer_variables(optimizer))
            self._optimizer_variables.put(values, self._session.is_per_replica)

    def _values_in(self, state):
        kinds = [self.model.trainable_variables, self.model.non_trainable_variables]
        if len(state) == 4:  # of a training step
            kinds.append(self.model.optimizer.variables)
        values = {}
        for variables, given in zip(kinds, state, strict=False):
            for variable, value in zip(variables, given, strict=False):
                values[id(variable)] = value
        return values

    def candidates(self, kind: str) -> list[tuple[str, str]]:
        """(name, collection) of the tensors that the graph of a step probably holds, judging by the
        model. `kind` is "train", "test" or "predict"."""
        found = [
            (names.INPUTS, "inputs"),
            (names.LABELS, "outputs"),
            (names.PREDICTIONS, "outputs"),
        ]
        for name, layer in self.layer_names.named_layers():
            found.append((names.layer_inputs(name), "layers"))
            found.append((names.layer_outputs(name), "layers"))
            if self._plan.saves_activations and has_inner_input(layer):
                function = activation_kind(layer)
                found.append((names.activation_input(name, function), f"{function}_input"))
        if kind != "predict" and self._session.is_per_replica:
            found.append((names.REPLICA_LOSS, "losses"))
        if kind == "train":
            # Keras 2 raises for a model that has no variables yet.
            for variable in self.model.trainable_variables if self.model.built else ():
                found.append((names.gradient(names.variable_name(variable)), "gradients"))
            found.append((names.gradient("kernel:0"), "gradients"))  # of such a model
        return found

    def _watch_loss(self):
        """Each replica computes a loss of its own, which Keras does not log."""
        is_there = callable(getattr(self.model, "compute_loss", None))
        if not self._session.is_per_replica or not is_there:
            return

        def watched(*arguments, **keywords):
            loss = as_traced(replaced.original)(*arguments, **keywords)
            trace = current_trace()
            if trace is not None:
                attempt(self._sink, lambda: trace.loss_found(loss), "at a loss")
            return loss

        self._loss = replaced = ReplacedMethod(self.model, "compute_loss", left_alone(watched))

    def _watch_optimizer(self):
        """A model that is compiled again has another optimizer."""
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is None or (self._optimizer and self._optimizer.optimizer is optimizer):
            watched = self._optimizer
        else:
            watched = WatchedOptimizer(optimizer, self._sink)
        if self._optimizer is not None and self._optimizer is not watched:
            self._optimizer.uninstall()
        self._optimizer = watched
        if watched is not None:
            watched.install()
