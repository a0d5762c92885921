"""What the tensors of TensorFlow and Keras are called, and how variables name themselves.

<layer>/weights/<variable>     a weight of a layer, as fit sees it: dense/weights/dense/kernel:0
weights/<variable>             the same in a loop with a GradientTape
gradients/<variable>Grad       its gradient, without the variable's ":0"
<layer>/inputs, <layer>/outputs, inputs, labels, predictions
                               with "_<i>" behind, where there are several
<layer>/relu_input             what the ReLU inside a layer takes; tanh and sigmoid likewise
replica_loss                   what one replica of a strategy minimises; `loss` is what Keras logs
"""

INPUTS, LABELS, PREDICTIONS = "inputs", "labels", "predictions"
LOSS, BATCH = "loss", "batch"
REPLICA_LOSS = "replica_loss"


def variable_name(variable):
    """The full name of a variable as TensorFlow 2.15 has it, such as `dense/kernel:0`.

    Keras 3 keeps that in the path of its variables: their `name` is `kernel` alone.
    """
    name = getattr(variable, "path", None) or variable.name
    return name if ":" in name else f"{name}:0"


def layer_weight(layer, variable):
    """`layer` is the layer's name, `variable` the full name of its variable."""
    return f"{layer}/weights/{variable}"


def tape_weight(variable):
    return f"weights/{variable}"


def gradient(variable):
    return f"gradients/{variable.rsplit(':', 1)[0]}Grad"


def layer_inputs(layer):
    return f"{layer}/inputs"


def layer_outputs(layer):
    return f"{layer}/outputs"


def activation_input(layer, kind):
    return f"{layer}/{kind}_input"


def numbered(name, count):
    """The names of `count` tensors of one kind: a number behind where there are several."""
    return [name] if count == 1 else [f"{name}_{index}" for index in range(count)]
