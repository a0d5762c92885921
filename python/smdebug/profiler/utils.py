"""Import path of the original library: `str2bool`, a type of arguments for argparse."""

from __future__ import annotations

from smdebug.booleans import find_boolean
from smdebug.exceptions import SMDebugValueError


def str2bool(v: str | bool) -> bool:
    """The boolean that a word such as "true", "no" or "1" stands for, in any case; a bool stays as
    it is. Raises SMDebugValueError, a ValueError, for anything else."""
    if isinstance(v, bool):
        return v
    found = find_boolean(v) if isinstance(v, str) else None
    if found is None:
        raise SMDebugValueError(f"expected a word such as 'true' or 'false', found {v!r}")
    return found
