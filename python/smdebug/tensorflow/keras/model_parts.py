"""The parts of a model of Keras: the settings of its layers and optimizer, the layer that its
inputs reach first, and the activation that computes its outputs. Nothing is called that belongs to
a script."""

from __future__ import annotations

from typing import Any

import keras

from smdebug.hook_arguments import encodable
from smdebug.tensorflow.private_names import (
    learning_rate_variable,
    producer_of,
    scaled_optimizer,
)
from smdebug.tensorflow.variable_values import value_of

L = keras.layers
# Layers of Keras -> their attributes that are facts, under the names that PyTorch gives them.
_DROPOUT = {"rate": "p"}
_RECURRENT = {"dropout": "dropout"}
_NORMALIZATION = {"epsilon": "eps", "momentum": "momentum", "groups": "num_groups"}
_NORMALIZATIONS = ("BatchNormalization", "LayerNormalization", "GroupNormalization")
# Attributes of an optimizer -> the names of its settings.
_OPTIMIZER = {
    "weight_decay": "weight_decay",
    "momentum": "momentum",
    "epsilon": "eps",
    "beta_1": "beta1",
    "beta_2": "beta2",
}
# Layers that do not change the elements of what they are given.
_PASSING = ("InputLayer", "Flatten", "Reshape", "Permute", "RepeatVector")
_JOINING = ("Concatenate",)
# Functions -> the activation as LossInputFacts names it. TensorFlow has its own.
_ACTIVATIONS = {
    "linear": "Linear",
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "softmax": "Softmax",
    "softmax_v2": "Softmax",
    "tanh": "Tanh",
    "log_softmax": "LogSoftmax",
    "log_softmax_v2": "LogSoftmax",
}
_WITH_WEIGHTS = ("Dense", "EinsumDense", "Conv1D", "Conv2D", "Conv3D")


def is_of_keras(thing: Any) -> bool:
    """Returns whether a class or function belongs to Keras."""
    module = getattr(thing, "__module__", None) or ""
    return module.partition(".")[0] in ("keras", "tf_keras")


def layer_settings(layer: Any) -> dict[str, float]:
    """The settings of a layer of Keras that are facts."""
    kind = type(layer)
    if not is_of_keras(kind):
        return {}
    if "Dropout" in kind.__name__:
        return _numbers(layer, _DROPOUT)
    if isinstance(layer, L.RNN) or kind.__name__ == "MultiHeadAttention":
        return _numbers(getattr(layer, "cell", layer), _RECURRENT)
    if kind.__name__ not in _NORMALIZATIONS:
        return {}
    settings = _numbers(layer, _NORMALIZATION)
    if kind.__name__ == "BatchNormalization":
        settings["track_running_stats"] = 1.0
    return settings


def learning_rate(optimizer: Any) -> float | None:
    """The learning rate of an optimizer; None if a schedule computes it."""
    variable = learning_rate_variable(optimizer)
    return None if variable is None else float(value_of(variable))


def optimizer_settings(optimizer: Any) -> dict[str, float]:
    """The settings of an optimizer except its learning rate."""
    return _numbers(scaled_optimizer(optimizer), _OPTIMIZER)


def first_layer(model: Any, number: int) -> str:
    """The kind of the layer or operation that the input `number` of a model reaches first; "" if
    that is unknown."""
    if not is_made_of_layers(model):
        return ""
    if isinstance(model, keras.Sequential):
        return _kind_of_first([each for each in model.layers if type(each) is not L.InputLayer])
    # Keras 2 lists operations among the layers.
    parts = [
        each
        for each in getattr(model, "operations", None) or model.layers
        if type(each).__name__ != "InputLayer"
    ]
    return (
        _kind_of_first(parts) if len(model.inputs) == 1 else _receiver(parts, model.inputs[number])
    )


def input_rank(model: Any, number: int) -> int:
    """The number of dimensions of the input `number` of a model."""
    return len(model.inputs[number].shape)


def _kind_of_first(layers):
    for layer in layers:
        if type(layer).__name__ in _PASSING:
            continue
        if isinstance(layer, keras.Model):
            return first_layer(layer, 0)
        return encodable(type(layer).__name__)
    return ""


def _receiver(parts, tensor):
    """The kind of the first of `parts` that changes `tensor`; "" if it is unknown."""
    for number, part in enumerate(parts):
        if not any(each is tensor for each in _tensors_at(part, "input")):
            continue
        kind = type(part).__name__
        if kind not in _PASSING + _JOINING:
            return encodable(kind)
        outputs = _tensors_at(part, "output")
        return _receiver(parts[number + 1 :], outputs[0]) if len(outputs) == 1 else ""
    return ""


def _tensors_at(part, name):
    try:
        found = getattr(part, name)
    except (AttributeError, ValueError):  # it is called several times, or never
        return []
    found = list(found.values()) if isinstance(found, dict) else found
    return found if isinstance(found, (list, tuple)) else [found]


def last_activation(model: Any, number: int = 0) -> str:
    """The activation that computes the output `number` of a model: "Softmax", "Linear", ..., or ""
    if it is unknown."""
    if not is_made_of_layers(model):
        return ""
    if isinstance(model, keras.Sequential):
        parts = [each for each in model.layers if type(each).__name__ not in _PASSING]
        return _activation_of(parts[-1]) if parts else ""
    outputs = model.outputs
    return _activation_of(producer_of(outputs[number])) if number < len(outputs) else ""


def _activation_of(part):
    kind = type(part)
    if isinstance(part, keras.Model):
        return last_activation(part) if len(part.outputs or ()) <= 1 else ""
    if not is_of_keras(kind):
        return ""
    if kind.__name__ == "TimeDistributed":
        return _activation_of(part.layer)
    if kind.__name__ in ("Softmax", "ReLU", "Sigmoid", "Tanh", "Relu"):
        return _of_activation_layer(part)
    if kind.__name__ == "Activation":
        found = _name_of(part.activation)
        return "" if found == "Linear" else found
    return _name_of(part.activation) if kind.__name__ in _WITH_WEIGHTS else ""


def _of_activation_layer(part):
    # A ReLU may have other bounds than 0 and infinity, a softmax another dimension than the last.
    settings = ("max_value", "negative_slope", "threshold")
    if any(getattr(part, each, None) for each in settings) or getattr(part, "axis", -1) != -1:
        return ""
    name = type(part).__name__
    return "Relu" if name == "ReLU" else name


def _name_of(function):
    name = getattr(function, "__name__", "")
    module = (getattr(function, "__module__", None) or "").partition(".")[0]
    is_known = module in ("keras", "tf_keras", "tensorflow", "jax", "torch")
    return _ACTIVATIONS.get(name, "") if is_known else ""


def is_made_of_layers(model: Any) -> bool:
    """Returns whether Keras itself calls the layers of a model, one after another or as a graph."""
    has_order = isinstance(model, keras.Sequential) or getattr(model, "inputs", None)
    return bool(has_order) and is_of_keras(type(model).call)


def _numbers(owner, wanted):
    found = {name: _number(getattr(owner, key, None)) for key, name in wanted.items()}
    return {name: number for name, number in found.items() if number is not None}


def _number(value):
    if value is None or callable(value):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
