"""The values that a script passes to a hook: tensors, variables and composite tensors of
TensorFlow and Keras."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from smdebug.array_values import NotTaken, check_depth, has_arrays, why_too_large
from smdebug.tensorflow.tensors import dense
from smdebug.tensorflow.variable_values import value_of

_SPARSE = ("SparseTensor", "SparseTensorValue")
_ROWS = ("IndexedSlices", "IndexedSlicesValue")
_RAGGED = ("RaggedTensor", "RaggedTensorValue")
_LIBRARIES = ("tensorflow", "keras", "tf_keras")


class UserValue(NamedTuple):
    """A value as `parts`, which a graph can export, and a function that makes one array of them
    and may raise NotTaken."""

    parts: list[Any]
    join: Callable[..., Any]

    def whole(self) -> Any:
        """Returns the value: a tensor, or an array. Raises NotTaken if it has no elements."""
        if any(map(is_symbolic, self.parts)):
            raise NotTaken(
                "it is a tensor of a graph, which has a value only while the graph runs: save the "
                "result of the run"
            )
        return self.join(*self.parts)


def user_value(value: Any) -> UserValue:
    """Returns a value that a script passes to a hook, in parts.

    Raises NotTaken for a value of TensorFlow or Keras that has no elements.
    """
    if isinstance(value, UserValue):
        return value
    kind = type(value).__name__
    if kind in _SPARSE:
        return UserValue([value.values, value.indices, value.dense_shape], _of_sparse)
    if kind in _ROWS:
        if value.dense_shape is None:
            raise NotTaken("its shape is unknown: an IndexedSlices needs its dense_shape")
        return UserValue([value.values, value.indices, value.dense_shape], _of_rows)
    if kind in _RAGGED:
        raise NotTaken("its rows differ in length: save its flat_values, or its to_tensor()")
    if isinstance(value, (list, tuple)):
        check_depth(value)
        if has_arrays(value):
            return _of_list(value)
    return UserValue([_tensor_of(value)], _itself)


def is_symbolic(value: Any) -> bool:
    """Returns whether `value` is a tensor of a graph, which has a value only when the graph
    runs."""
    tf = sys.modules.get("tensorflow")
    return tf is not None and isinstance(value, tf.Tensor) and not hasattr(value, "numpy")


def is_reachable(value: Any) -> bool:
    """Returns whether a graph that is being made can use `value`: a tensor of the same graph or of
    one around it, or any other value."""
    if not is_symbolic(value):
        return True
    graph = sys.modules["tensorflow"].compat.v1.get_default_graph()
    while graph is not None and graph is not value.graph:
        graph = getattr(graph, "outer_graph", None)
    return graph is not None


def _tensor_of(value: Any) -> Any:
    """Returns a variable's value, and any other value unchanged."""
    if _is_variable(value):
        try:
            value = value_of(value)
        except Exception as error:
            raise NotTaken(f"the variable has no value: {error!r}") from None
    kind = type(value)
    if kind.__name__ == "KerasTensor":
        raise NotTaken("a KerasTensor has no value: save the output of a model that is called")
    dtype = getattr(getattr(value, "dtype", None), "name", None)
    if dtype in ("variant", "resource"):
        raise NotTaken(f"it holds a {dtype} instead of numbers")
    if kind.__module__.partition(".")[0] in _LIBRARIES and not hasattr(kind, "__array__"):
        raise NotTaken(f"a {kind.__name__} is not a tensor")
    return value


def _is_variable(value: Any) -> bool:
    kind = type(value)
    return callable(getattr(kind, "assign", None)) and hasattr(kind, "value")


def _of_list(values: Sequence[Any]) -> UserValue:
    """Returns the parts of a list with tensors in it: one tensor in a function that is traced, and
    for a list with tensors of a graph, otherwise arrays."""
    tf = sys.modules.get("tensorflow")
    if tf is not None and _needs_graph(tf, values):
        try:
            return UserValue([tf.convert_to_tensor(values)], _itself)
        except Exception as error:
            raise NotTaken(f"TensorFlow cannot make one tensor of its parts: {error}") from None
    return UserValue([_arrays_of(values)], _itself)


def _needs_graph(tf: Any, values: Sequence[Any]) -> bool:
    if tf.executing_eagerly():
        return False
    is_function = tf.compat.v1.get_default_graph().building_function
    return is_function or any(map(is_symbolic, tf.nest.flatten(values)))


def _arrays_of(values: Sequence[Any]) -> list[Any]:
    return [
        _arrays_of(each) if isinstance(each, (list, tuple)) else _array_of(each) for each in values
    ]


def _array_of(value: Any) -> Any:
    found = user_value(value).whole()
    return np.asarray(found) if hasattr(found, "numpy") and not hasattr(found, "detach") else found


def _itself(value: Any) -> Any:
    return value


def _of_rows(rows: Any, indices: Any, shape: Any) -> np.ndarray:
    rows, indices = np.asarray(rows), np.asarray(indices)
    extents = _checked_shape(shape, rows)
    _check_indices(indices)
    try:
        return dense(rows, indices, extents)
    except (IndexError, TypeError, ValueError) as error:
        raise NotTaken(f"its rows do not fit into its shape: {error}") from None


def _of_sparse(values: Any, indices: Any, shape: Any) -> np.ndarray:
    values, indices = np.asarray(values), np.asarray(indices)
    whole = np.zeros(_checked_shape(shape, values), values.dtype)
    if values.dtype == object:
        whole.fill(b"")
    _check_indices(indices)
    try:
        whole[tuple(indices.T)] = values
    except (IndexError, ValueError) as error:
        raise NotTaken(f"its values do not fit into its shape: {error}") from None
    return whole


def _check_indices(indices: np.ndarray) -> None:
    if indices.size and indices.min() < 0:
        raise NotTaken(f"its values do not fit into its shape: there is an index {indices.min()}")


def _checked_shape(shape: Any, elements: np.ndarray) -> list[int]:
    extents = np.asarray(shape).tolist()
    if any(extent < 0 for extent in extents):
        raise NotTaken(f"its shape is {extents}")
    reason = why_too_large(extents, elements.dtype.itemsize)
    if reason:
        raise NotTaken(reason)
    return extents
