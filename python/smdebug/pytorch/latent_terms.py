"""`divergence_weights`: how much the divergence of a normal distribution counts beside a loss.

A variational autoencoder minimizes the loss of a reconstruction plus the Kullback-Leibler
divergence of the latent variables from a standard normal distribution, for each sample the sum over
its elements and the sum over its latent variables (D. Kingma, M. Welling, "Auto-Encoding
Variational Bayes", 2013, equation 10). A mean over the elements instead leaves the divergence as
many times as heavy as a sample has elements. The graph is read, and never changed.
"""

from __future__ import annotations

import math
from typing import Any

from smdebug.pytorch.private_names import node_name, saved_tensor, signed

_MOST_NODES = 200
# A result of a node: (the node, the number of the result).
_Result = tuple[Any, int]
# Nodes that pass each element on.
_PASSING = frozenset("View UnsafeView ReshapeAlias Squeeze Unsqueeze ToCopy Clone Alias".split())
_LOSSES = frozenset(
    "MseLoss SmoothL1Loss HuberLoss BinaryCrossEntropy BinaryCrossEntropyWithLogits".split()
)
_MEAN = 1  # the reduction of a node of a loss
_OF_DIFFERENCES = frozenset("Pow Mul Abs".split())


def divergence_weights(start: Any) -> dict[Any, float]:
    """For each reconstruction in the graph from `start` on: the node of its loss, or of the power
    or absolute value of its differences -> how many times as much as in an evidence lower bound
    the divergence counts. Empty without a divergence."""
    terms = _terms_of(start)
    divergence = max((_divergence(result, terms) for result in terms), default=0.0)
    if divergence == 0:
        return {}
    weights = {}
    for (node, _), coefficient in terms.items():
        per_element = abs(coefficient) / _mean_size(node)
        if _is_reconstruction(node) and per_element > 0:
            weights[node] = divergence / per_element
    return weights


def _terms_of(start: Any) -> dict[_Result, float]:
    """The terms of the sum that is minimized -> by what each of their elements is multiplied."""
    terms: dict[_Result, float] = {}
    waiting: list[tuple[_Result, float]] = [((start, 0), 1.0)]
    for _ in range(_MOST_NODES):
        if not waiting:
            return terms
        result, factor = waiting.pop()
        operands = _operands(result[0], factor)
        if operands is None:
            terms[result] = terms.get(result, 0.0) + factor
        else:
            waiting += operands
    return {}


def _operands(node: Any, factor: float) -> list[tuple[_Result, float]] | None:
    """The operands of a node that is a sum or a multiple of them, with their factors; None of any
    other node."""
    name, below = node_name(node), node.next_functions
    if name in ("Add", "Sub", "Rsub"):
        alpha = float(getattr(node, "_saved_alpha", 1))
        first, second = (
            (-alpha, 1.0) if name == "Rsub" else (1.0, -alpha if name == "Sub" else alpha)
        )
        factors = [first, second]
    elif name == "Neg":
        factors = [-1.0]
    elif name in ("Mul", "Div"):
        number = _number(node)
        if number is None or number == 0:
            return None
        factors = [number if name == "Mul" else 1 / number]
    elif name == "Sum" or name in _PASSING:
        factors = [1.0]
    elif name == "Mean":
        factors = [1 / _averaged(node)]
    else:
        return None
    return [
        ((operand, number), factor * own)
        for (operand, number), own in zip(below, factors, strict=False)
        if operand is not None
    ]


def _number(node: Any) -> float | None:
    """The number by which a node multiplies or divides its first operand."""
    others = [operand for operand, _ in node.next_functions[1:] if operand is not None]
    other = saved_tensor(node, "other")
    if others or other is None or node.next_functions[0][0] is None or other.numel() != 1:
        return None
    return float(other)


def _averaged(node: Any) -> int:
    """The number of elements of which a node computes each mean."""
    sizes = getattr(node, "_saved_self_sym_sizes", None)
    dims = getattr(node, "_saved_dim", None)
    if sizes is None or not dims:
        return max(1, int(node._saved_self_sym_numel))
    return max(1, math.prod(int(sizes[signed(dim)]) for dim in dims))


def _divergence(result: _Result, terms: dict[_Result, float]) -> float:
    """How often the divergence of a normal distribution is counted of which `result` is a term: of
    (mean^2 + variance - log(variance) - 1) / 2, the variance or its logarithm. 0 for another
    term."""
    node, factor = result[0], terms[result]
    if node_name(node) == "Exp":  # of the logarithm, which is a term as well
        partner = terms.get(node.next_functions[0], 0.0)
        return 2 * abs(factor) if partner * factor < 0 else 0.0
    if node_name(node) != "Log":
        return 0.0
    argument = node.next_functions[0]
    squares = [
        other
        for other in terms
        if other == argument
        or (node_name(other[0]) == "Pow" and other[0].next_functions[0] == argument)
    ]
    return max((2 * abs(terms[other]) for other in squares if terms[other] * factor < 0), default=0)


def _mean_size(node: Any) -> int:
    """The number of elements over which the node of a loss computes the mean."""
    given = saved_tensor(node, "self") if node_name(node) in _LOSSES else None
    is_mean = getattr(node, "_saved_reduction", None) == _MEAN
    return given.numel() if given is not None and is_mean else 1


def _is_reconstruction(node: Any) -> bool:
    if node_name(node) in _LOSSES:
        return True
    operands = {operand for operand, _ in node.next_functions if operand is not None}
    return (
        node_name(node) in _OF_DIFFERENCES
        and len(operands) == 1
        and node_name(operands.pop()) in ("Sub", "Rsub")
    )
