"""Optimizers of Keras before 2.11: what they are set to is saved beside what they keep."""

import numpy as np
import pytest
import tensorflow as tf

import smdebug.tensorflow as smd
from conftest import KERAS_3, read

if KERAS_3:
    pytest.skip("Keras 3 has no legacy optimizers", allow_module_level=True)

legacy = tf.keras.optimizers.legacy
SEED = 5
X = np.random.RandomState(SEED).rand(24, 3).astype(np.float32)
Y = X.sum(axis=1, keepdims=True)
# What the script sets: the original's names, see the golden run keras_fit.
SET = {
    "Adam/learning_rate:0": 0.25,
    "Adam/beta_1:0": 0.5,
    "Adam/beta_2:0": 0.75,
    "Adam/decay:0": 0.125,
}


def adam():
    return legacy.Adam(0.25, beta_1=0.5, beta_2=0.75, decay=0.125)


def made(optimizer, **how):
    tf.keras.utils.set_random_seed(SEED)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, name="line", input_shape=(3,))])
    model.compile(optimizer, "mse", **how)
    return model


def recorder(out_dir):
    config = smd.SaveConfig(save_interval=1)
    collections = ["optimizer_variables", "gradients"]
    return smd.KerasHook(out_dir, include_collections=collections, save_config=config)


def assert_is_adam(trial, steps):
    slots = {f"Adam/line/{name}/{slot}:0" for name in ("kernel", "bias") for slot in "mv"}
    names = set(trial.tensor_names(collection="optimizer_variables"))
    assert names == {*SET, "Adam/iter:0", *slots}
    for name, value in SET.items():
        assert {trial.tensor(name).value(step).item() for step in range(steps)} == {value}
    mean = np.zeros((3, 1))
    for step in range(steps):
        assert trial.tensor("Adam/iter:0").value(step) == step + 1
        gradient = trial.tensor("gradients/line/kernelGrad").value(step)
        mean = 0.5 * mean + 0.5 * gradient
        kept = trial.tensor("Adam/line/kernel/m:0").value(step)
        np.testing.assert_allclose(kept, mean, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("how", [{}, {"run_eagerly": True}, {"jit_compile": True}])
def test_what_adam_is_set_to_and_keeps_is_saved_by_fit(out_dir, how):
    with recorder(out_dir) as hook:
        made(adam(), **how).fit(X, Y, batch_size=8, shuffle=False, verbose=0, callbacks=[hook])
    assert hook.status().error is None
    assert_is_adam(read(out_dir), 3)


@pytest.mark.parametrize("is_graph", [False, True])
def test_a_loop_with_a_wrapped_optimizer_saves_the_same(out_dir, is_graph):
    model, optimizer = made("sgd"), adam()
    hook = recorder(out_dir)
    hook.wrap_optimizer(optimizer)

    def step(x, y):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    step = tf.function(step) if is_graph else step
    for start in (0, 8, 16):
        step(tf.constant(X[start : start + 8]), tf.constant(Y[start : start + 8]))
    hook.close()
    assert hook.status().error is None
    assert_is_adam(read(out_dir), 3)


def test_what_the_script_changes_between_epochs_is_seen(out_dir):
    model = made(legacy.SGD(0.25, momentum=0.5))

    def rate(epoch, lr):
        return 0.25 / 2**epoch

    schedule = tf.keras.callbacks.LearningRateScheduler(rate)
    with recorder(out_dir) as hook:
        model.fit(X, Y, batch_size=12, epochs=2, verbose=0, callbacks=[schedule, hook])
    trial = read(out_dir)
    # The callback asks for the rate before the first update, outside of the scope "SGD".
    rates = [trial.tensor("learning_rate:0").value(step).item() for step in range(4)]
    assert rates == [0.25, 0.25, 0.125, 0.125]
    assert trial.tensor("momentum:0").value(3).item() == 0.5


def test_a_schedule_is_no_variable_and_is_left_out(out_dir):
    schedule = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)
    with recorder(out_dir) as hook:
        made(legacy.SGD(schedule)).fit(X, Y, batch_size=12, verbose=0, callbacks=[hook])
    assert hook.status().error is None
    names = read(out_dir).tensor_names(collection="optimizer_variables")
    assert names == ["SGD/decay:0", "SGD/iter:0", "SGD/momentum:0"]
