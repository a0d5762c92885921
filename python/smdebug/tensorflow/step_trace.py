"""`StepTrace`: the tensors that one call of a model's train_step makes.

The call may be a trace, which builds a graph, or eager code. A trace only takes references; it
adds nothing to the graph.
"""

import contextlib
import functools
import threading

import keras
import tensorflow as tf

from smdebug.tensorflow import names
from smdebug.tensorflow.activations import activation_kind, has_inner_input, inner_input_told
from smdebug.tensorflow.private_names import left_alone
from smdebug.tensorflow.tensors import LARGEST_DENSE_BYTES, dense_bytes, why_not

_NO_VALUES = ("training", "mask")  # arguments of a layer that are not its inputs
_COMPOSITES = (tf.RaggedTensor, tf.SparseTensor)


class StepTrace:
    """Collects by kind and name; `finished()` gives what can be handed out."""

    def __init__(self, model, layer_names, skip, has_inner_inputs):
        """`layer_names` is a function of a layer; `skip(name, why)` is told what is not taken.
        `has_inner_inputs` is whether what activations inside of layers take is collected too."""
        self.has_inner_inputs = has_inner_inputs
        self._model = model
        self._layer_names = layer_names
        self._skip = skip
        self._graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
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

    def gradient_found(self, variable, value):
        if value is not None:
            name = names.gradient(names.variable_name(variable))
            self._add(name, ("gradients",), [value])

    def finished(self):
        """(name, collections, tensor) of each, as the graph holds them now."""
        for (base, collections), tensors in self._found.items():
            for name, tensor in zip(names.numbered(base, len(tensors)), tensors, strict=True):
                why = self._why_not(tensor)
                if why:
                    self._skip(name, why)
                else:
                    yield name, collections, tensor

    def _add(self, name, collections, structure):
        found = [each for each in _flat(structure) if _is_tensor(each)]
        if self._graph is None:  # Keras 3 may try a layer out in a graph to build it
            found = [each for each in found if not tf.is_symbolic_tensor(each)]
        if found:
            self._found.setdefault((name, collections), []).extend(found)

    def _why_not(self, tensor):
        if isinstance(tensor, tf.IndexedSlices):
            size = dense_bytes(tensor)
            if size is None or size > LARGEST_DENSE_BYTES:
                return "it is sparse, and would be too large when filled up"
            tensor = tensor.values
        why = why_not(tensor)
        if why is None and self._graph is not None and tensor.graph is not self._graph:
            why = "it is made inside a loop or function of the model"
        return why


def dense(tensor):
    """A sparse gradient as a tensor with zeros; any other tensor as it is."""
    if isinstance(tensor, tf.IndexedSlices):
        return tf.convert_to_tensor(tensor)
    return tensor


def _flat(structure):
    if isinstance(structure, (tf.Tensor, tf.IndexedSlices, *_COMPOSITES)):
        return [structure]
    return tf.nest.flatten(structure)


def _is_tensor(thing):
    return isinstance(thing, (tf.Tensor, tf.IndexedSlices, *_COMPOSITES))


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
    """Keras's own `Layer.__call__`, replaced while a hook records: public hooks for layers that
    run inside a graph there are none."""

    _users = 0
    _original = None

    @classmethod
    def watch(cls):
        cls._users += 1
        if cls._users > 1:
            return
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

    @classmethod
    def leave(cls):
        cls._users -= 1
        if cls._users == 0:
            keras.layers.Layer.__call__ = cls._original
