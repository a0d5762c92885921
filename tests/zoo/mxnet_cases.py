"""The MXNet twins of the zoo (twins.py), trained with Gluon by mxnet_training.py."""

from twins import Twins

TWINS = Twins(
    framework="MXNet",
    environment="mxnet",
    prefix="mxnet_",
    script="mxnet_training.py",
    recipes=(
        "perceptron",
        "small_table",
        "tanh_perceptron",
        "deep_perceptron",
        "plain_convolutions",
        "regression",
    ),
    faults={
        "vanishing gradient": (("perceptron", "small_table"), {}),
        "exploding": (("deep_perceptron",), {"scale": 1e4}),
        "dead ReLU": (("perceptron", "plain_convolutions"), {"bury": -30.0}),
        "frozen layer": (("perceptron", "tanh_perceptron"), {"freeze": True}),
        "learning rate too high": (("perceptron", "regression"), {}),
        "shuffled labels": (("perceptron",), {}),
        "softmax before the loss": (("perceptron",), {"softmax": True}),
        "layer not in the optimizer": (("perceptron", "tanh_perceptron"), {"forgets": True}),
        "summed loss": (("perceptron", "regression"), {"averages": False}),
        "missing values": (("perceptron", "small_table"), {}),
        "target among the features": (("perceptron", "small_table"), {}),
    },
    faulty_seeds=2,
    healthy_seeds=2,
)
