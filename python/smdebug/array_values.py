"""Lists and numbers that a user passes as a tensor, converted to arrays."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smdebug.exceptions import SMDebugTypeError
from smdebug.hook_arguments import shown

# A sparse value becomes a dense array, up to this size.
LARGEST_DENSE_BYTES = 256 * 2**20
MOST_DIMENSIONS = 64  # of an array of numpy
# The warning of numpy before 1.24 about rows of different lengths; later versions raise ValueError.
_RAGGED: type[Warning] = (
    getattr(np, "VisibleDeprecationWarning", None) or np.exceptions.VisibleDeprecationWarning
)


class NotTaken(Exception):
    """A value cannot be saved; the message is the reason."""


def as_array(name: str, values: Any) -> NDArray[Any]:
    """A list or tuple as an array; numpy chooses the dtype.

    Raises SMDebugTypeError, naming the tensor, if numpy cannot convert it, for example because its
    rows have different lengths.
    """
    try:
        with warnings.catch_warnings():
            # Older versions of numpy make an array of lists.
            warnings.simplefilter("error", _RAGGED)
            return np.asarray(values)
    except (TypeError, ValueError, _RAGGED) as error:
        is_ragged = isinstance(error, _RAGGED) or "inhomogeneous" in str(error)
        reason = (
            "its rows have different lengths; pad them, or save each as a tensor of its own"
            if is_ragged
            else str(error)
        )
        raise SMDebugTypeError(
            f"tensor '{name}' cannot be converted to an array: {reason}"
        ) from None


def as_tensor(name: str, value: Any) -> Any:
    """Returns an object with `__dlpack__` or `__array__`: `value` itself, or an array of its
    numbers or texts. A single one gets shape (1,). Numbers for which numpy has no dtype, such as
    Decimal, become float64, and sparse matrices of scipy become dense.

    Raises SMDebugTypeError for an object of another kind and for rows of different lengths, and
    NotTaken for a number that float64 cannot hold.
    """
    if not is_array(value):
        if _is_scipy(value):
            return _dense(value)
        if isinstance(value, (numbers.Number, str, bytes)):
            value = [value]
        if not isinstance(value, (list, tuple)):
            raise SMDebugTypeError(
                f"tensor '{name}' must be an array or a number, found {shown(value)}"
            )
        check_depth(value)
        value = _as_array_of_arrays(value) if has_arrays(value) else as_array(name, value)
    elif not hasattr(value, "__dlpack__"):
        value = _read(value)  # of pandas, for example
    if isinstance(value, np.ndarray) and value.dtype == object:
        return _without_objects(value)
    return value


def as_number(name: str, value: Any) -> int | float:
    """Returns the number that `value` holds, a number or an array of one element: an int if it
    fits into 64 bits, otherwise a float.

    Raises SMDebugTypeError for anything else, and NotTaken if the number has no value or no float64
    can hold it.
    """
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if _is_scipy(value) and math.prod(value.shape) == 1:
        value = _dense(value)
    elif is_array(value) and not hasattr(value, "item") and _size(value) == 1:
        value = _read(value)  # a DataFrame, for example
    found = _element(name, value)
    if isinstance(found, int) and not isinstance(found, bool) and -(2**63) <= found < 2**63:
        return found
    return _as_float(name, found, is_certain=found is not value)


def is_array(value: Any) -> bool:
    """Whether `value` is an array or tensor of any library."""
    return hasattr(value, "__dlpack__") or hasattr(value, "__array__")


def has_arrays(values: list[Any] | tuple[Any, ...]) -> bool:
    """Whether a list contains arrays, at any depth."""
    return any(
        has_arrays(each) if isinstance(each, (list, tuple)) else is_array(each) for each in values
    )


def check_depth(values: Any) -> None:
    """Raises NotTaken if lists are nested more deeply than any array, or contain themselves."""
    level = [values]
    for _ in range(MOST_DIMENSIONS):
        inner = [each for parent in level for each in parent if isinstance(each, (list, tuple))]
        level = list({id(each): each for each in inner}.values())
        if not level:
            return
    raise NotTaken(f"its lists are nested more than {MOST_DIMENSIONS} deep, or contain themselves")


def why_too_large(
    shape: Sequence[int], element_bytes: int, limit: int = LARGEST_DENSE_BYTES
) -> str | None:
    """Returns the reason why a sparse value cannot be saved as a dense one; None if it can."""
    dense_bytes = math.prod(map(int, shape)) * element_bytes
    if dense_bytes <= limit:
        return None
    return f"as a dense tensor it would take {dense_bytes} bytes"


def _read(array: Any) -> NDArray[Any]:
    try:
        return np.asarray(array)
    except Exception as error:
        raise NotTaken(f"numpy cannot read it: {_first_line(error)}") from None


def _is_scipy(value: Any) -> bool:
    return hasattr(value, "toarray") and hasattr(value, "nnz")


def _dense(matrix: Any) -> NDArray[Any]:
    """Returns a sparse matrix of scipy as an array."""
    reason = why_too_large(matrix.shape, matrix.dtype.itemsize)
    if reason:
        raise NotTaken(reason)
    try:
        return _with_checked_indices(matrix).toarray()
    except Exception as error:
        raise NotTaken(f"it cannot become dense: {_first_line(error)}") from None


def _with_checked_indices(matrix: Any) -> Any:
    """Returns an equal matrix. Raises ValueError for indices outside of its shape: scipy would
    write their elements outside of the dense array."""
    if hasattr(matrix, "check_format"):
        arrays = (matrix.data, matrix.indices, matrix.indptr)
        matrix = type(matrix)(arrays, shape=matrix.shape)  # because the check removes unused space
        matrix.check_format(full_check=True)
        return matrix
    matrix = matrix.tocoo()
    places = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
    for extent, indices in zip(matrix.shape, places, strict=True):
        if len(indices) and not 0 <= indices.min() <= indices.max() < extent:
            raise ValueError("its indices do not fit into its shape")
    return matrix


def _as_array_of_arrays(values: Any) -> NDArray[Any]:
    try:
        return np.stack(
            [
                _as_array_of_arrays(each) if isinstance(each, (list, tuple)) else np.asarray(each)
                for each in values
            ]
        )
    except NotTaken:
        raise
    except Exception as error:
        raise NotTaken(f"numpy cannot make one array of its parts: {error}") from None


def _without_objects(array: NDArray[Any]) -> NDArray[Any]:
    """Returns an array of Python numbers as float64 or complex128, and any other as it is."""
    elements = array.ravel().tolist()
    if not elements or not all(isinstance(each, numbers.Number) for each in elements):
        return array
    is_real = all(hasattr(each, "__float__") for each in elements)
    try:
        found = array.astype(np.float64 if is_real else np.complex128)
    except (OverflowError, TypeError, ValueError) as error:
        raise NotTaken(f"its numbers do not fit into float64: {error}") from None
    if any(map(_has_overflowed, elements, found.ravel().tolist())):
        raise NotTaken("its numbers do not fit into float64: one is too large")
    return found


def _has_overflowed(number: Any, converted: complex) -> bool:
    """Whether a finite number has become infinite, which Decimal and longdouble do silently."""
    return isinstance(converted, float) and math.isinf(converted) and number != converted


def _element(name: str, value: Any) -> Any:
    """Returns the element of an array of one element, and any other value as it is."""
    item = getattr(value, "item", None)
    if not callable(item):
        return value
    try:
        return item()
    except Exception as error:
        if _size(value) in (None, 1):
            raise NotTaken(f"its value cannot be read: {_first_line(error)}") from None
        raise SMDebugTypeError(
            f"scalar '{name}' must be one number, found {shown(value)}"
        ) from None


def _as_float(name: str, value: Any, is_certain: bool) -> float:
    """Converts a number. `is_certain`: it is the element of an array, so no argument is wrong."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError("it is text")
        if isinstance(value, (complex, np.complexfloating)):
            raise TypeError("it is complex")
        number = float(value)
        if _has_overflowed(value, number):
            raise OverflowError
        return number
    except OverflowError:
        raise NotTaken("the number is too large for float64") from None
    except Exception as error:
        is_one = isinstance(value, numbers.Number) or (is_array(value) and _size(value) == 1)
        if is_certain or is_one:
            raise NotTaken(f"it is not a real number: {_first_line(error)}") from None
        raise SMDebugTypeError(
            f"scalar '{name}' must be one number, found {shown(value)}"
        ) from None


def _size(value: Any) -> int | None:
    """The number of elements of an array; None if it is unknown."""
    try:
        return math.prod(value.shape)
    except Exception:
        return None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or repr(error)
