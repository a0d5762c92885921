"""Collections of what activations take and give, whatever the names of their modules.

`relu_output`, `relu_input`, `tanh_input` and `sigmoid_input` are those that the rules for
activations look for. A module in an nn.Sequential is called "1", so no pattern could find it.
"""

import re

from torch import nn

_KINDS = {
    "relu_input": ((nn.ReLU, nn.ReLU6), "input"),
    "relu_output": ((nn.ReLU, nn.ReLU6), "output"),
    "tanh_input": ((nn.Tanh,), "input"),
    "sigmoid_input": ((nn.Sigmoid,), "input"),
}
ACTIVATION_COLLECTIONS = frozenset(_KINDS)


def activation_patterns(collection, paths):
    """Patterns of what the collection's name says, empty for any other name.

    `paths` maps modules to their paths. A collection that names tensors by itself is left alone.
    """
    if collection.name not in _KINDS or collection.has_members():
        return []
    kinds, side = _KINDS[collection.name]
    found = [re.escape(path) for module, path in paths.items() if isinstance(module, kinds)]
    return [f"^(?:{'|'.join(found)})_{side}_"] if found else []
