"""The collections of the inputs and outputs of activations, which some rules look for.

Each adapter finds the tensors of these collections by the type of a module, whatever its name is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smdebug.collection import Collection

# Collection -> (activation, side).
KINDS = {
    "relu_input": ("relu", "input"),
    "relu_output": ("relu", "output"),
    "tanh_input": ("tanh", "input"),
    "sigmoid_input": ("sigmoid", "input"),
}
ACTIVATION_COLLECTIONS: frozenset[str] = frozenset(KINDS)


def kind_and_side(collection: Collection) -> tuple[str, str] | tuple[None, None]:
    """The activation and the side that a collection stands for: ("relu", "output") for
    `relu_output`.

    (None, None) for any other collection, and for one that has its own patterns or tensors.
    """
    if collection.has_members():
        return None, None
    return KINDS.get(collection.name, (None, None))
