"""MXNet's arrays as the core takes them."""

import ml_dtypes
import numpy as np
from mxnet.base import MXNetError
from mxnet.ndarray import NDArray
from mxnet.symbol import Symbol


def arrays_in(value):
    """The arrays in nested tuples, lists and dicts, depth first."""
    if isinstance(value, NDArray):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from arrays_in(each)
    elif isinstance(value, dict):
        yield from arrays_in(list(value.values()))


def symbols_in(value):
    """The symbols there: what a block is called with while a graph is made of it."""
    if isinstance(value, Symbol):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from symbols_in(each)


def is_symbolic(value):
    return next(symbols_in(value), None) is not None


def host_copy(array):
    """The elements of an array as numpy's, once they are computed. Sparse ones become dense.

    Raises MXNetError where an operator that computes them failed.
    """
    copy = array.asnumpy()
    if copy.dtype.names:  # MXNet's own dtype for bfloat16
        return copy.view(np.uint16).view(ml_dtypes.bfloat16)
    return copy


class _Lent:
    """An array in host memory that is read where it lies."""

    __slots__ = ("_capsule",)

    def __init__(self, capsule):
        self._capsule = capsule

    def __dlpack__(self):
        return self._capsule


def readable(array):
    """What the core can read of an array: its own memory where that is in plain order, else a copy.

    The layout of oneDNN, sparse arrays, bfloat16 and other devices are copied by MXNet. Raises as
    `host_copy` does.
    """
    is_plain = array.stype == "default" and array.context.device_type == "cpu"
    if not is_plain or not isinstance(array.dtype, type):
        return host_copy(array)
    array.wait_to_read()
    try:
        return _Lent(array.to_dlpack_for_read())
    except MXNetError:  # its elements were computed, and lie in another order
        return host_copy(array)
