"""Collections of what activations take and give, whatever the names of their layers.

`relu_output`, `relu_input`, `tanh_input` and `sigmoid_input` are those that the rules for
activations look for. Most activations of Keras have no layer: `Dense(8, activation="relu")` gives
what its ReLU gives, and what that takes is inside. It is recorded as `<layer>/relu_input`.
"""

import contextlib
import functools
import re

import keras

from smdebug.activation_collections import kind_and_side
from smdebug.tensorflow import names
from smdebug.tensorflow.private_names import left_alone

# By the names of the functions: Keras, TensorFlow and JAX have one each.
_FUNCTIONS = {"relu": "relu", "relu6": "relu", "tanh": "tanh", "sigmoid": "sigmoid"}


def activation_patterns(collection, layers):
    """Patterns of what the collection's name says, empty for any other name.

    `layers` holds (name, layer) of each. A collection that names tensors by itself is left alone.
    """
    kind, side = kind_and_side(collection)
    if kind is None:
        return []
    found = [
        re.escape(names.layer_outputs(name) if side == "output" else _input_name(name, layer))
        for name, layer in layers
        if activation_kind(layer) == kind
    ]
    return [rf"^(?:{'|'.join(found)})(_\d+)?$"] if found else []


def activation_kind(layer):
    """What gives the outputs of a layer: "relu", "tanh", "sigmoid", or None for anything else."""
    if isinstance(layer, keras.layers.ReLU):
        return None if layer.negative_slope else "relu"
    is_recurrent = isinstance(layer, keras.layers.RNN) or hasattr(layer, "state_size")
    if is_recurrent or not _is_called_as_by_keras(layer):
        return None
    return _FUNCTIONS.get(getattr(getattr(layer, "activation", None), "__name__", None))


def has_inner_input(layer):
    """Whether the activation of a layer takes something else than the layer does."""
    is_activation = isinstance(layer, (keras.layers.ReLU, keras.layers.Activation))
    return not is_activation and "activation" in vars(layer) and activation_kind(layer) is not None


@contextlib.contextmanager
def inner_input_told(layer, tell):
    """Within it the activation of a layer that `has_inner_input` tells what it takes."""
    attributes = vars(layer)
    activation = attributes["activation"]

    @functools.wraps(activation)
    def told(x, *arguments, **keywords):
        tell(x)
        return activation(x, *arguments, **keywords)

    attributes["activation"] = left_alone(told)
    try:
        yield
    finally:
        attributes["activation"] = activation


def _input_name(name, layer):
    if has_inner_input(layer):
        return names.activation_input(name, activation_kind(layer))
    return names.layer_inputs(name)


def _is_called_as_by_keras(layer):
    """What a layer of the user's own does with its `activation` is not known."""
    return type(layer).call.__module__.partition(".")[0] in ("keras", "tf_keras")
