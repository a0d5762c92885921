"""Converts tensors of TensorFlow for the core, which reads them by the buffer protocol, without a
copy."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from smdebug import array_values
from smdebug.array_values import NotTaken

# A sparse gradient becomes a dense tensor of the size of its variable, up to this size.
LARGEST_DENSE_BYTES: int = array_values.LARGEST_DENSE_BYTES


def as_array(tensor: Any) -> Any:
    """Returns `tensor` as a numpy array, which shares its memory if possible; a torch tensor stays
    one.

    Numbers become arrays of shape (1,). Raises NotTaken for an object that holds no values itself.
    """
    if isinstance(tensor, (bool, int, float, complex)):
        return np.asarray([tensor])
    why = why_not(tensor)
    if why:
        raise NotTaken(why)
    if _has(type(tensor), "detach"):
        array = tensor.detach()
    else:
        array = np.asarray(tensor.read_value() if _has(type(tensor), "read_value") else tensor)
    return array.reshape(1) if array.ndim == 0 else array


@functools.cache
def _has(kind, method):
    """Returns whether a class has a method. Checking the tensor itself is slow in TensorFlow."""
    return hasattr(kind, method)


def why_not(tensor: Any) -> str | None:
    """Returns the reason why a value cannot be saved; None if it can. The value may be a tensor of
    a graph."""
    kind = type(tensor).__name__
    if kind in ("RaggedTensor", "RaggedTensorValue"):
        return "its rows differ in length"
    if kind in ("SparseTensor", "SparseTensorValue"):
        return "it is sparse"
    if not hasattr(tensor, "dtype") or not hasattr(tensor, "shape"):
        return f"{kind} is not a tensor"
    if getattr(tensor.dtype, "name", None) in ("variant", "resource"):
        return f"it holds {tensor.dtype} instead of numbers"
    return None


def why_too_large(shape: Sequence[int | None], dtype: Any) -> str | None:
    """Returns the reason why a sparse tensor of that shape and TensorFlow dtype cannot be saved as
    a dense one; None if it can."""
    if None in shape:
        return "its shape is unknown"
    return array_values.why_too_large(shape, dtype.size, LARGEST_DENSE_BYTES)


def dense(rows: np.ndarray, indices: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Returns a tensor of `shape` with `rows` at `indices`, and zeros elsewhere. Adds up rows of
    the same index."""
    whole = np.zeros(shape, rows.dtype)
    np.add.at(whole, indices, rows)
    return whole
