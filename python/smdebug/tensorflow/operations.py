"""The operations that computed a loss, in one form for graphs and for eager code.

A graph of TensorFlow has them. Eager code has none: `OperationRecorder` notes them while it is on.
Neither keeps a tensor or a graph alive, and neither changes a result.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from typing import Any

from smdebug.tensorflow.private_names import constant_sizes, op_callbacks, tensor_number

_MOST_OPERATIONS = 1000
_MOST_RECORDED = 5000  # in one scope of a tape

Shape = tuple[int | None, ...]

# Operations that pass the elements of their first input on.
PASSING = frozenset(
    "Identity Reshape Squeeze ExpandDims Cast Transpose PreventGradient CheckNumerics".split()
)
# Operations of layers with weights, where a loss ends and its model begins.
LAYERS = frozenset(
    "MatMul BatchMatMulV2 BatchMatMulV3 Einsum Conv1D Conv2D Conv3D DepthwiseConv2dNative "
    "Conv2DBackpropInput BiasAdd FusedBatchNormV3 ReadVariableOp While StatelessWhile".split()
)
_READS = frozenset("ReadVariableOp ResourceGather ResourceGatherNd".split())
_OF_DATA = ("Iterator", "MultiDeviceIterator", "Optional", "LookupTable")


@dataclasses.dataclass(eq=False)
class Operation:
    """An operation with the values that it takes. `reads_variable` is also true if its inputs are
    unknown."""

    kind: str
    inputs: list[Value] = dataclasses.field(default_factory=list)
    reads_variable: bool = False


@dataclasses.dataclass(eq=False)
class Value:
    """A tensor. A size that is None is unknown until the graph runs; a shape that is None is
    unknown as a whole."""

    shape: Shape | None
    operation: Operation | None = None  # None: it comes from elsewhere, such as the data
    number: float | None = None  # of a constant without dimensions
    sizes: tuple[int, ...] | None = None  # of a constant with a few whole numbers

    @property
    def kind(self) -> str:
        """The kind of the operation that computed it; "" if there is none."""
        return "" if self.operation is None else self.operation.kind

    @property
    def inputs(self) -> list[Value]:
        """The operands of that operation."""
        return [] if self.operation is None else self.operation.inputs

    def computed(self) -> Value:
        """The value whose elements it passes on."""
        value = self
        while value.kind in PASSING and value.inputs:
            value = value.inputs[0]
        return value

    def may_read_variable(self) -> bool:
        """Whether it was computed from a variable, as far as the operations are known."""
        seen, waiting = {id(self)}, [self]
        while waiting:
            value = waiting.pop()
            if value.operation is not None and value.operation.reads_variable:
                return True
            for each in value.inputs:
                if id(each) not in seen:
                    seen.add(id(each))
                    waiting.append(each)
        return False


def of_graph(loss: Any) -> Value:
    """The operations of a graph that computed the tensor `loss`, the nearest 1000 of them."""
    values: dict[tuple[int, int], Value] = {}
    operations: dict[int, Operation] = {}
    waiting: deque[Any] = deque()

    def value_of(tensor):
        key = (id(tensor.op), tensor.value_index)
        if key not in values:
            operation = operation_of(tensor.op)
            sizes = constant_sizes(tensor) if operation is None else None
            values[key] = Value(shape_of(tensor), operation, tensor_number(tensor), sizes)
        return values[key]

    def operation_of(op):
        if op.type in ("Placeholder", "Const"):
            return None
        if id(op) not in operations:
            operations[id(op)] = Operation(op.type)
            waiting.append(op)
        return operations[id(op)]

    start = value_of(loss)
    while waiting:
        op = waiting.popleft()
        known = operations[id(op)]
        inputs = list(op.inputs)
        known.reads_variable = _reads_variable(op.type, inputs)
        if len(operations) < _MOST_OPERATIONS:
            known.inputs = [value_of(each) for each in inputs]
        else:
            known.reads_variable |= bool(inputs)
    return start


def shape_of(tensor: Any) -> Shape | None:
    """The shape of a tensor; None if its number of dimensions is unknown."""
    return None if tensor.shape.rank is None else tuple(tensor.shape.as_list())


class OperationRecorder:
    """Records the operations of eager code on this thread, from `start` until `stop`."""

    def __init__(self) -> None:
        self._values: dict[int, Value] = {}  # by the number of a tensor, which none gets again
        self._is_on = False

    def start(self) -> bool:
        """Begins to record. Returns whether this works."""
        callbacks = op_callbacks()
        if callbacks is not None and not self._is_on:
            callbacks.add_op_callback(self._note)
            self._is_on = True
        return self._is_on

    def stop(self) -> None:
        """Ends the recording. A second call does nothing."""
        if self._is_on:
            self._is_on = False
            op_callbacks().remove_op_callback(self._note)

    def value_of(self, tensor: Any) -> Value | None:
        """The recorded operations that computed a tensor; None if there are none."""
        return self._values.get(_number_of(tensor))

    def _note(self, kind, inputs, attributes, outputs, op_name=None, graph=None):
        """Takes an operation that has run. Its result None leaves the outputs as they are."""
        if graph is not None or len(self._values) >= _MOST_RECORDED:
            return
        try:
            kind = kind.decode() if isinstance(kind, bytes) else kind
            operation = Operation(
                kind,
                [self._known(each) for each in inputs],
                # TensorFlow may read a variable without an operation that is reported.
                _reads_variable(kind, inputs) or kind in LAYERS,
            )
            for each in outputs or ():
                number = operation.inputs[0].number if kind == "Cast" else tensor_number(each)
                self._values[each._id] = Value(shape_of(each), operation, number)
        except Exception:  # tensors of another library
            self._values.clear()

    def _known(self, tensor):
        known = self._values.get(_number_of(tensor))
        return known or Value(shape_of(tensor), None, tensor_number(tensor, is_constant=True))


def _number_of(tensor: Any) -> int:
    return getattr(tensor, "_id", -1)


def _reads_variable(kind: str, inputs: Any) -> bool:
    """Whether an operation reads a variable. A function may read those that it is given."""
    if kind in _READS:
        return True
    takes_resource = any(each.dtype.name == "resource" for each in inputs)
    return takes_resource and not kind.startswith(_OF_DATA)
