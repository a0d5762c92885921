"""Computes a value of a graph a second time, with separate operations.

TensorFlow rearranges sums and products whose operands nothing else uses, so that vectors and
scalars are combined in another order, which rounds differently. The gradient is an operand of the
update: another user of it would keep the order as written. Therefore that user gets a copy.
"""

from typing import Any

import tensorflow as tf

_REARRANGED = {
    "Add": lambda x, y: tf.raw_ops.AddV2(x=x, y=y),
    "AddN": lambda *inputs: tf.raw_ops.AddN(inputs=inputs),
    "AddV2": lambda x, y: tf.raw_ops.AddV2(x=x, y=y),
    "Mul": lambda x, y: tf.raw_ops.Mul(x=x, y=y),
    "RealDiv": lambda x, y: tf.raw_ops.RealDiv(x=x, y=y),
    "Sub": lambda x, y: tf.raw_ops.Sub(x=x, y=y),
}


def recomputed(tensor: Any) -> Any:
    """Returns `tensor`, which belongs to a graph around the one that is being built. If it is a sum
    or a product, returns a copy of it, and of those operands that nothing else uses."""
    compute = _REARRANGED.get(tensor.op.type)
    if compute is None:
        return tensor
    operands = tensor.op.inputs
    return compute(*(recomputed(x) if len(x.consumers()) == 1 else x for x in operands))
