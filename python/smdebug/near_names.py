"""Names that a script may have meant by one that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest_of(name: object, known: Iterable[str], nothing: str) -> str:
    """The end of a message about `name`: the names in `known` that are near to it, or all of them
    if none is; `nothing` if there are none."""
    names = list(known)
    nearest = difflib.get_close_matches(name, names, n=3) if isinstance(name, str) else []
    if nearest:
        return "the nearest names are " + ", ".join(map(repr, nearest))
    return "there are " + ", ".join(map(repr, names)) if names else nothing
