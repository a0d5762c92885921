"""The private names of TensorFlow and Keras that the adapter relies on, each with what holds
without it.

| name | used for | without it |
|---|---|---|
| function.autograph_info__ | our wrappers are not converted by AutoGraph | they are converted |
| tf.__internal__.autograph | a user's train_step is converted as before | it is called as it is |
| Layer._flatten_layers | layers inside layers | those that `layers` lists |
| optimizer._hyper | learning rate and the like of legacy optimizers | not saved |
| control_flow_util.GraphOrParentsInXlaContext | whether XLA compiles a function | see below |
| Function.__call__ | what a compiled function leaves behind | nothing of those is recorded |

Where it cannot be told whether a function is compiled, no step of a loop is recorded from inside of
one: a graph with our calls in it could not be compiled.

TensorFlow is imported by who asks for names of its own: Keras may run without it.
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


def is_compilation_known():
    return _is_in_xla_context() is not None


def is_compiled():
    """Whether XLA compiles the function that is being traced."""
    import tensorflow as tf

    is_in_xla_context = _is_in_xla_context()
    return is_in_xla_context is not None and is_in_xla_context(tf.compat.v1.get_default_graph())


@functools.cache
def _is_in_xla_context():
    try:
        from tensorflow.python.ops.control_flow_util import GraphOrParentsInXlaContext
    except ImportError:
        return None
    return GraphOrParentsInXlaContext


@functools.cache
def function_class():
    """The class of what tf.function gives."""
    import tensorflow as tf

    return type(tf.function(lambda: None))
