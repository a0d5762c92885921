"""The names of TensorFlow's and Keras's tensors. The core builds those that have parts:

<layer>/weights/<variable>     a weight of a layer in `fit`: dense/weights/dense/kernel:0
weights/<variable>             a weight in a loop with a GradientTape
gradients/<variable>Grad       its gradient, without the variable's ":0"
<layer>/inputs, <layer>/outputs, inputs, labels, predictions
                               followed by "_<i>" if there are several
<layer>/relu_input             the input of the ReLU inside a layer; tanh and sigmoid likewise
replica_loss                   the loss that one replica minimizes; `loss` is the one Keras logs
"""

from typing import Any

from smdebug import _core
from smdebug.hook_arguments import encodable

INPUTS, LABELS, PREDICTIONS = "inputs", "labels", "predictions"
LOSS, BATCH = "loss", "batch"
REPLICA_LOSS = "replica_loss"


def variable_name(variable: Any) -> str:
    """Returns the full name of a variable as TensorFlow 2.15 has it, such as `dense/kernel:0`.

    Keras 3 keeps it in the path of its variables; their `name` is only `kernel`.
    """
    return _core.variable_name(encodable(getattr(variable, "path", None) or variable.name))


def gradient_name(variable: Any) -> str:
    """Returns the name of a variable's gradient, such as `gradients/dense/kernelGrad`."""
    return _core.variable_gradient_name(variable_name(variable))
