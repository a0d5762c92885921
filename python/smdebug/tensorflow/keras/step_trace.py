"""`StepTrace`: the tensors that one call of a model's train_step makes.

The call may be a trace, which builds a graph, or eager code. A trace only takes references; it
adds nothing to the graph.
"""

import contextlib
import functools
import threading

import keras

from smdebug.tensorflow import names
from smdebug.tensorflow.keras.activations import activation_kind, has_inner_input, inner_input_told
from smdebug.tensorflow.keras.step_backend import backend
from smdebug.tensorflow.private_names import left_alone

_NO_VALUES = ("training", "mask")  # arguments of a layer that are not its inputs


class StepTrace:
    """Collects by kind and name; `finished()` gives what can be handed out."""

    def __init__(self, model, layer_names, recorder):
        """`layer_names` is a function of a layer; the recorder, a KerasHook, says what is wanted
        beside what layers take and give, and is told what is not taken."""
        self.has_inner_inputs = recorder.wants_inner_inputs
        self._has_replica_loss = recorder.are_replicas_apart
        self._model = model
        self._layer_names = layer_names
        self._skip = recorder.skip
        self._graph = backend.graph()
        self._found = {}  # (base name, collections) -> tensors, in the order they came

    def step_begins(self, data):
        x, y, _ = keras.utils.unpack_x_y_sample_weight(data)
        self._add(names.INPUTS, ("inputs",), x)
        self._add(names.LABELS, ("outputs",), y)

    def layer_called(self, layer, arguments, keywords, outputs):
        if layer is self._model:
            self._add(names.PREDICTIONS, ("outputs",), outputs)
            return
        name = self._layer_names(layer)
        keywords = {key: value for key, value in keywords.items() if key not in _NO_VALUES}
        self._add(names.layer_inputs(name), ("layers",), (arguments, keywords))
        self._add(names.layer_outputs(name), ("layers",), outputs)

    def activation_called(self, layer, x):
        name = names.activation_input(self._layer_names(layer), activation_kind(layer))
        self._add(name, (), [x])

    def loss_found(self, loss):
        """That of one replica: what Keras logs is that of all."""
        if self._has_replica_loss:
            self._add(names.REPLICA_LOSS, ("losses",), loss)

    def gradient_found(self, variable, value):
        if value is not None:
            name = names.gradient(names.variable_name(variable))
            self._add(name, ("gradients",), [backend.kept(value)])

    def finished(self):
        """(name, collections, tensor) of each, as the graph holds them now."""
        for (base, collections), tensors in self._found.items():
            for name, tensor in zip(names.numbered(base, len(tensors)), tensors, strict=True):
                why = backend.why_not(tensor, self._graph)
                if why:
                    self._skip(name, why)
                else:
                    yield name, collections, tensor

    def _add(self, name, collections, structure):
        found = backend.flat(structure, self._graph)
        if found:
            self._found.setdefault((name, collections), []).extend(found)


class _Current(threading.local):
    """The trace that runs in this thread: a strategy traces each replica in its own."""

    trace = None


_current = _Current()


class collecting:
    """Within it, layers and optimizers report to `trace`."""

    def __init__(self, trace):
        self._trace = trace

    def __enter__(self):
        self._outer, _current.trace = _current.trace, self._trace

    def __exit__(self, *exception):
        _current.trace = self._outer


def current_trace():
    return _current.trace


def _told_inside(trace, layer):
    if not trace.has_inner_inputs or not has_inner_input(layer):
        return contextlib.nullcontext()
    return inner_input_told(layer, functools.partial(trace.activation_called, layer))


class LayerCalls:
    """Keras's own `Layer.__call__`, replaced from the first step that is traced until the hook
    leaves: public hooks for layers that run inside a graph there are none. To replace it is dear,
    since Python forgets then what it has cached of every class of layers, and a `fit` whose
    functions are traced already goes without."""

    _users = set()
    _original = None
    _lock = threading.Lock()  # replicas are traced in threads of their own

    @classmethod
    def watch(cls, user):
        """From now on the layers that `user` calls report. A second call does nothing."""
        with cls._lock:
            if not cls._users:
                cls._replace()
            cls._users.add(user)

    @classmethod
    def leave(cls, user):
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
            with _told_inside(trace, layer):
                outputs = original(layer, *arguments, **keywords)
            trace.layer_called(layer, arguments, keywords, outputs)
            return outputs

        keras.layers.Layer.__call__ = left_alone(watched)
