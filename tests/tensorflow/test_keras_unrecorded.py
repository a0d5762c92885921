"""What a hook says at the end about a use that recorded nothing, or less than it could."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import smdebug.tensorflow as smd

X, Y = np.ones((8, 4), "float32"), np.ones((8, 1), "float32")


def model():
    made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


def warnings_after(caplog, hook):
    hook.close()
    return [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]


def looped_with_tape(hook, takes_gradient, wraps=True):
    trained = model()
    for _ in range(2):
        tape = hook.wrap_tape(tf.GradientTape()) if wraps else tf.GradientTape()
        with tape:
            loss = tf.reduce_mean(tf.square(trained(X) - Y))
        if takes_gradient:
            gradients = tape.gradient(loss, trained.trainable_variables)
            trained.optimizer.apply_gradients(
                zip(gradients, trained.trainable_variables, strict=True)
            )


def test_a_loop_of_train_on_batch_is_told_to_register_the_model(out_dir, caplog):
    hook = smd.KerasHook(out_dir)
    trained = model()
    for _ in range(2):
        trained.train_on_batch(X, Y)
        trained.test_on_batch(X, Y)
    (text,) = warnings_after(caplog, hook)
    assert "no step was recorded" in text and out_dir in text
    assert "hook.register_model(model) before a loop of train_on_batch or test_on_batch" in text


def test_a_registered_model_records_the_same_loop(out_dir, caplog):
    hook = smd.KerasHook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    trained = model()
    hook.register_model(trained)
    for _ in range(2):
        trained.train_on_batch(X, Y)
    assert warnings_after(caplog, hook) == []
    assert len(smd.create_trial(out_dir).steps()) == 2


def test_a_registered_model_that_runs_no_batch_is_named_as_the_reason(out_dir, caplog):
    hook = smd.KerasHook(out_dir)
    hook.register_model(model())
    looped_with_tape(hook, takes_gradient=True, wraps=False)
    (text,) = warnings_after(caplog, hook)
    assert "no batch of a registered model ran" in text and "hook.wrap_tape(tape)" in text


def test_a_tape_that_is_never_entered_is_named_as_the_reason(out_dir, caplog):
    hook = smd.KerasHook(out_dir)
    hook.wrap_tape(tf.GradientTape())
    looped_with_tape(hook, takes_gradient=True, wraps=False)
    (text,) = warnings_after(caplog, hook)
    assert "a tape was wrapped, but never entered" in text


def test_tapes_whose_gradient_is_never_taken_are_named(out_dir, caplog):
    hook = smd.KerasHook(out_dir)
    looped_with_tape(hook, takes_gradient=False)
    text = warnings_after(caplog, hook)[-1]
    assert out_dir in text and "tape.gradient was called on no wrapped tape" in text
    assert "call tape.gradient(loss, variables) on it" in text


def test_tapes_whose_gradient_is_taken_are_not_named(out_dir, caplog):
    hook = smd.KerasHook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    looped_with_tape(hook, takes_gradient=True)
    assert warnings_after(caplog, hook) == []


def test_a_hook_in_the_place_of_a_list_of_callbacks_records(out_dir, caplog):
    hook = smd.KerasHook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    model().fit(X, Y, verbose=0, callbacks=hook)
    assert warnings_after(caplog, hook) == []
    assert len(smd.create_trial(out_dir).steps()) == 1


def test_a_model_that_is_not_compiled_ends_the_run_with_the_error_of_keras(out_dir, caplog):
    with pytest.raises((ValueError, RuntimeError), match="compile"):
        with smd.KerasHook(out_dir) as hook:
            keras.Sequential([keras.layers.Dense(1)]).fit(X, Y, verbose=0, callbacks=[hook])
    (text,) = warnings_after(caplog, hook)
    assert "was raised before the first step" in text
