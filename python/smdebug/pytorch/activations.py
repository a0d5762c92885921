"""Collections of the inputs and outputs of activations, whatever the names of their modules.

The rules for activations read `relu_output`, `relu_input`, `tanh_input` and `sigmoid_input`. No
pattern of names could find them: a module in an nn.Sequential is called "1".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from torch import nn

from smdebug.activation_collections import kind_and_side

if TYPE_CHECKING:
    from smdebug.collection import Collection

_MODULES = {"relu": (nn.ReLU, nn.ReLU6), "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}


def activation_patterns(collection: Collection, paths: Mapping[nn.Module, str]) -> list[str]:
    """The patterns of the activations that the name of the collection stands for; empty for any
    other name, and for a collection that names tensors itself.

    `paths` maps modules to their paths.
    """
    kind, side = kind_and_side(collection)
    if kind is None:
        return []
    modules = _MODULES[kind]
    found = [re.escape(path) for module, path in paths.items() if isinstance(module, modules)]
    return [f"^(?:{'|'.join(found)})_{side}_"] if found else []
