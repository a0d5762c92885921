"""The private names of TensorFlow and Keras that the adapter uses, and the behavior without each.

| name | used for | without it |
|---|---|---|
| function.autograph_info__ | AutoGraph does not convert our wrappers | they are converted |
| tf.__internal__.autograph | a user's train_step is converted as before | it is not converted |
| Layer._flatten_layers | layers inside layers | those that `layers` lists |
| tensor._keras_history | the layer that computes the output of a model | it is unknown |
| tensor._keras_logits | whether a loss finds the scores behind a softmax | see below |
| tensor._keras_mask | whether a loss ignores some of its targets | none is known |
| optimizer._hyper | learning rate and similar of legacy optimizers | not saved |
| optimizer._learning_rate, _current_learning_rate | the learning rate of every step | no series |
| control_flow_util.GraphOrParentsInXlaContext | whether XLA compiles a function | see below |
| FuncGraph.captures, Tensor._handle_data | the variables that a step uses | see below |
| FuncGraph.outer_graph | the same of a step in a loop | see below |
| Operation._update_input | a second graph uses the random numbers of the first | see below |
| op_def_registry.get | whether an operation has state | every operation has, see below |
| model._steps_per_execution | the batches of a step on Keras 2 | see below |
| Function.__call__ | the tensors of a compiled function | they are not recorded |
| op_callbacks.add_op_callback, EagerTensor._id | the operations of a loss in eager code | unknown |
| ops.uid, Variable._unique_id | whether a variable is older than the first step | unknown |

If it is unknown whether a function is compiled, no step of a loop inside a function is recorded: a
graph with our calls in it could not be compiled. If the changes of a Keras step or its number of
batches are unknown, one function always returns the captured tensors.

If it is unknown whether a loss of Keras finds the scores behind a softmax, it is taken to find
them.

Callers import TensorFlow themselves where they need it: Keras may run without it.
"""

import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any


def left_alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that calls `function`, and that AutoGraph does not convert. AutoGraph
    still converts the functions that `function` calls."""

    @functools.wraps(function)
    def call(*arguments, **keywords):
        return function(*arguments, **keywords)

    call.autograph_info__ = {}
    return call


def as_traced(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `function` as AutoGraph would call it here: converted inside a tf.function."""
    tf = sys.modules.get("tensorflow")
    autograph = getattr(getattr(tf, "__internal__", None), "autograph", None)
    if autograph is None or tf.executing_eagerly():
        return function
    return autograph.tf_convert(function, autograph.control_status_ctx())


def layers_inside(layer: Any) -> list[Any]:
    """Returns the layers that a layer or model holds itself, without those inside them."""
    flatten = getattr(layer, "_flatten_layers", None)
    if flatten is None:
        return list(getattr(layer, "layers", ()))
    return [each for each in flatten(recursive=False, include_self=False) if each is not layer]


def producer_of(tensor: Any) -> Any:
    """Returns the layer or operation that computes a symbolic tensor of Keras; None if unknown."""
    history = getattr(tensor, "_keras_history", None)
    return history[0] if history else None


def has_mask(tensor: Any) -> bool:
    """Returns whether Keras has a mask for the elements of a tensor."""
    return getattr(tensor, "_keras_mask", None) is not None


def has_scores_behind(tensor: Any) -> bool:
    """Returns whether a loss of Keras on TensorFlow finds the scores that a softmax or sigmoid was
    given, whose result is `tensor`: it then uses them, whatever `from_logits` is."""
    if hasattr(tensor, "_keras_logits"):
        return True
    try:
        return tensor.op.type in ("Softmax", "Sigmoid")
    except (AttributeError, RuntimeError, NotImplementedError):  # eager code has no operations
        return False


def hyper_variables(optimizer: Any) -> list[Any]:
    """Returns the variables of a legacy optimizer that are not slots, such as its learning rate."""
    hyper = getattr(optimizer, "_hyper", None) or {}
    return [value for _, value in sorted(hyper.items()) if hasattr(value, "assign")]


def learning_rate_variable(optimizer: Any) -> Any:
    """Returns the variable that holds the learning rate of an optimizer; None if a schedule
    computes it. The public attribute would call the schedule, which may belong to the script."""
    optimizer = scaled_optimizer(optimizer)
    for name in ("_learning_rate", "_current_learning_rate"):  # Keras 2 has the second as well
        found = getattr(optimizer, name, None)
        if hasattr(found, "assign"):
            return found
    found = (getattr(optimizer, "_hyper", None) or {}).get("learning_rate")
    return found if hasattr(found, "assign") else None


def scaled_optimizer(optimizer: Any) -> Any:
    """Returns the optimizer inside a LossScaleOptimizer; any other unchanged."""
    return getattr(optimizer, "inner_optimizer", optimizer)


def is_compilation_known() -> bool:
    """Returns whether `is_compiled` works."""
    return _is_in_xla_context() is not None


def is_compiled() -> bool:
    """Returns whether XLA compiles the function that is being traced."""
    import tensorflow as tf

    is_in_xla_context = _is_in_xla_context()
    return is_in_xla_context is not None and is_in_xla_context(tf.compat.v1.get_default_graph())


def _is_in_xla_context():
    return _private("tensorflow.python.ops.control_flow_util", "GraphOrParentsInXlaContext")


@functools.cache
def _private(module, name):
    """Returns a name of a private module; None if it does not exist."""
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


@functools.cache
def function_class() -> type:
    """Returns the class of the objects that tf.function returns."""
    import tensorflow as tf

    return type(tf.function(lambda: None))


def function_graphs(graph: Any) -> Iterator[Any]:
    """Yields `graph` and the graphs of functions around it, as around the body of a loop."""
    while graph is not None and getattr(graph, "building_function", False):
        yield graph
        graph = getattr(graph, "outer_graph", None)


def variable_handles(graph: Any) -> list[tuple[Any, Any]] | None:
    """Returns (handle, dtype) of each variable that the graph of a function reads or writes, except
    those that a graph around it passes in; None if they are unknown."""
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


def can_replace_inputs() -> bool:
    """Returns whether `replace_input` works."""
    import tensorflow as tf

    return hasattr(tf.Operation, "_update_input")


def replace_input(operation: Any, index: int, tensor: Any) -> None:
    """Makes an operation of a graph that is being built take `tensor` as input `index`."""
    operation._update_input(index, tensor)


def is_stateful_operation(name: str) -> bool:
    """Returns whether TensorFlow calls operations of that type stateful; True if unknown."""
    find = _private("tensorflow.python.framework.op_def_registry", "get")
    definition = find(name) if find is not None else None
    return definition is None or definition.is_stateful


def steps_per_execution(model: Any) -> int | None:
    """Returns how many batches a function of `model` takes; None if unknown."""
    import tensorflow as tf

    steps = getattr(model, "steps_per_execution", None)
    if steps is None:
        steps = getattr(model, "_steps_per_execution", None)
    if hasattr(steps, "numpy"):  # a variable, on Keras 2
        with tf.init_scope():  # also while a step is traced
            steps = steps.numpy()
    return None if steps is None else int(steps)


def op_callbacks() -> Any:
    """Returns the module that reports the operations of eager code; None if there is none."""
    import tensorflow as tf

    if _private("tensorflow.python.framework.op_callbacks", "remove_op_callback") is None:
        return None
    if not hasattr(tf.constant(0), "_id"):
        return None
    return importlib.import_module("tensorflow.python.framework.op_callbacks")


def tensor_number(tensor: Any, is_constant: bool = False) -> float | None:
    """Returns the number that a tensor without dimensions holds, as far as no computation must be
    awaited: one that a graph has as a constant, or, in eager code, a whole number or a constant.
    Else None."""
    if tensor.shape.rank != 0 or not (tensor.dtype.is_floating or tensor.dtype.is_integer):
        return None
    if hasattr(tensor, "numpy"):
        is_known = is_constant or tensor.dtype.is_integer
        return float(tensor.numpy()) if is_known else None
    import tensorflow as tf

    number = tf.get_static_value(tensor)
    return None if number is None else float(number)


def constant_sizes(tensor: Any) -> tuple[int, ...] | None:
    """Returns the numbers of a constant of a graph that may be a shape; None for any other
    tensor."""
    import tensorflow as tf

    if tensor.op.type != "Const" or tensor.shape.rank != 1 or not tensor.dtype.is_integer:
        return None
    numbers = tf.get_static_value(tensor) if tensor.shape.num_elements() <= 8 else None
    return None if numbers is None else tuple(int(each) for each in numbers)


def newest_number() -> int | None:
    """Returns a number that is larger than `age_of` any variable so far; None if unknown."""
    uid = _private("tensorflow.python.framework.ops", "uid")
    return None if uid is None else int(uid())


def age_of(variable: Any) -> int | None:
    """Returns the number of a variable of TensorFlow, which increases from one to the next; None
    if it is unknown."""
    number = str(getattr(variable, "_unique_id", "")).rpartition("_")[2]
    return int(number) if number.isdigit() else None
