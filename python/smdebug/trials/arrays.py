"""Turns what the core reads into numpy arrays and scalars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smdebug._core import reduction
from smdebug.exceptions import SMDebugValueError
from smdebug.narrow_floats import from_bits, is_narrow, narrow_dtype

Array = NDArray[Any]

_REDUCTIONS = ("min", "max", "mean", "median", "std", "variance", "sum", "prod", "l1", "l2")
_NORM_SUFFIX = "_norm"
_OF_ELEMENT_DTYPE = ("min", "max")
_WHOLE_OF_INTEGERS = ("min", "max", "sum", "prod")
_EXACT_IN_FLOAT64 = 2**53


def array_from(dtype_name: str, shape: Sequence[int], elements: Any) -> Array:
    """An array of the core's parts: a dtype's name, a shape, and a buffer or a list of strings."""
    if dtype_name in ("str", "bytes"):
        return _string_array(dtype_name, elements).reshape(shape)
    if is_narrow(dtype_name):
        bits = "uint16" if dtype_name == "bfloat16" else "uint8"
        return from_bits(dtype_name, np.ndarray(shape, bits, elements))
    return np.ndarray(shape, dtype_name, elements)


def dtype_from(name: str) -> np.dtype[Any]:
    """The numpy dtype of that name."""
    return narrow_dtype(name) if is_narrow(name) else np.dtype(name)


def checked_reduction(reduction_name: str) -> str:
    """The short name of a reduction: "l2" for "l2_norm". Raises SMDebugValueError for a name that
    no reduction has."""
    name = str(reduction_name).removesuffix(_NORM_SUFFIX)
    plain = name.removeprefix("abs_")
    if name != plain and plain in _REDUCTIONS:
        raise SMDebugValueError(f"no reduction '{reduction_name}'; use '{plain}' with abs=True")
    if name not in _REDUCTIONS:
        raise SMDebugValueError(
            f"no reduction '{reduction_name}'; there are {', '.join(_REDUCTIONS)}"
        )
    return name


def reduction_of(array: Array, reduction_name: str, abs: bool = False) -> Any:
    """A reduction of an array, computed as `Tensor.reduction_value` computes it."""
    name = checked_reduction(reduction_name)
    number = reduction(array, f"abs_{name}" if abs else name)
    return scalar_from(number, name, array.dtype)


def scalar_from(number: float, reduction_name: str, dtype: np.dtype[Any]) -> Any:
    """A reduction in float64 as the scalar that numpy returns for a tensor of `dtype`."""
    if dtype.kind in "iub":
        return _of_integers(number, reduction_name, dtype)
    if np.issubdtype(dtype, np.floating):  # numpy's own; the types of ml_dtypes are too narrow
        with np.errstate(over="ignore"):
            return dtype.type(number)
    return np.float64(number)


def _of_integers(number: float, reduction_name: str, dtype: np.dtype[Any]) -> Any:
    is_exact = -_EXACT_IN_FLOAT64 <= number <= _EXACT_IN_FLOAT64
    if reduction_name not in _WHOLE_OF_INTEGERS or not is_exact:
        return np.float64(number)
    if reduction_name not in _OF_ELEMENT_DTYPE:
        return (np.uint64 if dtype.kind == "u" else np.int64)(number)
    if dtype.kind == "b":
        return np.bool_(number)
    limits = np.iinfo(dtype)
    return dtype.type(number) if limits.min <= number <= limits.max else np.float64(number)


def _string_array(dtype_name: str, elements: list[Any]) -> Array:
    """An array of fixed width, or of objects if numpy would strip NULs that end an element."""
    nul = "\0" if dtype_name == "str" else b"\0"
    ends_in_nul = any(element.endswith(nul) for element in elements)
    return np.array(elements, dtype=object if ends_in_nul else dtype_name)
