"""MXNet's arrays in the forms that the core reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from mxnet import gluon
from mxnet.base import MXNetError
from mxnet.ndarray import NDArray
from mxnet.symbol import Symbol

from smdebug.array_values import NotTaken, check_depth, why_too_large
from smdebug.mxnet.private_names import is_sparse
from smdebug.narrow_floats import from_bits

if TYPE_CHECKING:
    from smdebug._core import TensorSlot

_DEEPEST = 32  # a list may contain itself


def arrays_in(value: Any, depth: int = 0) -> Iterator[NDArray]:
    """Yields the arrays in nested tuples, lists and dicts, depth first."""
    if isinstance(value, NDArray):
        yield value
    elif isinstance(value, dict):
        yield from arrays_in(list(value.values()), depth)
    elif isinstance(value, (tuple, list)) and depth < _DEEPEST:
        for each in value:
            yield from arrays_in(each, depth + 1)


def symbols_in(value: Any, depth: int = 0) -> Iterator[Symbol]:
    """Yields the symbols in nested tuples and lists, depth first.

    MXNet calls a block with symbols while it builds the block's graph.
    """
    if isinstance(value, Symbol):
        yield value
    elif isinstance(value, (tuple, list)) and depth < _DEEPEST:
        for each in value:
            yield from symbols_in(each, depth + 1)


def is_symbolic(value: Any) -> bool:
    """Returns whether there is a symbol in `value`."""
    return next(symbols_in(value), None) is not None


def host_copy(array: NDArray) -> np.ndarray:
    """Waits for the elements of an array and returns a numpy copy. Sparse arrays become dense.

    Raises MXNetError if an operator that computes them failed, and NotTaken for a sparse array with
    indices outside of its shape, whose elements MXNet would write outside of the copy.
    """
    if array.stype != "default":
        _check_format(array)
    copy = array.asnumpy()
    if copy.dtype.names:  # MXNet's own dtype for bfloat16
        return from_bits("bfloat16", copy.view(np.uint16))
    return copy


class _HostArray:
    """An array in host memory that the core reads without a copy."""

    __slots__ = ("_capsule",)

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self) -> Any:
        return self._capsule


def readable(array: NDArray) -> _HostArray | np.ndarray:
    """Waits for the elements of an array and returns them in a form that the core reads.

    It is the array's own memory if that is in plain order, otherwise a copy: of arrays in oneDNN's
    layout, sparse arrays, bfloat16 and arrays on other devices. Raises as `host_copy` does, and
    NotTaken for a sparse array that is too large as a dense one.
    """
    if array.stype != "default":
        _check_dense_size(array)
        return host_copy(array)
    is_on_host = array.context.device_type == "cpu"
    # MXNet exports booleans of one bit each, although they are bytes.
    if not is_on_host or not isinstance(array.dtype, type) or array.dtype is np.bool_:
        return host_copy(array)
    array.wait_to_read()
    try:
        return _HostArray(array.to_dlpack_for_read())
    except MXNetError:  # the elements are computed, but in another order
        return host_copy(array)


def put(slot: TensorSlot, array: NDArray) -> None:
    """Saves an array. Skips one that cannot be saved, which is logged once. Raises MXNetError if an
    operator that computes it failed."""
    try:
        slot.put(readable(array))
    except NotTaken as why:
        slot.skip(str(why))


def user_array(value: Any) -> Any:
    """Returns an array, a parameter or a list of them that a script passes to a hook as numpy
    arrays, and any other value unchanged. Of a parameter it is the value on the first device.

    Raises NotTaken for a value without elements, and as `host_copy` does.
    """
    if isinstance(value, (list, tuple)):
        check_depth(value)
        return [user_array(each) for each in value]
    if isinstance(value, Symbol):
        raise NotTaken("a Symbol has no value: save an output of the graph")
    if isinstance(value, gluon.Parameter):
        value = _value_of(value)
    if not isinstance(value, NDArray):
        return value
    if value.stype != "default":
        _check_dense_size(value)
    return host_copy(value)


def _check_dense_size(array: NDArray) -> None:
    reason = why_too_large(array.shape, np.dtype(array.dtype).itemsize)
    if reason:
        raise NotTaken(reason)


def _check_format(array: NDArray) -> None:
    array.wait_to_read()  # an operator that failed raises here
    try:
        array.check_format(full_check=True)
    except MXNetError as error:
        reason = str(error).strip().rpartition("\n")[2]
        raise NotTaken(f"its indices do not fit into its shape: {reason}") from None


def _value_of(parameter: gluon.Parameter) -> NDArray:
    if is_sparse(parameter):
        raise NotTaken("the parameter is stored sparse, so only its trainer can read it")
    try:
        return parameter.list_data()[0]
    except RuntimeError:
        raise NotTaken(
            "the parameter has no values yet: initialize it, and call its block once if it does "
            "not know its shape"
        ) from None
