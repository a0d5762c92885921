"""The message for a keyword argument that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from smdebug.exceptions import SMDebugTypeError


def refuse_unknown_arguments(taker: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises SMDebugTypeError for the first of `given` that is not in `known`, the arguments of
    `taker`, with the nearest ones, or with all of them if none is near."""
    names = list(known)
    for name in given:
        if name in names:
            continue
        nearest = difflib.get_close_matches(name, names, n=1) or [
            each for each in names if name in each.split("_")
        ]
        hint = f"did you mean '{nearest[0]}'" if nearest else f"it takes {', '.join(names)}"
        raise SMDebugTypeError(f"{taker} has no argument '{name}'; {hint}")
