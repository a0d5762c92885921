"""What a question to a trial may be asked with: modes, steps, ranges of steps."""

import operator

from smdebug._core import ModeKeys
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError

_LARGEST_STEP = 2**63 - 1


def checked_mode(mode):
    """`mode`, or SMDebugValueError if it is none of `smdebug.modes`."""
    if not isinstance(mode, ModeKeys):
        raise SMDebugValueError(f"a mode is one of smdebug.modes, found {mode!r}")
    return mode


def checked_step(step):
    """`step` as an int: whole numbers of any library are taken, SMDebugTypeError for the rest."""
    try:
        number = operator.index(step)
    except TypeError:
        raise SMDebugTypeError(f"a step is a whole number, found {step!r}") from None
    if abs(number) > _LARGEST_STEP:
        raise SMDebugValueError(f"a step has at most 63 bits, found {number}")
    return number


def checked_range(range_steps):
    """(first, end) of `range_steps`, either None. AssertionError where it makes no sense."""
    if range_steps is None:
        return None, None
    if not isinstance(range_steps, (tuple, list)) or len(range_steps) != 2:
        raise AssertionError(f"range_steps is a pair (first, end), found {range_steps!r}")
    first, end = range_steps
    for bound in (first, end):
        if bound is not None and (not isinstance(bound, int) or bound < 0):
            raise AssertionError(f"range_steps takes whole numbers from 0, found {range_steps!r}")
    if end is not None and end <= (first or 0):
        raise AssertionError(f"range_steps must not be empty, found {range_steps!r}")
    return first, end
