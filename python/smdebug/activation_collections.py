"""The collections of what activations take and give, which the rules for activations look for.

Whose tensors they are, each framework tells by the kind of a module, whatever its name is.
"""

_KINDS = {
    "relu_input": ("relu", "input"),
    "relu_output": ("relu", "output"),
    "tanh_input": ("tanh", "input"),
    "sigmoid_input": ("sigmoid", "input"),
}
ACTIVATION_COLLECTIONS = frozenset(_KINDS)


def kind_and_side(collection):
    """("relu", "output") of `relu_output`, and the like; (None, None) of any other collection, and
    of one that names tensors by itself."""
    if collection.has_members():
        return None, None
    return _KINDS.get(collection.name, (None, None))
