"""Collections of what activations take and give, whatever the names of their blocks.

`relu_output`, `relu_input`, `tanh_input` and `sigmoid_input` are those that the rules for
activations look for.
"""

import re

from smdebug.activation_collections import kind_and_side
from smdebug.mxnet.private_names import activation_kind


def activation_patterns(collection, names):
    """Patterns of what the collection's name says, empty for any other name.

    `names` maps blocks to their names. A collection that names tensors by itself is left alone.
    """
    kind, side = kind_and_side(collection)
    if kind is None:
        return []
    found = [re.escape(name) for block, name in names.items() if activation_kind(block) == kind]
    return [f"^(?:{'|'.join(found)})_{side}_"] if found else []
