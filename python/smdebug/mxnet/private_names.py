"""The private names of MXNet, and the methods of its classes that are replaced, on which the adapter
relies; each with what holds without it. Replaced methods are put back when the hook is closed.

| name | used for | without it |
|---|---|---|
| Trainer.step, Trainer.update | gradients and rules before the update | gradients when a step ends |
| Trainer._params | whose gradients a trainer is about to use | those of all registered models |
| Parameter._stype | saying that a sparse parameter is not saved | it is left out in silence |
| NDArray._fresh_grad | whether backward ran since the last update | gradients of every step |
| HybridBlock._active | telling that a block runs as a graph | its insides are not saved |
| HybridBlock._cached_op, _cached_graph | a graph that is watched and one that is not | the same |
| HybridBlock._clear_cached_op | seeing the insides of a graph that was made before | they are not saved |
| HybridBlock._callback | leaving a script's own op hook alone | it is replaced in saved steps |
| Activation._act_type | telling a ReLU by its kind | by its name |
| Block.__call__, NDArray.backward, autograd.backward | `smdebug run` finds models and losses | - |
"""


def is_graph(block):
    """Whether `block` runs as one graph when it is called with data."""
    return bool(getattr(block, "_active", False)) and hasattr(block, "_clear_cached_op")


def cached_op(block):
    return getattr(block, "_cached_op", None)


def set_cached_op(block, op):
    block._cached_op = op


def forget_graph(block):
    """Has the graph made anew by the next call."""
    block._clear_cached_op()


def graph_inputs(block):
    """The names that the graph of `block` gives its arguments: a list of str."""
    graph = getattr(block, "_cached_graph", None)
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
