"""Models of Keras without any activation between their layers. See `linear_layers` of
`LossInputFacts` in include/smdebug/core/run_facts.h."""

from collections.abc import Iterator
from typing import Any

import keras

from smdebug.tensorflow.keras.model_parts import is_made_of_layers, is_of_keras

_WITH_KERNEL = ("Dense", "Conv1D", "Conv2D", "Conv3D")
# Layers that one with a kernel can replace, or that act on each sample alike.
_LINEAR = frozenset(
    "InputLayer Flatten Reshape Permute RepeatVector Dropout SpatialDropout1D SpatialDropout2D "
    "SpatialDropout3D ZeroPadding1D ZeroPadding2D ZeroPadding3D AveragePooling1D AveragePooling2D "
    "AveragePooling3D GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D "
    "BatchNormalization Rescaling Normalization Embedding".split()
)


def linear_layers(model: Any) -> int:
    """Returns how many layers with a kernel follow each other of which a single one could do the
    same: no activation is between them, and none has fewer units than the inputs and the outputs.
    0 if there are none, or if they are not known."""
    layers = list(_layers_of(model))
    known = [each for each in layers if _has_kernel(each)]
    if len(known) < 2:
        return 0
    before = layers[: layers.index(known[-1])]
    if not all(_has_kernel(each) or _is_linear(each) for each in before):
        return 0
    if any(each.activation is not keras.activations.linear for each in known[:-1]):
        return 0
    units = [int(each.kernel.shape[-1]) for each in known]
    inputs = int(known[0].kernel.shape[-2])
    return len(known) if min(units[:-1]) >= min(inputs, units[-1]) else 0


def _layers_of(model: Any) -> Iterator[Any]:
    """The layers of a chain, with those of models inside of it; none of any other model."""
    if not is_made_of_layers(model) or not isinstance(model, keras.Sequential):
        return
    for layer in model.layers:
        if isinstance(layer, keras.Sequential):
            yield from _layers_of(layer)
        else:
            yield layer


def _has_kernel(layer: Any) -> bool:
    kind = type(layer)
    return kind.__name__ in _WITH_KERNEL and is_of_keras(kind) and hasattr(layer, "kernel")


def _is_linear(layer: Any) -> bool:
    return type(layer).__name__ in _LINEAR and is_of_keras(type(layer))
