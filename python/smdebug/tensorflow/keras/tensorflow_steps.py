"""Steps of Keras on TensorFlow: graphs, unless Keras runs them as eager code (`run_eagerly`)."""

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf

from smdebug.tensorflow import tensors
from smdebug.tensorflow.gradient_calls import GradientCalls
from smdebug.tensorflow.keras.batch_replay import BatchReplay
from smdebug.tensorflow.keras.replica_captures import ReplicaCaptures as ReplicaCaptures
from smdebug.tensorflow.private_names import has_scores_behind
from smdebug.tensorflow.replicas import are_replicas_known as are_replicas_known

_TENSORS = (tf.Tensor, tf.IndexedSlices, tf.RaggedTensor, tf.SparseTensor)

# A step function raises one of these when the data ends.
END_OF_DATA: tuple[type[Exception], ...] = (StopIteration, tf.errors.OutOfRangeError)


def graph() -> Any:
    """Returns the graph that is being built, or None in eager code."""
    return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()


def losses_reported(take: Callable[[Any], None]) -> AbstractContextManager[None]:
    """Returns a context in which `take(loss)` is called for each loss of the graph that is being
    built; eager code reports none."""
    return contextlib.nullcontext() if tf.executing_eagerly() else GradientCalls(take)


def make_replay(model: Any) -> BatchReplay:
    """Returns a BatchReplay for one step function of `model`."""
    return BatchReplay(model)


def unknown_replicas() -> str | None:
    """Returns the name of the current strategy, if it has several replicas that cannot be
    distinguished."""
    strategy = tf.distribute.get_strategy()
    is_unknown = strategy.num_replicas_in_sync > 1 and not are_replicas_known(strategy)
    return type(strategy).__name__ if is_unknown else None


def flat(structure: Any, graph: Any) -> list[Any]:
    """Returns the tensors in a structure: those of `graph`, or, if that is None, those that have
    values. Keras 3 may call a layer in another graph to build it."""
    found = [structure] if isinstance(structure, _TENSORS) else tf.nest.flatten(structure)
    found = [each for each in found if isinstance(each, _TENSORS)]
    return [each for each in found if graph is not None or not tf.is_symbolic_tensor(each)]


def why_not(tensor: Any, graph: Any) -> str | None:
    """Returns why a tensor cannot leave the step that runs in `graph`; None if it can."""
    if isinstance(tensor, tf.IndexedSlices):
        shape = None if tensor.dense_shape is None else tf.get_static_value(tensor.dense_shape)
        if shape is None or tensors.why_too_large(shape.tolist(), tensor.dtype):
            return "it is sparse, and would be too large as a dense tensor"
        tensor = tensor.values
    why = tensors.why_not(tensor)
    if why is None and graph is not None and tensor.graph is not graph:
        why = "it is made inside a loop or function of the model"
    return why


def kept(gradient: Any) -> Any:
    """Returns a gradient as it is now: tensors of TensorFlow never change."""
    return gradient


def dense(tensor: Any) -> Any:
    """Returns a sparse gradient as a dense tensor; any other tensor unchanged."""
    return tf.convert_to_tensor(tensor) if isinstance(tensor, tf.IndexedSlices) else tensor


def is_number(value: Any) -> bool:
    """Returns whether `numbers` takes a value: a number, or a tensor that is one."""
    return isinstance(value, (float, int)) or (
        isinstance(value, tf.Tensor) and value.shape.rank == 0
    )


def numbers(tensors: list[Any]) -> list[float]:
    """Returns the values of tensors with one element. Waits for their devices."""
    first = getattr(tensors[0], "dtype", None)
    if first is None or any(getattr(each, "dtype", None) != first for each in tensors):
        return [float(each) for each in tensors]
    return [float(each) for each in tf.raw_ops.Pack(values=tensors, axis=0).numpy().tolist()]


class VariableReader:
    """Reads a variable that holds one number, on its device: nothing waits for the value."""

    def __init__(self, variable: Any) -> None:
        inner = variable if isinstance(variable, tf.Variable) else variable.value  # of Keras 3
        self._copies = getattr(inner, "values", None) or [inner]  # of all replicas

    def read(self) -> list[Any]:
        """Returns the present value, of each replica."""
        return [
            tf.raw_ops.ReadVariableOp(resource=each.handle, dtype=each.dtype)
            for each in self._copies
        ]


def unscaled(gradient: Any, scale: Any) -> Any:
    """Returns a gradient divided by the scale of the loss."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient / scale
    return tf.IndexedSlices(gradient.values / scale, gradient.indices, gradient.dense_shape)


def first_samples(tensor: Any, most_elements: int) -> Any:
    """Returns the first samples of a tensor with values as an array; None if it is no tensor of
    numbers."""
    if not isinstance(tensor, tf.Tensor) or not (
        tensor.dtype.is_floating or tensor.dtype.is_integer
    ):
        return None
    if tensor.shape.rank:
        width = max(1, tensor.shape.num_elements() // max(1, tensor.shape[0]))
        if tensor.shape[0] > most_elements // width:
            tensor = tensor[: max(2, most_elements // width)]
    return (tf.cast(tensor, tf.float32) if tensor.dtype == tf.bfloat16 else tensor).numpy()


def uses_scores(predictions: Any) -> bool:
    """Returns whether a loss finds the scores behind `predictions`, the result of a softmax or
    sigmoid."""
    return has_scores_behind(predictions)
