"""Collections of the inputs and outputs of activations, regardless of the names of their layers.

The rules for activations use `relu_output`, `relu_input`, `tanh_input` and `sigmoid_input`. Most
activations of Keras have no layer: the outputs of `Dense(8, activation="relu")` are those of its
ReLU, and the input of the ReLU is inside. It is recorded as `<layer>/relu_input`.
"""

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras

from smdebug import _core
from smdebug.activation_collections import kind_and_side
from smdebug.tensorflow.private_names import left_alone

# By the names of the functions: Keras, TensorFlow and JAX each have their own.
_FUNCTIONS = {"relu": "relu", "relu6": "relu", "tanh": "tanh", "sigmoid": "sigmoid"}


def activation_patterns(collection: Any, layers: Sequence[tuple[str, Any]]) -> list[str]:
    """Returns regular expressions for the tensors of a collection such as `relu_input`, by the
    types of the `layers`: (name, layer) of each. Returns none for any other collection, and for one
    that names its tensors itself."""
    kind, side = kind_and_side(collection)
    if kind is None:
        return []
    found = [
        re.escape(_core.layer_outputs_name(name) if side == "output" else _input_name(name, layer))
        for name, layer in layers
        if activation_kind(layer) == kind
    ]
    return [rf"^(?:{'|'.join(found)})(_\d+)?$"] if found else []


def activation_kind(layer: Any) -> str | None:
    """Returns the activation that produces the outputs of a layer: "relu", "tanh", "sigmoid", or
    None for anything else."""
    if isinstance(layer, keras.layers.ReLU):
        return None if layer.negative_slope else "relu"
    is_recurrent = isinstance(layer, keras.layers.RNN) or hasattr(layer, "state_size")
    if is_recurrent or not _is_called_as_by_keras(layer):
        return None
    return _FUNCTIONS.get(getattr(getattr(layer, "activation", None), "__name__", None))


def has_inner_input(layer: Any) -> bool:
    """Returns whether the input of a layer's activation differs from the input of the layer."""
    is_activation = isinstance(layer, (keras.layers.ReLU, keras.layers.Activation))
    return not is_activation and "activation" in vars(layer) and activation_kind(layer) is not None


@contextlib.contextmanager
def inner_input_reported(layer: Any, report: Callable[[Any], None]) -> Iterator[None]:
    """Returns a context in which the activation of a layer that `has_inner_input` calls
    `report(input)`."""
    attributes = vars(layer)
    activation = attributes["activation"]

    @functools.wraps(activation)
    def reporting(x, *arguments, **keywords):
        report(x)
        return activation(x, *arguments, **keywords)

    attributes["activation"] = left_alone(reporting)
    try:
        yield
    finally:
        attributes["activation"] = activation


def _input_name(name, layer):
    if has_inner_input(layer):
        return _core.activation_input_name(name, activation_kind(layer))
    return _core.layer_inputs_name(name)


def _is_called_as_by_keras(layer):
    """Returns whether Keras's own code calls the activation: a user's layer may use it in any
    way."""
    return type(layer).call.__module__.partition(".")[0] in ("keras", "tf_keras")
