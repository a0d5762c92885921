"""`WatchedModel`: the work of a hook with one model of Keras."""

from collections.abc import Sequence
from typing import Any

from smdebug import _core
from smdebug.tensorflow import names
from smdebug.tensorflow.capture_sink import CaptureContext
from smdebug.tensorflow.keras.activations import activation_kind, has_inner_input
from smdebug.tensorflow.keras.layer_names import LayerNames
from smdebug.tensorflow.keras.step_function import MODES, BatchObserver, StepFunction
from smdebug.tensorflow.keras.step_trace import TraceSettings, current_trace
from smdebug.tensorflow.keras.tensor_saver import TensorSaver
from smdebug.tensorflow.optimizers import WatchedOptimizer, optimizer_variables
from smdebug.tensorflow.private_names import as_traced, left_alone
from smdebug.tensorflow.replaced_method import ReplacedMethod
from smdebug.tensorflow.variable_values import VariableValues


class WatchedModel:
    """Installs the hook in a model and removes it; traced functions stay.

    `observer` receives the events of the model's step functions.
    """

    def __init__(
        self,
        observer: BatchObserver,
        context: CaptureContext,
        saver: TensorSaver,
        model: Any,
    ) -> None:
        self._sink, self._plan, self._session = context
        self.model = model
        self.layer_names: LayerNames = LayerNames(model, self._plan.mark_edited)
        self._weights = VariableValues(self._session, self._plan.is_bias)
        self._optimizer_variables = VariableValues(self._session)
        self._optimizer: WatchedOptimizer | None = None
        settings = TraceSettings(model, self.layer_names, context, saver)
        self._functions = [StepFunction(observer, settings, kind) for kind in MODES]
        self._is_installed = False
        self._loss: ReplacedMethod | None = None  # in place of the model's compute_loss

    def install(self) -> None:
        """Replaces the methods of the model that report its steps. A second call only follows a new
        optimizer."""
        self._watch_optimizer()
        if self._is_installed:
            return
        self._is_installed = True
        for function in self._functions:
            function.install()
        self._watch_loss()

    def uninstall(self) -> None:
        """Restores the methods that `install` replaced."""
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
        """Saves the variables that are due. On JAX, `state` holds their values, by kind of
        variable."""
        values = {} if state is None else self._values_in(state)
        if self._weights.may_be_due():
            self._weights.follow_weights(self.layer_names.weights())
            self._weights.put(values)
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is not None and self._optimizer_variables.may_be_due():
            self._optimizer_variables.follow_optimizer(optimizer_variables(optimizer))
            self._optimizer_variables.put(values)

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
        """Returns (name, collection) of the tensors that the graph of a step probably holds,
        judging by the model. `kind` is "train", "test" or "predict"."""
        found = [(names.INPUTS, "inputs")]
        found += [(name, "outputs") for name in (names.LABELS, names.PREDICTIONS)]
        for name, layer in self.layer_names.named_layers():
            found.append((_core.layer_inputs_name(name), "layers"))
            found.append((_core.layer_outputs_name(name), "layers"))
            if self._plan.saves_activations and has_inner_input(layer):
                function = activation_kind(layer)
                found.append((_core.activation_input_name(name, function), f"{function}_input"))
        if kind != "predict" and self._session.is_per_replica:
            found.append((names.REPLICA_LOSS, "losses"))
        if kind == "train":
            # Keras 2 raises for a model that has no variables yet.
            variables = self.model.trainable_variables if self.model.built else ()
            found += [(names.gradient_name(variable), "gradients") for variable in variables]
            found.append((_core.variable_gradient_name("kernel:0"), "gradients"))  # of such a model
        return found

    def _watch_loss(self):
        """Watches the loss that each replica computes, which Keras does not log."""
        is_there = callable(getattr(self.model, "compute_loss", None))
        if not self._session.is_per_replica or not is_there:
            return

        def watched(*arguments, **keywords):
            loss = as_traced(replaced.original)(*arguments, **keywords)
            trace = current_trace()
            if trace is not None:
                self._sink.attempt(lambda: trace.loss_found(loss), "at a loss")
            return loss

        self._loss = replaced = ReplacedMethod(self.model, "compute_loss", left_alone(watched))

    def _watch_optimizer(self):
        # A model that is compiled again has another optimizer.
        optimizer, watched = getattr(self.model, "optimizer", None), self._optimizer
        if optimizer is not None and (watched is None or watched.optimizer is not optimizer):
            if watched is not None:
                watched.uninstall()
            self._optimizer = watched = WatchedOptimizer(optimizer, self._sink)
        if watched is not None:
            watched.install()
