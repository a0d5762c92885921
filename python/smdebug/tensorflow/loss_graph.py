"""`read_loss`: the faults of a loss that show in the operations that computed it.

Read are losses that a script writes out in elementary operations. See `LossInputFacts` in
include/smdebug/core/run_facts.h.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterator

from smdebug.tensorflow.divergence import divergence_weight
from smdebug.tensorflow.operations import LAYERS, Shape, Value

_SQUARES = frozenset("Square Pow".split())
_SUBTRACTIONS = frozenset("Sub SquaredDifference".split())
# Operations by which a script gives predictions the shape (N, 1), to pair them with all targets.
_PAIRING = frozenset("ExpandDims Reshape Transpose StridedSlice BroadcastTo Tile Pack".split())
_PROBABILITIES = frozenset("Sigmoid Softmax".split())
# Operations that select elements, beside those of PASSING.
_SELECTING = frozenset("StridedSlice GatherV2 GatherNd Slice BooleanMask".split())


@dataclasses.dataclass
class PairedLoss:
    """A difference that pairs each prediction with all targets. The size None is the batch's."""

    kind: str  # "squared_error" or "absolute_error"
    shape: Shape
    target_shape: Shape


@dataclasses.dataclass
class DivergenceLoss:
    """A loss beside the divergence of a normal distribution."""

    kind: str  # "squared_error", "binary_cross_entropy", ...
    weight: float  # as LossInputFacts.divergence_weight


@dataclasses.dataclass
class LossGraph:
    """The faults that the operations of a loss show."""

    paired: PairedLoss | None = None
    divergence: DivergenceLoss | None = None
    # Whether it takes the logarithm of a sigmoid or softmax that nothing keeps away from 0.
    has_bare_logarithm: bool = False


def read_loss(loss: Value) -> LossGraph:
    """Reads the operations that computed `loss`."""
    found = LossGraph()
    for value, above in _values_before_layers(loss):
        if found.paired is None:
            found.paired = _paired(value, above)
        found.has_bare_logarithm |= value.kind == "Log" and _is_bare(value.inputs[0])
    weighed = divergence_weight(loss)
    if weighed is not None:
        found.divergence = DivergenceLoss(*weighed)
    return found


def _values_before_layers(loss: Value) -> Iterator[tuple[Value, str]]:
    """(value, the kind of an operation that takes it) from the loss down to the model's layers."""
    seen = {id(loss)}
    waiting = deque([(loss, "")])
    while waiting:
        value, above = waiting.popleft()
        yield value, above
        if value.kind in LAYERS:
            continue
        for each in value.inputs:
            if id(each) not in seen:
                seen.add(id(each))
                waiting.append((each, value.kind))


def _paired(difference: Value, above: str) -> PairedLoss | None:
    """The shapes of predictions and targets, if a difference pairs each with all others. None where
    a script may want the pairs."""
    if difference.kind not in _SUBTRACTIONS:
        return None
    is_square = difference.kind == "SquaredDifference" or above in _SQUARES or above == "Mul"
    if not is_square and above != "Abs":
        return None
    first, second = difference.inputs
    are_predictions = [each.may_read_variable() for each in (first, second)]
    if sum(are_predictions) != 1:  # pairs of predictions, or of data
        return None
    given, targets = (first, second) if are_predictions[0] else (second, first)
    if not _pair(given.shape, targets.shape) or _is_paired_on_purpose(given):
        return None
    kind = "squared_error" if is_square else "absolute_error"
    return PairedLoss(kind, given.shape, targets.shape)


def _pair(shape: Shape | None, other: Shape | None) -> bool:
    """Whether these are the shapes (N, 1) and (N), in any order."""
    if shape is None or other is None or {len(shape), len(other)} != {1, 2}:
        return False
    row, column = sorted((shape, other), key=len)
    return column[1] == 1 and row[0] == column[0] != 1


def _is_paired_on_purpose(given: Value) -> bool:
    return given.shape is not None and len(given.shape) == 2 and given.kind in _PAIRING


def _is_bare(argument: Value) -> bool:
    """Whether the argument of a logarithm is a probability, or 1 minus one, as it was computed."""
    argument = _whole(argument)
    if argument.kind == "Sub" and argument.inputs[0].number == 1:
        argument = _whole(argument.inputs[1])
    return argument.kind in _PROBABILITIES


def _whole(value: Value) -> Value:
    value = value.computed()
    while value.kind in _SELECTING and value.inputs:
        value = value.inputs[0].computed()
    return value
