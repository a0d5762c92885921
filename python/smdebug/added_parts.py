"""The modules or blocks that a script adds to a collection, for every adapter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from smdebug.exceptions import SMDebugValueError

if TYPE_CHECKING:
    from smdebug.collection import Collection


def patterns_of_added(
    collection: Collection,
    added: Iterable[tuple[Any, bool, bool]],
    paths: Mapping[Any, str],
    foreign: Sequence[str],
) -> list[str]:
    """Returns the patterns of the parts that were added to a collection: each with whether its
    inputs and its outputs are selected. `paths` maps recorded parts to their names.

    `foreign` has a sentence about each part that will never be recorded. Raises SMDebugValueError
    with the first one if nothing else is in the collection.
    """
    patterns = []
    for part, inputs, outputs in added:
        if path := paths.get(part):
            sides = (["input"] if inputs else []) + (["output"] if outputs else [])
            patterns += [f"^{re.escape(path)}_{side}_" for side in sides]
    if foreign and not patterns and not collection.has_members():
        raise SMDebugValueError(foreign[0])
    return patterns
