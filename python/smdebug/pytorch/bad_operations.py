"""Finds the operation that made a loss not finite, in the graph of the loss.

Autograd keeps the argument or the result of many operations until the backward pass. An operation
is to blame if its argument is finite but outside of what the operation is defined for. See
`OperationFacts` in include/smdebug/core/run_facts.h.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import torch

from smdebug import _core
from smdebug.pytorch.private_names import node_name, saved_tensor

_Checks = dict[str, Callable[[Any, int], "_core.OperationFacts | None"]]

_MOST_NODES = 1000  # of a graph, from the loss on
_ROOT_OF_0 = "gradient of a root of 0"


def operation_of(loss: torch.Tensor, step: int) -> _core.OperationFacts | None:
    """The operation that made `loss` NaN or infinite; None if its graph does not tell. Reads the
    values of tensors, and raises what that raises."""
    return _farthest(loss, step, _CHECKS)


def operation_of_gradient(loss: torch.Tensor, step: int) -> _core.OperationFacts | None:
    """The operation whose gradient is infinite or NaN, unless one before it stops gradients,
    although `loss` is finite; None if there is none. Raises what reading tensors raises."""
    return _farthest(loss, step, _GRADIENT_CHECKS)


def _farthest(loss: torch.Tensor, step: int, checks: _Checks) -> _core.OperationFacts | None:
    found = None
    seen = {loss.grad_fn}
    waiting = deque(seen)
    while waiting:
        node: Any = waiting.popleft()
        # The one that is farthest from the loss comes first in the forward pass.
        check = checks.get(node_name(node))
        found = (check(node, step) if check else None) or found
        for below, _ in node.next_functions:
            if below is not None and below not in seen and len(seen) < _MOST_NODES:
                seen.add(below)
                waiting.append(below)
    return found


def _fault(
    kind: str, argument: torch.Tensor, is_outside: torch.Tensor, step: int
) -> _core.OperationFacts | None:
    """The fault, unless the argument is not finite itself."""
    outside = int(is_outside.sum())
    if outside == 0 or not bool(argument.isfinite().all()):
        return None
    return _core.OperationFacts(kind, step=step, elements=outside, size=argument.numel())


def _log(node: Any, step: int) -> _core.OperationFacts | None:
    x = _plain(saved_tensor(node, "self"))
    if x is None:
        return None
    below = _fault("log of a negative number", x, x < 0, step)
    return below or _fault("log of 0", x, x == 0, step)


def _division(node: Any, step: int) -> _core.OperationFacts | None:
    divisor = _plain(saved_tensor(node, "other"))
    return None if divisor is None else _fault("division by 0", divisor, divisor == 0, step)


def _reciprocal(node: Any, step: int) -> _core.OperationFacts | None:
    result = _plain(saved_tensor(node, "result"))
    if result is None or bool(result.isnan().any()):
        return None
    return _of_result("division by 0", result, result.isinf(), step)


def _power(node: Any, step: int) -> _core.OperationFacts | None:
    base, exponent = _plain(saved_tensor(node, "self")), getattr(node, "_saved_exponent", None)
    if base is None or not isinstance(exponent, (int, float)):
        return None
    is_outside = (base == 0) if exponent < 0 else torch.zeros_like(base, dtype=torch.bool)
    if exponent != int(exponent):
        is_outside = is_outside | (base < 0)
    return _fault("undefined power", base, is_outside, step)


def _root(node: Any, step: int) -> _core.OperationFacts | None:
    result = _plain(saved_tensor(node, "result"))
    if result is None:
        return None
    return _of_result(_ROOT_OF_0, result, result == 0, step)


def _power_below_1(node: Any, step: int) -> _core.OperationFacts | None:
    base, exponent = _plain(saved_tensor(node, "self")), getattr(node, "_saved_exponent", None)
    if base is None or not isinstance(exponent, (int, float)) or not 0 < exponent < 1:
        return None
    return _of_result(_ROOT_OF_0, base, base == 0, step)


def _exp(node: Any, step: int) -> _core.OperationFacts | None:
    result = _plain(saved_tensor(node, "result"))
    if result is None or bool(result.isnan().any()):
        return None
    return _of_result("overflow of exp", result, result.isinf(), step)


def _of_result(
    kind: str, result: torch.Tensor, is_outside: torch.Tensor, step: int
) -> _core.OperationFacts | None:
    """The fault of an operation whose argument is unknown, by its result."""
    outside = int(is_outside.sum())
    if outside == 0:
        return None
    return _core.OperationFacts(kind, step=step, elements=outside, size=result.numel())


def _mean(node: Any, step: int) -> _core.OperationFacts | None:
    size = getattr(node, "_saved_self_sym_numel", None)
    if size is None or int(size) > 0:
        return None
    return _core.OperationFacts("mean of no elements", step=step, elements=0, size=0)


def _plain(tensor: Any) -> torch.Tensor | None:
    """The tensor, if it can be read; else None."""
    is_plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and not tensor.is_sparse
    return tensor.detach() if is_plain and tensor.is_floating_point() else None


_CHECKS: _Checks = {
    "Log": _log,
    "Log2": _log,
    "Log10": _log,
    "Div": _division,
    "Reciprocal": _reciprocal,
    "Pow": _power,
    "Exp": _exp,
    "Mean": _mean,
}
_GRADIENT_CHECKS: _Checks = {"Sqrt": _root, "Pow": _power_below_1}
