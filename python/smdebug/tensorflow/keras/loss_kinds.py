"""The losses of a compiled model: which function computes each, and with which settings."""

from __future__ import annotations

from typing import Any

import keras

from smdebug.hook_arguments import encodable
from smdebug.measured_loss import LossKind

# Keras's name of a function -> the name in LossInputFacts.
_FUNCTIONS = {
    "mean_squared_error": "mse_loss",
    "mean_absolute_error": "l1_loss",
    "huber": "huber_loss",
    "binary_crossentropy": "binary_cross_entropy",
    "categorical_crossentropy": "categorical_cross_entropy",
    "sparse_categorical_crossentropy": "categorical_cross_entropy",
}
# The functions of Keras's classes.
_CLASSES = {
    "MeanSquaredError": "mean_squared_error",
    "MeanAbsoluteError": "mean_absolute_error",
    "Huber": "huber",
    "BinaryCrossentropy": "binary_crossentropy",
    "CategoricalCrossentropy": "categorical_crossentropy",
    "SparseCategoricalCrossentropy": "sparse_categorical_crossentropy",
}
_REDUCTIONS = {"auto": "mean", "sum_over_batch_size": "mean", "sum": "sum", "none": "none"}


def loss_kinds(model: Any) -> list[LossKind]:
    """The losses that a model was compiled with, one for each output that has one."""
    given = getattr(model, "loss", None)
    if isinstance(given, dict):
        given = list(given.values())
    given = given if isinstance(given, (list, tuple)) else [given]
    return [loss_kind(each) for each in given if each is not None]


def loss_kind(loss: Any) -> LossKind:
    """The kind of one loss, as a model was compiled with it."""
    if isinstance(loss, str):
        loss = keras.losses.get(loss)
    if isinstance(loss, keras.losses.Loss):
        return _of_object(loss)
    name = getattr(loss, "__name__", type(loss).__name__)
    if not _is_of_keras(loss):
        return LossKind(encodable(name))
    # Keras takes the mean of what its functions return for each sample.
    return _with_function(LossKind(encodable(name), "mean"), name)


def _of_object(loss):
    name = type(loss).__name__
    reduction = _REDUCTIONS.get(str(getattr(loss, "reduction", "")), "")
    kind = LossKind(encodable(name), reduction)
    if not _is_of_keras(type(loss)) or name not in _CLASSES:
        return kind
    settings = loss.get_config()
    if settings.get("axis", -1) != -1:
        return kind
    kind = _with_function(kind, _CLASSES[name])
    ignored = settings.get("ignore_class")
    kind.ignored_label = ignored if isinstance(ignored, int) else None
    return kind.of_scores() if settings.get("from_logits") else kind


def _with_function(kind, name):
    kind.function = _FUNCTIONS.get(name, "")
    kind.is_sparse = name.startswith("sparse_")
    return kind


def _is_of_keras(thing):
    module = getattr(thing, "__module__", None) or ""
    return module.partition(".")[0] in ("keras", "tf_keras")
