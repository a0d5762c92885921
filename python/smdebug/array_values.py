"""Lists and numbers that a user passes as a tensor, converted to arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smdebug.exceptions import SMDebugTypeError


def as_array(name: str, values: Any) -> NDArray[Any]:
    """A list or tuple as an array; numpy chooses the dtype.

    Raises SMDebugTypeError, naming the tensor, if numpy cannot convert it, for example because its
    rows have different lengths.
    """
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise SMDebugTypeError(
            f"tensor '{name}' cannot be converted to an array: {error}"
        ) from None
