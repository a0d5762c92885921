"""Estimators, where TensorFlow has them; where it does not, EstimatorHook says so."""

import numpy as np
import pytest

import smdebug.tensorflow as smd
from conftest import read, tf
from smdebug.exceptions import SMDebugNotImplementedError
from smdebug.tensorflow import EstimatorHook, SessionHook

tf1 = tf.compat.v1
HAS_ESTIMATORS = hasattr(tf, "estimator")
with_estimators = pytest.mark.skipif(
    not HAS_ESTIMATORS, reason="this TensorFlow has no tf.estimator"
)


@pytest.mark.skipif(HAS_ESTIMATORS, reason="this TensorFlow has tf.estimator")
def test_without_estimators_the_hook_says_so_at_once(out_dir):
    with pytest.raises(SMDebugNotImplementedError, match="has no tf.estimator.*SessionHook"):
        EstimatorHook(out_dir)


def inputs():
    generator = np.random.RandomState(4)
    x = generator.rand(32, 2).astype(np.float32)
    y = (x @ np.float32([[2.0], [-1.0]])) + 0.5
    return tf.data.Dataset.from_tensor_slices(({"x": x}, y)).batch(8).repeat(3)


def model_of(hook):
    def model(features, labels, mode):
        start = tf1.constant_initializer(0.3)
        logits = tf1.layers.dense(features["x"], 1, kernel_initializer=start, name="line")
        loss = tf1.losses.mean_squared_error(labels, logits)
        optimizer = tf1.train.MomentumOptimizer(0.1, 0.9)
        if hook:
            optimizer = hook.wrap_optimizer(optimizer)
        train = optimizer.minimize(loss, tf1.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    return model


def trained(hook, folder):
    config = tf.estimator.RunConfig(tf_random_seed=7)
    estimator = tf.estimator.Estimator(model_of(hook), str(folder), config)
    hooks = [hook] if hook else []
    if hook:
        hook.set_mode(smd.modes.TRAIN)
    estimator.train(inputs, hooks=hooks, steps=6)
    if hook:
        hook.set_mode(smd.modes.EVAL)
    estimator.evaluate(inputs, hooks=hooks, steps=3)
    return {name: estimator.get_variable_value(name) for name in estimator.get_variable_names()}


@with_estimators
def test_training_and_evaluation_are_recorded_and_end_bit_identical(out_dir, tmp_path):
    without = trained(None, tmp_path / "without")
    hook = EstimatorHook(
        out_dir,
        include_collections=["weights", "biases", "gradients", "losses", "optimizer_variables"],
        save_config=smd.SaveConfig(save_interval=2),
    )
    assert isinstance(hook, SessionHook)
    with_hook = trained(hook, tmp_path / "with")
    hook.close()
    assert without.keys() == with_hook.keys()
    for name, value in without.items():
        assert value.tobytes() == with_hook[name].tobytes(), name

    trial = read(out_dir)
    assert trial.steps(mode=smd.modes.TRAIN) == [0, 2, 4]
    assert trial.steps(mode=smd.modes.EVAL) == [0, 2]
    assert trial.tensor_names(collection="weights") == ["line/kernel:0"]
    assert trial.tensor_names(collection="biases") == ["line/bias:0"]
    assert "line/kernel/Momentum:0" in trial.tensor_names(collection="optimizer_variables")
    assert len(trial.tensor_names(collection="gradients")) == 2
    (loss,) = trial.tensor_names(collection="losses")
    assert trial.tensor(loss).steps(mode=smd.modes.EVAL) == [0, 2]
    assert hook.status().error is None


@with_estimators
def test_an_unknown_collection_is_logged_and_ignored(out_dir, tmp_path, logged):
    hook = EstimatorHook(
        out_dir,
        include_collections=["flatten", "weights"],
        save_config=smd.SaveConfig(save_interval=2),
    )
    trained(hook, tmp_path / "model")
    hook.close()
    assert len([text for text in logged if "include_collections names 'flatten'" in text]) == 1
    assert hook.status().error is None
    assert read(out_dir).tensor("line/kernel:0").steps(mode=smd.modes.TRAIN) == [0, 2, 4]


@with_estimators
def test_a_hook_that_was_passed_to_no_estimator_says_so_at_the_end(out_dir, logged):
    EstimatorHook(out_dir).close()
    (warning,) = [text for text in logged if "to an Estimator" in text]
    assert out_dir in warning
