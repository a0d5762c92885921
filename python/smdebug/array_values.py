"""What a user hands over as a tensor and is none yet: lists and numbers, as an array."""

import numpy as np

from smdebug.exceptions import SMDebugTypeError


def as_array(name, values):
    """A list or tuple as an array of numpy's choice of dtype.

    Raises SMDebugTypeError, naming the tensor, for rows of different lengths and the like.
    """
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise SMDebugTypeError(f"tensor '{name}' cannot be made an array: {error}") from None
