"""A value of a graph, computed once more by operations of its own.

TensorFlow rearranges sums and products whose operands nobody else wants, so that vectors and
scalars meet in another order and round in another way. Whoever wants such an operand, as a
gradient is one of its update, would have it stay as it is written.
"""

import tensorflow as tf

_REARRANGED = {
    "Add": lambda x, y: tf.raw_ops.AddV2(x=x, y=y),
    "AddN": lambda *inputs: tf.raw_ops.AddN(inputs=inputs),
    "AddV2": lambda x, y: tf.raw_ops.AddV2(x=x, y=y),
    "Mul": lambda x, y: tf.raw_ops.Mul(x=x, y=y),
    "RealDiv": lambda x, y: tf.raw_ops.RealDiv(x=x, y=y),
    "Sub": lambda x, y: tf.raw_ops.Sub(x=x, y=y),
}


def recomputed(tensor):
    """`tensor` of a graph around the one that is being made: itself, unless it is a sum or product.
    Its operands are treated alike, where nobody else wants them."""
    compute = _REARRANGED.get(tensor.op.type)
    if compute is None:
        return tensor
    operands = tensor.op.inputs
    return compute(*(recomputed(x) if len(x.consumers()) == 1 else x for x in operands))
