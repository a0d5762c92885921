"""The modules or blocks that a script adds to a collection, for every adapter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from smdebug.exceptions import SMDebugValueError
from smdebug.near_names import refuse_attribute_of

if TYPE_CHECKING:
    from smdebug.collection import Collection


# How the collection of each framework takes a part of a model.
_ADDING_METHODS = ("add_module_tensors", "add_block_tensors", "add_keras_layer")


def refuse_attribute(collection: Collection, name: str, method: str) -> NoReturn:
    """Raises AttributeError for an attribute that a collection does not have. If it is the method
    of another framework, names `method`, that of its own."""
    hint = f"use {method}" if name in _ADDING_METHODS else ""
    refuse_attribute_of(collection, name, hint)


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
