"""Collections of the inputs and outputs of activations, whatever the names of their blocks.

The rules for activations look for `relu_output`, `relu_input`, `tanh_input` and `sigmoid_input`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mxnet import gluon

from smdebug.activation_collections import kind_and_side
from smdebug.collection import Collection
from smdebug.mxnet.private_names import activation_kind


def activation_patterns(collection: Collection, names: Mapping[gluon.Block, str]) -> list[str]:
    """Returns the patterns that the name of a collection stands for, none for any other name.

    `names` maps blocks to their names. A collection with its own patterns or tensors gets none.
    """
    kind, side = kind_and_side(collection)
    if kind is None:
        return []
    found = [re.escape(name) for block, name in names.items() if activation_kind(block) == kind]
    return [f"^(?:{'|'.join(found)})_{side}_"] if found else []
