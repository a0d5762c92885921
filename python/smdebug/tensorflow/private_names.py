"""The private names of TensorFlow and Keras that the adapter relies on, each with what holds
without it.

| name | used for | without it |
|---|---|---|
| function.autograph_info__ | our wrappers are not converted by AutoGraph | they are converted |
| tf.__internal__.autograph | a user's train_step is converted as before | it is called as it is |
| Layer._flatten_layers | layers inside layers | those that `layers` lists |
| optimizer._hyper | learning rate and the like of legacy optimizers | not saved |
"""

import functools
import sys


def left_alone(function):
    """`function`, as one that AutoGraph calls as it is. What it calls is still converted."""

    @functools.wraps(function)
    def call(*arguments, **keywords):
        return function(*arguments, **keywords)

    call.autograph_info__ = {}
    return call


def as_traced(function):
    """`function` as AutoGraph would call it here: converted inside a tf.function."""
    tf = sys.modules.get("tensorflow")
    autograph = getattr(getattr(tf, "__internal__", None), "autograph", None)
    if autograph is None or tf.executing_eagerly():
        return function
    return autograph.tf_convert(function, autograph.control_status_ctx())


def layers_inside(layer):
    """The layers that a layer or model holds itself, not those inside them."""
    flatten = getattr(layer, "_flatten_layers", None)
    if flatten is None:
        return list(getattr(layer, "layers", ()))
    return [each for each in flatten(recursive=False, include_self=False) if each is not layer]


def hyper_variables(optimizer):
    """The variables of a legacy optimizer that are no slots."""
    hyper = getattr(optimizer, "_hyper", None) or {}
    return [value for _, value in sorted(hyper.items()) if hasattr(value, "assign")]
