"""The private names of TensorFlow and Keras that the adapter relies on, each with what holds
without it.

| name | used for | without it |
|---|---|---|
| function.autograph_info__ | our wrappers are not converted by AutoGraph | they are converted |
| tf.__internal__.autograph | a user's train_step is converted as before | it is called as it is |
| Layer._flatten_layers | layers inside layers | those that `layers` lists |
| optimizer._hyper | learning rate and the like of legacy optimizers | not saved |
| control_flow_util.GraphOrParentsInXlaContext | whether XLA compiles a function | see below |
| FuncGraph.captures, Tensor._handle_data | the variables that a step uses | see below |
| FuncGraph.outer_graph | the same of a step in a loop | see below |
| Operation._update_input | a second graph draws the random numbers of a first | see below |
| op_def_registry.get | whether an operation has state | each has, see below |
| model._steps_per_execution | the batches of a step on Keras 2 | see below |
| Function.__call__ | what a compiled function leaves behind | nothing of those is recorded |

Where it cannot be told whether a function is compiled, no step of a loop is recorded from inside of
one: a graph with our calls in it could not be compiled. Where it cannot be told what
a step of Keras changes, or of how many batches it is, one function always hands its tensors out.

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


def function_graphs(graph):
    """`graph` and the graphs of functions around it, as of a loop's body."""
    while graph is not None and getattr(graph, "building_function", False):
        yield graph
        graph = getattr(graph, "outer_graph", None)


def variable_handles(graph):
    """(handle, dtype) of each variable that the graph of a function reads or writes, less those
    that it is given by a graph around it; or None where they cannot be told."""
    import tensorflow as tf

    if not hasattr(graph, "captures"):
        return None
    handles = [
        outer
        for outer, _ in graph.captures
        if outer.dtype == tf.resource and not tf.is_symbolic_tensor(outer)
    ]
    held = [getattr(handle, "_handle_data", None) for handle in handles]
    if not all(data and data.shape_and_type for data in held):
        return None
    return [
        (handle, tf.dtypes.as_dtype(data.shape_and_type[0].dtype))
        for handle, data in zip(handles, held, strict=True)
    ]


def can_replace_inputs():
    import tensorflow as tf

    return hasattr(tf.Operation, "_update_input")


def replace_input(operation, index, tensor):
    """Has an operation of a graph that is being made take `tensor`."""
    operation._update_input(index, tensor)


def is_stateful_operation(name):
    """Whether TensorFlow counts an operation among those with state; as if so where unknown."""
    registry = _operation_registry()
    definition = registry.get(name) if registry is not None else None
    return definition is None or definition.is_stateful


@functools.cache
def _operation_registry():
    try:
        from tensorflow.python.framework import op_def_registry
    except ImportError:
        return None
    return op_def_registry if hasattr(op_def_registry, "get") else None


def steps_per_execution(model):
    """How many batches a function of `model` takes, or None where that cannot be told."""
    import tensorflow as tf

    steps = getattr(model, "steps_per_execution", None)
    if steps is None:
        steps = getattr(model, "_steps_per_execution", None)
    if hasattr(steps, "numpy"):  # a variable, on Keras 2
        with tf.init_scope():  # also while a step is traced
            steps = steps.numpy()
    return None if steps is None else int(steps)
