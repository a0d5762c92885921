"""The Keras twins of the zoo (twins.py), trained by keras_training.py.

Faults of hand-written loops, which `fit` rules out, have no twin: a forgotten zero_grad, a layer
that the optimizer does not have.
"""

from twins import Twins

TWINS = Twins(
    framework="Keras",
    environment="tensorflow",
    prefix="keras_",
    script="keras_training.py",
    recipes=(
        "perceptron",
        "small_table",
        "tanh_perceptron",
        "deep_perceptron",
        "convolutions",
        "plain_convolutions",
        "regression",
        "text",
        "slow_start",
    ),
    faults={
        "vanishing gradient": (("perceptron", "small_table"), {}),
        "exploding": (("deep_perceptron",), {"scale": 1e4}),
        "NaN from log(0)": (("perceptron",), {"loss": "log_of_shares"}),
        "dead ReLU": (("perceptron", "plain_convolutions"), {"bury": -30.0}),
        "frozen layer": (("perceptron", "tanh_perceptron"), {"freeze": True}),
        "learning rate too high": (("perceptron", "regression"), {}),
        "learning rate too low": (("perceptron",), {}),
        "bad initialization: zeros": (("perceptron", "plain_convolutions"), {"scale": 0.0}),
        "bad initialization: large": (("perceptron", "plain_convolutions"), {"scale": 40.0}),
        "bad initialization: small": (("perceptron", "plain_convolutions"), {"scale": 0.01}),
        "shuffled labels": (("perceptron",), {}),
        "class imbalance": (("perceptron",), {}),
        "overfitting": (("perceptron", "tanh_perceptron"), {}),
        "saturated tanh": (("tanh_perceptron",), {"scale": 40.0}),
        "all-zero input": (("perceptron", "convolutions"), {}),
        "images that are not centered": (("convolutions", "plain_convolutions"), {}),
        "images between 0 and 255": (("convolutions", "plain_convolutions"), {}),
        "wrong token padding": (("text",), {}),
        "softmax before the loss": (("perceptron",), {"softmax": True}),
        "summed loss": (("perceptron", "regression"), {"reduction": "sum"}),
        "learning rate thirty times too high": (("tanh_perceptron", "convolutions"), {}),
        "target among the features": (("perceptron", "small_table"), {}),
        "missing values": (("perceptron", "small_table"), {}),
        "evaluation without normalization": (("perceptron", "regression"), {}),
    },
    faulty_seeds=1,
    healthy_seeds=2,
)
