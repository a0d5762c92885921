"""A hook leaves no trace in saved models, and logs that it was never passed to a training."""

import gc
import os
import pickle
import signal
import weakref

import numpy as np
import pytest

import smdebug.tensorflow as smd
from conftest import digits, read, tf

EVERY_STEP = smd.SaveConfig(save_interval=1)


def make_model():
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Input((64,)), layers.Dense(4, "relu"), layers.Dense(10)])
    model.compile(
        "adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), run_eagerly=False
    )
    return model


class Terminates(tf.keras.callbacks.Callback):
    """Sends SIGTERM to this process at the end of a batch."""

    def on_train_batch_end(self, batch, logs=None):
        if batch == 2:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()


# The first test: TensorFlow waits for ever in a fork of a process in which it has computed.
def test_a_fit_that_is_terminated_has_all_steps_that_ended(out_dir, forked):
    def training():
        hook = smd.KerasHook(out_dir, save_all=True, save_config=EVERY_STEP)
        how = {"batch_size": 8, "verbose": 0, "callbacks": [hook, Terminates()]}
        make_model().fit(*digits(64), **how)

    assert forked(training) == -signal.SIGTERM
    trial = read(out_dir)
    assert trial.tensor("loss").steps(mode=smd.modes.TRAIN) == [0, 1, 2]
    assert not trial.loaded_all_steps


@pytest.mark.parametrize("how", ["file", "pickle", "weights"])
def test_a_file_of_a_recorded_model_contains_nothing_of_smdebug(out_dir, tmp_path, how):
    model = make_model()
    hook = smd.KerasHook(out_dir, save_all=True, save_config=EVERY_STEP)
    hook.register_model(model)
    images, labels = digits(16)
    saved = tmp_path / ("model.keras" if how == "file" else "model")

    class Saves(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if how == "file":
                self.model.save(saved)
            elif how == "pickle":
                saved.write_bytes(pickle.dumps(self.model))
            else:
                self.model.save_weights(tmp_path / "model.weights.h5")

    model.fit(images, labels, batch_size=8, verbose=0, callbacks=[hook, Saves()])
    hook.close()
    files = [each for each in tmp_path.rglob("*model*") if each.is_file()]
    assert files
    for path in files:
        assert b"smdebug" not in path.read_bytes(), path
    if how == "file":
        loaded = tf.keras.models.load_model(saved)
        np.testing.assert_allclose(loaded(images), model(images), rtol=1e-5)


def test_a_hook_that_was_passed_to_no_training_says_so_at_the_end(out_dir, logged):
    hook = smd.KerasHook(out_dir)
    make_model().fit(*digits(8), verbose=0)
    hook.close()
    (warning,) = [line for line in logged if "callbacks=[hook]" in line]
    assert out_dir in warning


def test_a_hook_that_records_logs_no_advice(out_dir, logged):
    hook = smd.KerasHook(out_dir)
    make_model().fit(*digits(8), verbose=0, callbacks=[hook])
    hook.close()
    assert not [line for line in logged if "callbacks=[hook]" in line]


def test_a_second_training_with_a_closed_hook_is_logged_once_and_runs(out_dir, logged):
    hook = smd.KerasHook(out_dir)
    model = make_model()
    model.fit(*digits(8), verbose=0, callbacks=[hook])
    hook.close()
    assert not [line for line in logged if "create another one" in line]
    model.fit(*digits(8), verbose=0, callbacks=[hook])
    model.evaluate(*digits(8), verbose=0, callbacks=[hook])
    (warning,) = [line for line in logged if "create another one" in line]
    assert "the callback in fit, evaluate or predict after close() has no effect" in warning
    assert smd.create_trial(out_dir).steps() == [0]


def test_the_location_and_a_wrong_pattern_are_logged_once_for_several_epochs(out_dir, capfd):
    hook = smd.KerasHook(out_dir, include_regex="nosuch", save_config=EVERY_STEP)
    make_model().fit(*digits(16), epochs=3, batch_size=8, verbose=0, callbacks=[hook])
    hook.close()
    text = capfd.readouterr().err
    assert text.count("recording to") == 1
    assert text.count("'nosuch' matched no tensor") == 1


def fit_in_a_cell(out_dir):
    """What a cell of a notebook does; returns weak references to what it made."""
    model = make_model()
    hook = smd.KerasHook(out_dir, save_all=True, save_config=EVERY_STEP)
    model.fit(*digits(16), batch_size=8, verbose=0, callbacks=[hook])
    return weakref.ref(model), weakref.ref(hook)


def loop_in_a_cell(out_dir):
    """Does the same with a loop that the user wrote."""
    model = make_model()
    hook = smd.KerasHook(out_dir, save_all=True, save_config=EVERY_STEP)
    hook.register_model(model)
    images, labels = digits(16)
    optimizer = hook.wrap_optimizer(tf.keras.optimizers.SGD(0.1))
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    for _ in range(2):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            value = loss(labels, model(images, training=True))
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return weakref.ref(model), weakref.ref(hook)


@pytest.mark.parametrize("cell", [fit_in_a_cell, loop_in_a_cell])
def test_a_cell_that_runs_again_keeps_no_former_model(tmp_path, cell):
    made = [cell(str(tmp_path / str(i))) for i in range(3)]
    tf.keras.backend.clear_session()
    gc.collect()
    # The last hook is the current one until another is made.
    assert [model() is None for model, _ in made[:2]] == [True, True]
    assert [hook() is None for _, hook in made[:2]] == [True, True]
    for i in range(2):
        assert read(str(tmp_path / str(i))).steps() == [0, 1]
