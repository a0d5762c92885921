"""The private names of MXNet that the adapter relies on, and the methods of its classes that it
replaces, each with what holds without it. What was replaced is put back when the hook is closed.

| name | used for | without it |
|---|---|---|
| Trainer.step, .update | gradients and rules before the update | gradients when a step ends |
| Trainer._params | whose gradients a trainer is about to use | those of all registered models |
| Parameter._stype | saying that a sparse parameter is not saved | it is left out in silence |
| NDArray._fresh_grad | whether backward ran since the last update | gradients of every step |
| HybridBlock._active, ._cached_op, ._cached_graph, ._clear_cached_op | a graph that shows what \
  happens inside of a block | that is not saved |
| HybridBlock._callback | leaving a script's own op hook alone | it is replaced in saved steps |
| Activation._act_type | telling a ReLU by its kind | by its name |
| Block.__call__, NDArray.backward, autograd.backward | `smdebug run` finds models, losses | - |
"""

_OF_GRAPHS = ("_cached_op", "_cached_graph", "_clear_cached_op")


def is_graph(block):
    """Whether `block` runs as one graph when it is called with data."""
    is_active = getattr(block, "_active", False)
    return bool(is_active) and all(hasattr(block, name) for name in _OF_GRAPHS)


def cached_op(block):
    return block._cached_op


def set_cached_op(block, op):
    block._cached_op = op


def forget_graph(block):
    """Has the graph made anew by the next call."""
    block._clear_cached_op()


def graph_inputs(block):
    """The names that the graph of `block` gives its arguments: a list of str."""
    graph = block._cached_graph
    return [symbol.name for symbol in graph[0]] if graph else []


def graph_of(block):
    """The graph of `block`, a symbol."""
    return block._cached_graph[1]


def own_op_hook(block):
    return getattr(block, "_callback", None)


def activation_kind(block):
    """What an activation block computes, "relu" for example; None for any other block."""
    return getattr(block, "_act_type", None)


def parameters_of(trainer):
    """The parameters that a trainer moves, or None where that is not known."""
    return getattr(trainer, "_params", None)


def is_sparse(parameter):
    """Whether only a trainer can read a parameter's value."""
    return getattr(parameter, "_stype", "default") != "default"


def is_fresh(array):
    """Whether backward left a gradient for this array of a parameter since its last update."""
    try:
        return bool(array._fresh_grad)
    except AttributeError:
        return True
