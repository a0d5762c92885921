"""`StepTrace`: the tensors of one call of a model's train_step.

The call may be a trace, which builds a graph, or eager code. A StepTrace only keeps references; it
adds nothing to the graph.
"""

import contextlib
import dataclasses
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import keras

from smdebug import _core
from smdebug.tensorflow import names
from smdebug.tensorflow.capture_sink import CaptureContext
from smdebug.tensorflow.keras.activations import (
    activation_kind,
    has_inner_input,
    inner_input_reported,
)
from smdebug.tensorflow.keras.data_parts import Structure
from smdebug.tensorflow.keras.step_backend import backend
from smdebug.tensorflow.keras.tensor_saver import TensorSaver
from smdebug.tensorflow.private_names import left_alone

_NO_VALUES = ("training", "mask")  # arguments of a layer that are not its inputs


@dataclasses.dataclass(frozen=True)
class TraceSettings:
    """Settings that all traces of one model share. `layer_names` returns the name of a layer."""

    model: Any
    layer_names: Callable[[Any], str]
    context: CaptureContext
    saver: TensorSaver


class StepTrace:
    """Collects tensors by kind and name while a step runs."""

    def __init__(self, settings: TraceSettings) -> None:
        self.has_inner_inputs: bool = settings.context.plan.saves_activations
        self._has_replica_loss = settings.context.session.is_per_replica
        self._model = settings.model
        self._layer_names = settings.layer_names
        self._skip = settings.saver.skip
        self._graph = backend.graph()
        self.has_weights: bool = False  # whether the samples have weights
        self.modes: dict[int, bool] = {}  # whether a layer trains, by its id, if it is known
        self._forms: dict[str, Structure] = {}  # of inputs, labels and predictions
        # By base name and collections, in the order in which they came.
        self._found: dict[tuple[str, tuple[str, ...]], list[Any]] = {}

    def step_begins(self, data: Any) -> None:
        """Collects the inputs and labels in `data`, the argument of train_step."""
        x, y, weights = keras.utils.unpack_x_y_sample_weight(data)
        self.has_weights = weights is not None
        self._add_data(names.INPUTS, "inputs", x)
        self._add_data(names.LABELS, "outputs", y)

    def layer_called(
        self, layer: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], outputs: Any
    ) -> None:
        """Collects the inputs and outputs of a call of `layer`; of the model, its predictions."""
        if self._is_being_built():
            return
        if isinstance(keywords.get("training"), bool):
            self.modes[id(layer)] = keywords["training"]
        if layer is self._model:
            self._add_data(names.PREDICTIONS, "outputs", outputs)
            return
        name = self._layer_names(layer)
        keywords = {key: value for key, value in keywords.items() if key not in _NO_VALUES}
        self._add(_core.layer_inputs_name(name), ("layers",), (arguments, keywords))
        self._add(_core.layer_outputs_name(name), ("layers",), outputs)

    def activation_called(self, layer: Any, x: Any) -> None:
        """Collects the input of the activation inside `layer`."""
        if self._is_being_built():
            return
        name = _core.activation_input_name(self._layer_names(layer), activation_kind(layer))
        self._add(name, (), [x])

    def loss_found(self, loss: Any) -> None:
        """Collects the loss of one replica; the one that Keras logs belongs to all."""
        if self._has_replica_loss:
            self._add(names.REPLICA_LOSS, ("losses",), loss)

    def gradient_found(self, variable: Any, value: Any) -> None:
        """Collects the gradient of a variable, unless it is None."""
        if value is not None:
            self._add(names.gradient_name(variable), ("gradients",), [backend.kept(value)])

    def finished(self) -> Iterator[tuple[str, tuple[str, ...], Any]]:
        """Returns (name, collections, tensor) of each tensor that can leave the step."""
        for (base, collections), tensors in self._found.items():
            for name, tensor in zip(_core.numbered_names(base, len(tensors)), tensors, strict=True):
                why = backend.why_not(tensor, self._graph)
                if why:
                    self._skip(name, why)
                else:
                    yield name, collections, tensor

    def data(self, name: str) -> list[Any]:
        """Returns the tensors of the batch that are called `inputs`, `labels` or `predictions`."""
        collection = "inputs" if name == names.INPUTS else "outputs"
        return self._found.get((name, (collection,)), [])

    def form(self, name: str) -> Structure:
        """Returns the form of what `data` returns."""
        return self._forms.get(name, Structure())

    def can_leave(self, tensor: Any) -> bool:
        """Returns whether a tensor can leave the step."""
        return backend.why_not(tensor, self._graph) is None

    def _is_being_built(self):
        """Returns whether eager code has entered a graph: Keras 3 calls a layer there to build
        it."""
        return self._graph is None and backend.graph() is not None

    def _add_data(self, name, collection, structure):
        is_first = not self.data(name)
        self._add(name, (collection,), structure)
        # A model that is called twice in a step has further predictions.
        self._forms[name] = Structure.of(structure, self.data(name)) if is_first else Structure()

    def _add(self, name, collections, structure):
        found = backend.flat(structure, self._graph)
        if found:
            self._found.setdefault((name, collections), []).extend(found)


class _Current(threading.local):
    """The trace that runs in this thread: a strategy traces each replica in its own thread."""

    trace = None


_current = _Current()


class collecting:
    """A context in which layers and optimizers report to `trace`."""

    def __init__(self, trace: StepTrace) -> None:
        self._trace = trace

    def __enter__(self) -> None:
        self._outer, _current.trace = _current.trace, self._trace

    def __exit__(self, *exception: object) -> None:
        _current.trace = self._outer


def current_trace() -> StepTrace | None:
    """Returns the trace that runs in this thread."""
    return _current.trace


def _reported_inside(trace, layer):
    if not trace.has_inner_inputs or not has_inner_input(layer):
        return contextlib.nullcontext()
    return inner_input_reported(layer, functools.partial(trace.activation_called, layer))


class LayerCalls:
    """Replaces Keras's own `Layer.__call__` from the first traced step until the hook is removed.

    Keras has no public hooks for layers that run inside a graph. The replacement is expensive,
    because it invalidates Python's method cache for every class of layers; a `fit` whose functions
    are traced runs without it.
    """

    _users: ClassVar[set[object]] = set()
    _original: ClassVar[Any] = None
    _lock = threading.Lock()  # each replica is traced in its own thread

    @classmethod
    def watch(cls, user: object) -> None:
        """Makes all layers report their calls. A second call for a `user` does nothing."""
        with cls._lock:
            if not cls._users:
                cls._replace()
            cls._users.add(user)

    @classmethod
    def leave(cls, user: object) -> None:
        """Undoes `watch`. The last user restores Keras's own method."""
        with cls._lock:
            if user in cls._users:
                cls._users.remove(user)
                if not cls._users:
                    keras.layers.Layer.__call__ = cls._original

    @classmethod
    def _replace(cls):
        original = cls._original = keras.layers.Layer.__call__

        @functools.wraps(original)
        def watched(layer, *arguments, **keywords):
            trace = _current.trace
            if trace is None:
                return original(layer, *arguments, **keywords)
            with _reported_inside(trace, layer):
                outputs = original(layer, *arguments, **keywords)
            trace.layer_called(layer, arguments, keywords, outputs)
            return outputs

        keras.layers.Layer.__call__ = left_alone(watched)
