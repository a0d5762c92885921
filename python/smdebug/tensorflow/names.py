"""The names of TensorFlow's and Keras's tensors, and the full names of variables.

The core builds the names (tensor_names.h):

<layer>/weights/<variable>     a weight of a layer in `fit`: dense/weights/dense/kernel:0
weights/<variable>             a weight in a loop with a GradientTape
gradients/<variable>Grad       its gradient, without the variable's ":0"
<layer>/inputs, <layer>/outputs, inputs, labels, predictions
                               followed by "_<i>" if there are several
<layer>/relu_input             the input of the ReLU inside a layer; tanh and sigmoid likewise
replica_loss                   the loss that one replica minimizes; `loss` is the one Keras logs
"""

from __future__ import annotations

from typing import Any

from smdebug import _core
from smdebug._core import activation_input_name as activation_input
from smdebug._core import layer_inputs_name as layer_inputs
from smdebug._core import layer_outputs_name as layer_outputs
from smdebug._core import layer_weight_name as layer_weight
from smdebug._core import numbered_names as numbered
from smdebug._core import variable_gradient_name as gradient
from smdebug._core import weight_name as tape_weight

__all__ = [
    "BATCH",
    "INPUTS",
    "LABELS",
    "LOSS",
    "PREDICTIONS",
    "REPLICA_LOSS",
    "activation_input",
    "gradient",
    "layer_inputs",
    "layer_outputs",
    "layer_weight",
    "numbered",
    "tape_weight",
    "variable_name",
]

INPUTS, LABELS, PREDICTIONS = "inputs", "labels", "predictions"
LOSS, BATCH = "loss", "batch"
REPLICA_LOSS = "replica_loss"


def variable_name(variable: Any) -> str:
    """Returns the full name of a variable as TensorFlow 2.15 has it, such as `dense/kernel:0`.

    Keras 3 keeps it in the path of its variables; their `name` is only `kernel`.
    """
    return _core.variable_name(getattr(variable, "path", None) or variable.name)
