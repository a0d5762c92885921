"""Each rule for deep learning finds its own tensors in a run of Keras: it fires on a planted fault,
and judges the same training without it in silence."""

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable

import keras
import numpy as np
import pytest

import smdebug.tensorflow as smd
from conftest import digits

layers = keras.layers
X, Y = digits(320)
BATCH = 32
CONSTANT = keras.initializers.Constant


def dense(width, activation=None, **keywords):
    return layers.Dense(width, activation=activation, **keywords)


def perceptron(*between, inputs=64):
    return keras.Sequential([keras.Input((inputs,)), *between, dense(10)])


def large(scale):
    return keras.initializers.RandomNormal(stddev=scale, seed=1)


def relu_stack(first_bias=0.0):
    return perceptron(dense(16, "relu", bias_initializer=CONSTANT(first_bias)), dense(16, "relu"))


def standalone_relus(first_bias=0.0):
    return perceptron(
        dense(16, bias_initializer=CONSTANT(first_bias), name="first"),
        layers.ReLU(name="of_its_own"),
        dense(16),
        layers.Activation("relu"),
    )


def squashed(activation, scale):
    kernel = large(scale)
    return perceptron(dense(16, activation, kernel_initializer=kernel), dense(16, activation))


def squashed_apart(activation, scale):
    return perceptron(dense(16, kernel_initializer=large(scale)), layers.Activation(activation))


def initialized_relus(second):
    first = dense(16, "relu", kernel_initializer="he_normal")
    return perceptron(first, dense(16, "relu", kernel_initializer=second))


def deep(activation, count):
    return perceptron(*(dense(16, activation) for _ in range(count)))


def convolutions():
    return keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            layers.Conv2D(4, 3, activation="relu"),
            layers.Flatten(),
            dense(10),
        ]
    )


def with_frozen_first():
    model = relu_stack()
    model.layers[0].trainable = False
    return model


def text_model():
    return keras.Sequential(
        [keras.Input((12,)), layers.Embedding(50, 4), layers.GlobalAveragePooling1D(), dense(10)]
    )


def pixels(mean=0.0):
    """(320, 8, 8, 3), the last channel about `mean`, the others about 0, and each row about a mean
    of its own."""
    slope = np.linspace(-1, 1, 8, dtype=np.float32)[:, None, None]
    images = (X - X.mean()).reshape(-1, 8, 8, 1) + slope
    return np.repeat(images, 3, axis=3) + np.float32([0.0, 0.0, mean])


def texts(padding):
    words = np.random.RandomState(1).randint(1, 50, (len(X), 12))
    words[:, 12 - padding :] = 0
    return words


def mostly_one_class():
    labels = np.zeros_like(Y)
    labels[::40] = 1
    return labels


def shuffled_labels():
    return np.random.RandomState(2).permutation(Y)


@dataclasses.dataclass
class Training:
    """A small `fit`: the model is made by `make`, which follows the seed."""

    make: Callable = relu_stack
    x: np.ndarray = dataclasses.field(default_factory=lambda: X)
    y: np.ndarray = dataclasses.field(default_factory=lambda: Y)
    rate: float = 0.1
    epochs: int = 1
    validation: bool = False

    def run(self, hook):
        keras.utils.set_random_seed(3)
        model = self.make()
        model.compile(
            keras.optimizers.SGD(self.rate),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
        held_out = (X[:64], shuffled_labels()[:64]) if self.validation else None
        model.fit(
            self.x,
            self.y,
            batch_size=BATCH,
            epochs=self.epochs,
            verbose=0,
            shuffle=False,
            validation_data=held_out,
            callbacks=[hook],
        )
        hook.close()
        (verdict,) = hook.verdicts()
        return verdict


def nan_images():
    images = X.copy()
    images[100] = np.nan
    return images


HEALTHY = Training()
FEW = {"samples": 200}
TUNED = {"preset": "tuned"}
WEIGHTS = {"collection_names": "weights"}
# Rule, parameters, the fault, its healthy twin, and how the name of the worst tensor begins.
RULES = {
    "DeadRelu in layers": (
        "DeadRelu", {}, Training(lambda: relu_stack(-30.0)), HEALTHY, "dense",
    ),
    "DeadRelu apart": (
        "DeadRelu", {}, Training(lambda: standalone_relus(-30.0)), Training(standalone_relus),
        "of_its_own/outputs",
    ),
    "SaturatedActivation of tanh": (
        "SaturatedActivation", TUNED, Training(lambda: squashed("tanh", 40.0)),
        Training(lambda: squashed("tanh", 0.1)), "dense",
    ),
    "SaturatedActivation of sigmoid": (
        "SaturatedActivation", TUNED, Training(lambda: squashed("sigmoid", 90.0)),
        Training(lambda: squashed("sigmoid", 0.1)), "dense",
    ),
    "SaturatedActivation apart": (
        "SaturatedActivation", TUNED, Training(lambda: squashed_apart("tanh", 40.0)),
        Training(lambda: squashed_apart("tanh", 0.1)), "activation",
    ),
    "PoorWeightInitialization": (
        "PoorWeightInitialization", {"distribution_range": 0, "threshold": 20},
        Training(lambda: initialized_relus(large(40.0))),
        Training(lambda: initialized_relus("he_normal")),
        "dense",
    ),
    "VanishingGradient": (
        "VanishingGradient", {}, Training(lambda: deep("sigmoid", 14)), HEALTHY, "gradients/",
    ),
    "ExplodingTensor": (
        "ExplodingTensor", {}, Training(x=nan_images()), HEALTHY, "",
    ),
    "LossNotDecreasing": (
        "LossNotDecreasing", {"num_steps": 5}, Training(rate=50.0, epochs=2),
        Training(epochs=2), "loss",
    ),
    "WeightUpdateRatio": (
        "WeightUpdateRatio", {}, Training(rate=1e6), HEALTHY, "dense",
    ),
    "TensorVariance": (
        "TensorVariance", WEIGHTS | {"max_threshold": 10},
        Training(lambda: squashed("tanh", 40.0)),
        HEALTHY, "dense",
    ),
    "UnchangedTensor": (
        "UnchangedTensor", WEIGHTS, Training(with_frozen_first), HEALTHY, "dense",
    ),
    "AllZero": (
        "AllZero", {"tensor_regex": "^inputs$"}, Training(x=np.zeros_like(X)), HEALTHY, "inputs",
    ),
    "CheckInputImages": (
        "CheckInputImages", {"threshold_samples": 200}, Training(convolutions, pixels(0.5)),
        Training(convolutions, pixels()), "inputs",
    ),
    "NLPSequenceRatio": (
        "NLPSequenceRatio", {}, Training(text_model, texts(9)), Training(text_model, texts(3)),
        "embedding",
    ),
    "ClassImbalance": (
        "ClassImbalance", FEW | {"threshold_misprediction": 1}, Training(y=mostly_one_class()),
        HEALTHY, "labels",
    ),
    "Confusion": (
        "Confusion", {"min_diag": 0.2, "max_off_diag": 0.8, "start_step": 250, "cumulative": True},
        Training(y=shuffled_labels(), epochs=30), Training(epochs=30), "predictions",
    ),
    "Overfit": (
        "Overfit", {"ratio_threshold": 2}, Training(epochs=20, validation=True),
        Training(epochs=2, validation=True), "",
    ),
}  # fmt: skip


def judged(training, out_dir, rule, parameters):
    hook = smd.KerasHook(
        out_dir,
        save_config=smd.SaveConfig(save_interval=1),
        rules=[(rule, {name: str(value) for name, value in parameters.items()})],
    )
    verdict = training.run(hook)
    assert hook.status().error is None
    return verdict


@pytest.mark.parametrize("name", RULES)
def test_a_rule_finds_the_fault_by_itself(out_dir, name):
    rule, parameters, fault, _, tensor = RULES[name]
    verdict = judged(fault, out_dir, rule, parameters)
    assert verdict["status"] == "IssuesFound", verdict["message"]
    assert verdict["evidence"][0]["tensor"].startswith(tensor), verdict["evidence"]


@pytest.mark.parametrize("name", RULES)
def test_a_rule_judges_the_healthy_twin_in_silence(out_dir, name):
    rule, parameters, _, healthy, _ = RULES[name]
    verdict = judged(healthy, out_dir, rule, parameters)
    assert verdict["status"] == "NoIssuesFound", verdict["message"]
    assert verdict["observations_judged"] > 0


SCRIPT = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
from sklearn.datasets import load_digits

x, y = load_digits(return_X_y=True)
bias = keras.initializers.Constant({bias})
model = keras.Sequential(
    [
        keras.Input((64,)),
        keras.layers.Dense(16, "relu", name="first", bias_initializer=bias),
        keras.layers.Dense(16, "tanh", name="second"),
        keras.layers.Dense(10),
    ]
)
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x[:320] / 16, y[:320], verbose=0)
"""
ASKED = ["DeadRelu", "SaturatedActivation", "ClassImbalance"]


@pytest.mark.parametrize(("bias", "status"), [(-30.0, "IssuesFound"), (0.0, "NoIssuesFound")])
def test_a_script_that_is_launched_saves_what_its_rules_need(tmp_path, bias, status):
    script, run = tmp_path / "train.py", tmp_path / "run"
    script.write_text(SCRIPT.format(bias=bias))
    rules = [word for rule in ASKED for word in ("--rule", rule)]
    train = ["run", "--out", run, *rules, "--", sys.executable, script]
    done = smdebug(*train)
    assert (done.returncode == 3) == (status == "IssuesFound"), done.stderr
    [judged] = json.loads(smdebug("check", "--json", run, *rules).stdout)
    found = {verdict["rule"]: verdict for verdict in judged["verdicts"]}
    assert found["DeadRelu"]["status"] == status, found["DeadRelu"]
    assert found["SaturatedActivation"]["status"] == "NoIssuesFound", found["SaturatedActivation"]
    assert "labels were seen" in found["ClassImbalance"]["message"]


def smdebug(*words):
    return subprocess.run(
        [sys.executable, "-m", "smdebug", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=300,
    )
