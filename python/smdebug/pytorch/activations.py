"""Collections of what activations take and give, whatever the names of their modules.

`relu_output`, `relu_input`, `tanh_input` and `sigmoid_input` are those that the rules for
activations look for. A module in an nn.Sequential is called "1", so no pattern could find it.
"""

import re

from torch import nn

from smdebug.activation_collections import kind_and_side

_MODULES = {"relu": (nn.ReLU, nn.ReLU6), "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}


def activation_patterns(collection, paths):
    """Patterns of what the collection's name says, empty for any other name.

    `paths` maps modules to their paths. A collection that names tensors by itself is left alone.
    """
    kind, side = kind_and_side(collection)
    if kind is None:
        return []
    modules = _MODULES[kind]
    found = [re.escape(path) for module, path in paths.items() if isinstance(module, modules)]
    return [f"^(?:{'|'.join(found)})_{side}_"] if found else []
