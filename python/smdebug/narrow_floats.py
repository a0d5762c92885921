"""Floats that numpy lacks: bfloat16 and float8.

The package ml_dtypes adds them to numpy. smdebug does not require it, because installing it can
replace the numpy that a framework needs. Without it, elements are widened, which is exact.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smdebug.log import get_logger

_WIDER: dict[str, type[np.floating[Any]]] = {
    "bfloat16": np.float32,
    "float8_e5m2": np.float16,
    "float8_e4m3fn": np.float16,
}


def is_narrow(name: str) -> bool:
    """Whether `name` is a dtype of this module."""
    return name in _WIDER


@functools.cache
def narrow_dtype(name: str) -> np.dtype[Any]:
    """The dtype of ml_dtypes, or the wider one of numpy if that package is not installed."""
    try:
        import ml_dtypes
    except ImportError:
        wider = np.dtype(_WIDER[name])
        get_logger().warning(
            "%s elements are read as %s, without loss, because the package ml_dtypes is not "
            "installed",
            name,
            wider,
        )
        return wider
    return np.dtype(getattr(ml_dtypes, name))


def from_bits(name: str, bits: NDArray[Any]) -> NDArray[Any]:
    """An array of `narrow_dtype(name)` with the shape of `bits`, the elements as uint16 or uint8.

    A view of `bits`, unless the elements are widened.
    """
    dtype = narrow_dtype(name)
    if dtype.itemsize == bits.itemsize:
        return bits.view(dtype)
    if name == "float8_e4m3fn":
        return _e4m3fn_values()[bits]
    shift = 8 * (dtype.itemsize - bits.itemsize)
    return np.left_shift(bits, shift, dtype=f"u{dtype.itemsize}").view(dtype)


@functools.cache
def _e4m3fn_values() -> NDArray[np.float16]:
    """Every value of float8_e4m3fn: a sign, 4 bits of exponent with bias 7 and 3 of mantissa. All
    ones are NaN; there are no infinities."""
    bits = np.arange(256)
    exponent, mantissa = bits >> 3 & 0xF, bits & 0x7
    is_normal = exponent > 0
    magnitude = np.ldexp(mantissa / 8 + is_normal, np.where(is_normal, exponent, 1) - 7)
    magnitude[bits & 0x7F == 0x7F] = np.nan
    return np.where(bits < 128, magnitude, -magnitude).astype(np.float16)
