"""Strategies other than MirroredStrategy over several devices: with one replica each is recorded as
a model without a strategy; of several replicas it is said what is left out."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import smdebug.tensorflow as smd
from conftest import digits, read, split_cpu

L = keras.layers
DEVICES = ["CPU:0", "CPU:1"]
ONE_REPLICA = ["default", "one device", "one mirror", "one of many workers"]
EVERY = smd.SaveConfig(save_interval=1)
X, Y = digits(40)
T = np.eye(10, dtype=np.float32)[Y]


@pytest.fixture(scope="module")
def strategies():
    """By name. That of many workers must come before TensorFlow has computed anything."""
    split_cpu()
    return {
        "one of many workers": tf.distribute.MultiWorkerMirroredStrategy(),
        "default": tf.distribute.get_strategy(),
        "one device": tf.distribute.OneDeviceStrategy("CPU:1"),
        "one mirror": tf.distribute.MirroredStrategy(["CPU:1"]),
        "central": tf.distribute.experimental.CentralStorageStrategy(
            compute_devices=DEVICES, parameter_device="CPU:0"
        ),
    }


def trained(strategy, hook=None, **how):
    keras.utils.set_random_seed(3)
    with strategy.scope():
        model = keras.Sequential([keras.Input((64,)), L.Dense(10, name="last")])
        model.compile(keras.optimizers.SGD(0.25), "mse", **how)
    before = model.get_weights()
    fit = {"batch_size": 16, "shuffle": False, "verbose": 0}
    history = model.fit(X, T, callbacks=[hook] if hook else [], **fit)
    return before, model.get_weights(), history.history


def recorder(out_dir, **how):
    return smd.KerasHook(out_dir, include_workers="all", save_config=EVERY, save_all=True, **how)


def assert_same(mine, theirs):
    for one, other in zip(mine[1], theirs[1], strict=True):
        np.testing.assert_array_equal(one, other)
    assert mine[2] == theirs[2]


def value(trial, pattern, step):
    (name,) = [each for each in trial.tensor_names() if re.fullmatch(pattern, each)]
    return trial.tensor(name).value(step)


@pytest.mark.parametrize("how", [{}, {"run_eagerly": True}])
@pytest.mark.parametrize("name", ONE_REPLICA)
def test_one_replica_is_recorded_as_without_a_strategy(strategies, out_dir, logged, name, how):
    plain = trained(strategies[name], **how)
    with recorder(out_dir) as hook:
        watched = trained(strategies[name], hook, **how)
    assert_same(watched, plain)
    assert hook.status().error is None
    trial = read(out_dir)
    assert trial.workers() == ["worker_0"]
    assert trial.steps() == [0, 1, 2]
    (kernel, bias), images = plain[0], X[:16]
    slope = 2 * (images @ kernel + bias - T[:16]) / T[:16].size
    np.testing.assert_array_equal(value(trial, "last/inputs", 0), images)
    np.testing.assert_allclose(
        value(trial, ".*last/kernelGrad", 0), images.T @ slope, rtol=1e-3, atol=1e-6
    )
    np.testing.assert_array_equal(value(trial, "last/weights/.*kernel:0", 2), plain[1][0])
    assert not [each for each in logged if "not saved" in each or "cannot be distinguished" in each]


@pytest.mark.parametrize("how", [{}, {"run_eagerly": True}])
def test_of_replicas_that_keras_adds_up_it_is_said_once_what_is_left_out(
    strategies, out_dir, logged, how
):
    plain = trained(strategies["central"], **how)
    with recorder(out_dir) as hook:
        watched = trained(strategies["central"], hook, **how)
    assert_same(watched, plain)
    assert hook.status().error is None
    trial = read(out_dir)
    assert trial.workers() == ["worker_0"]
    np.testing.assert_array_equal(value(trial, "last/weights/.*kernel:0", 2), plain[1][0])
    assert len(value(trial, "loss", 1)) == 1
    inside = ("inputs", "outputs", "labels", "predictions", "Grad")
    assert not [each for each in trial.tensor_names() if each.endswith(inside)]
    said = [each for each in logged if "CentralStorageStrategy" in each]
    assert len(said) == 1 and said[0].startswith("layers, gradients, inputs and outputs")


@pytest.mark.parametrize("name", [*ONE_REPLICA, "central"])
def test_a_loop_of_ones_own_is_recorded_under_any_strategy(strategies, out_dir, logged, name):
    strategy = strategies[name]
    with strategy.scope():
        kernel = tf.Variable(np.full((64, 10), 0.01, np.float32), name="kernel")

    def step():
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = tf.reduce_mean((X[:8] @ kernel - T[:8]) ** 2)
        return tape.gradient(loss, kernel)

    with recorder(out_dir) as hook:
        for _ in range(2):
            strategy.run(step)
    assert hook.status().error is None
    trial = read(out_dir)
    assert trial.workers() == ["worker_0"]
    assert trial.steps() == [0, 1]
    difference = X[:8] @ np.full((64, 10), 0.01, np.float32) - T[:8]
    np.testing.assert_allclose(trial.tensor("loss").value(1), np.mean(difference**2), rtol=1e-5)
    gradient = 2 * X[:8].T @ difference / difference.size
    np.testing.assert_allclose(
        trial.tensor("gradients/kernelGrad").value(1), gradient, rtol=1e-4, atol=1e-7
    )
    said = [each for each in logged if "the first replica of CentralStorageStrategy" in each]
    assert len(said) == (1 if name == "central" else 0)
