"""The private names of MXNet that the adapter relies on, and the methods that it replaces.

Without a name the adapter works as the last column shows. Methods are restored when the hook is
closed.

| name | used for | without it |
|---|---|---|
| Trainer.step, .update | gradients and rules before the update | gradients when a step ends |
| Trainer._params | the parameters that a trainer updates | those of all registered models |
| Trainer._optimizer | its kind and settings in the facts, the series of its learning rate | \
  unknown |
| Loss._weight, ._axis, ._sparse_label, ._from_logits, ._from_sigmoid | what a loss computes | \
  unknown |
| Parameter._differentiable | the facts leave out running statistics | they count as frozen |
| Parameter._stype | the warning that a sparse parameter is not saved | no warning |
| NDArray._fresh_grad | whether backward ran since the last update | gradients of every step |
| HybridBlock._active, ._cached_op, ._cached_graph, ._clear_cached_op | a graph that shows the \
  tensors inside of a block | they are not saved |
| HybridBlock.hybridize, ._forward_hooks, ._forward_pre_hooks | no warning of MXNet about our \
  hooks | MXNet warns |
| HybridBlock._callback | keeping a script's own op hook | it is replaced in saved steps |
| Activation._act_type | finding a ReLU by its type | by its name |
| Block.__call__, NDArray.backward, autograd.backward | `smdebug run` finds models, losses | - |
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mxnet import gluon
from mxnet.ndarray import NDArray
from mxnet.symbol import Symbol

_OF_GRAPHS = ("_cached_op", "_cached_graph", "_clear_cached_op")


def is_graph(block: gluon.Block) -> bool:
    """Returns whether `block` runs as one graph when it is called with data."""
    is_active = getattr(block, "_active", False)
    return bool(is_active) and all(hasattr(block, name) for name in _OF_GRAPHS)


def cached_op(block: gluon.Block) -> Any:
    """Returns the compiled graph of `block`, None before its first call."""
    return block._cached_op


def set_cached_op(block: gluon.Block, op: Any) -> None:
    """Sets the compiled graph that the next call of `block` runs; None builds a new one."""
    block._cached_op = op


def forget_graph(block: gluon.Block) -> None:
    """Makes the next call of `block` build its graph again."""
    block._clear_cached_op()


def graph_inputs(block: gluon.Block) -> list[str]:
    """Returns the names of the arguments in the graph of `block`."""
    graph = block._cached_graph
    return [symbol.name for symbol in graph[0]] if graph else []


def graph_of(block: gluon.Block) -> Symbol:
    """Returns the graph of `block`."""
    return block._cached_graph[1]


def own_op_hook(block: gluon.Block) -> Any:
    """Returns the op hook that is registered on `block`, or None."""
    return getattr(block, "_callback", None)


def hooks_of(block: gluon.Block) -> list[dict[Any, Any]]:
    """Returns the tables of the forward hooks of `block`, which may be edited."""
    return [getattr(block, name, {}) for name in ("_forward_hooks", "_forward_pre_hooks")]


def activation_kind(block: gluon.Block) -> str | None:
    """Returns the function of an activation block, "relu" for example; None for other blocks."""
    return getattr(block, "_act_type", None)


def loss_settings(block: gluon.loss.Loss) -> dict[str, Any]:
    """Returns the settings of a loss of Gluon, as far as they are known."""
    names = ("weight", "axis", "sparse_label", "from_logits", "from_sigmoid")
    return {name: getattr(block, f"_{name}") for name in names if hasattr(block, f"_{name}")}


def parameters_of(trainer: gluon.Trainer) -> Iterable[gluon.Parameter] | None:
    """Returns the parameters that a trainer updates, or None if they are unknown."""
    return getattr(trainer, "_params", None)


def optimizer_of(trainer: gluon.Trainer) -> Any:
    """Returns the optimizer of a trainer, or None if it is unknown."""
    return getattr(trainer, "_optimizer", None)


def is_differentiable(parameter: gluon.Parameter) -> bool:
    """Returns whether a parameter may have a gradient, unlike the statistics of a BatchNorm."""
    return bool(getattr(parameter, "_differentiable", True))


def is_sparse(parameter: gluon.Parameter) -> bool:
    """Returns whether only a trainer can read the value of a parameter."""
    return getattr(parameter, "_stype", "default") != "default"


def is_fresh(array: NDArray) -> bool:
    """Returns whether backward ran for this array of a parameter since its last update."""
    try:
        return bool(array._fresh_grad)
    except AttributeError:
        return True
