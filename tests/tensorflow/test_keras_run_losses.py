"""What `smdebug run`, without any option, tells of the loss in Keras: of its course, judged in
every step because the saved losses are few and means over the epoch, and of what it is given."""

import json
import pathlib
import subprocess
import sys

import pytest

SMDEBUG = pathlib.Path(sys.executable).parent / "smdebug"

SCRIPT = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras, numpy as np, tensorflow as tf
keras.utils.set_random_seed(0)
random = np.random.default_rng(0)
labels = random.integers(0, 5, 32 * {batches})
inputs = random.normal(size=(5, 12))[labels] + 0.5 * random.normal(size=(len(labels), 12))
layers = [keras.Input((12,)), keras.layers.Dense(32, activation="tanh"), keras.layers.Dense(5)]
model = keras.Sequential(layers)
cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.{optimizer}, {loss})
model.fit(inputs.astype("float32"), labels, batch_size=32, epochs={epochs}, verbose=0)
print("trained to the end")
"""
HEALTHY = {"optimizer": "Adam(1e-2)", "loss": "cross_entropy", "batches": 25, "epochs": 6}


def told(folder, rule="LossNotDecreasing", **changes):
    """The verdict of a rule on the training with `changes`."""
    folder.mkdir(exist_ok=True)
    script = folder / "train.py"
    script.write_text(SCRIPT.format(**HEALTHY | changes))
    done = subprocess.run(
        [SMDEBUG, "run", "--json", "--out", folder / "run", "--", sys.executable, script],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=folder,
    )
    assert "trained to the end" in done.stdout, done.stderr
    result = json.loads(done.stdout[done.stdout.index("{") :])
    return next(each for each in result["verdicts"] if each["rule"] == rule)


@pytest.mark.parametrize("batches, epochs", [(25, 6), (150, 1), (5, 30)])
def test_a_loss_that_falls_passes(tmp_path, batches, epochs):
    verdict = told(tmp_path, batches=batches, epochs=epochs)
    assert verdict["status"] == "NoIssuesFound"


def test_a_loss_that_never_changes_is_found_in_the_first_steps(tmp_path):
    verdict = told(tmp_path, loss="lambda y, p: 0 * tf.reduce_sum(p, axis=-1) + 0.7")
    assert verdict["status"] == "IssuesFound"
    assert "loss: the loss is 0.7 at every one of 40 steps" in verdict["message"]
    assert verdict["step"]["global"] <= 50


def test_a_learning_rate_that_is_far_too_low_leaves_the_loss_where_it_was(tmp_path):
    verdict = told(tmp_path, optimizer="SGD(1e-6)")
    assert verdict["status"] == "IssuesFound"
    assert "loss: the loss does not fall: " in verdict["message"]


def test_a_loss_of_probabilities_that_is_given_scores_is_found(tmp_path):
    assert told(tmp_path, "LossInput")["status"] == "NoIssuesFound"
    loss = '"sparse_categorical_crossentropy"'
    verdict = told(tmp_path / "faulty", "LossInput", loss=loss, epochs=2)
    assert verdict["status"] == "IssuesFound"
    assert verdict["message"].startswith(
        "loss: sparse_categorical_crossentropy is given the result of a linear layer, and expects "
        "probabilities"
    )


def test_a_few_steps_are_too_few_to_tell(tmp_path):
    verdict = told(tmp_path, batches=15, epochs=1)
    assert verdict["status"] == "Error"
    assert verdict["message"] == (
        "nothing to judge: 15 steps are too few to tell whether the loss falls; it needs about 40"
    )
