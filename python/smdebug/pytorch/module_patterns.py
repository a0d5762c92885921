"""Collections that select tensors by the module they belong to, instead of by name.

| collection | tensors |
|---|---|
| `inputs`, `outputs` | the inputs and outputs of registered models |
| `labels` | all inputs of registered losses after the first |
| `relu_output`, `relu_input`, `tanh_input`, `sigmoid_input` | inputs and outputs of activations |
| any, after `add_module_tensors` | inputs and outputs of that module |

They select tensors that are recorded anyway. A model or loss that is registered during a step
belongs to them from the next step on. The rules for activations read those of the third row: no
pattern of names could find them, because a module in an nn.Sequential is called "1".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from torch import nn

from smdebug.activation_collections import KINDS, kind_and_side
from smdebug.added_parts import patterns_of_added

if TYPE_CHECKING:
    from smdebug.collection import Collection

LOOP_COLLECTIONS = frozenset({"inputs", "outputs", "labels"})
_MODULES = {"relu": (nn.ReLU, nn.ReLU6), "tanh": (nn.Tanh,), "sigmoid": (nn.Sigmoid,)}


def loop_patterns(
    collection_name: str, root_names: Iterable[str], loss_names: Iterable[str]
) -> list[str]:
    """Returns the patterns of one of LOOP_COLLECTIONS; none for any other name."""
    if collection_name == "inputs":
        return [f"^{re.escape(name)}_input_" for name in root_names]
    if collection_name == "outputs":
        return [f"^{re.escape(name)}_output_" for name in root_names]
    if collection_name == "labels":
        return [rf"^{re.escape(name)}_input_(?!0\b)" for name in loss_names]
    return []


def activation_modules() -> dict[str, tuple[type[nn.Module], ...]]:
    """The modules whose tensors each collection of activations selects, by its name."""
    return {name: _MODULES[kind] for name, (kind, _) in KINDS.items()}


def activation_patterns(collection: Collection, paths: Mapping[nn.Module, str]) -> list[str]:
    """Returns the patterns of the activations that the name of the collection stands for; none for
    any other name, and for a collection that names tensors itself.

    `paths` maps modules to their paths.
    """
    kind, side = kind_and_side(collection)
    if kind is None:
        return []
    modules = _MODULES[kind]
    found = [re.escape(path) for module, path in paths.items() if isinstance(module, modules)]
    return [f"^(?:{'|'.join(found)})_{side}_"] if found else []


def added_module_patterns(
    collection: Collection, paths: Mapping[nn.Module, str], is_final: bool
) -> list[str]:
    """Returns the patterns of the modules that were added to the collection.

    `paths` maps modules to their paths. Modules without one are left out: see `foreign_modules`.
    Raises SMDebugValueError if nothing else is in the collection, but not if `is_final` is False,
    because their model may still be registered.
    """
    foreign = foreign_modules(collection, paths) if is_final else []
    return patterns_of_added(collection, _added_modules(collection), paths, foreign)


def foreign_modules(collection: Collection, paths: Mapping[nn.Module, str]) -> list[str]:
    """Returns a sentence about each module of the collection that no registered model holds."""
    return [
        f"collection '{collection.name}' names a {type(module).__name__} that is in no "
        "registered model; call register_module with the model that holds it"
        for module, _, _ in _added_modules(collection)
        if module not in paths
    ]


def _added_modules(collection: Collection) -> list[tuple[nn.Module, bool, bool]]:
    return getattr(collection, "module_tensors", list)()
