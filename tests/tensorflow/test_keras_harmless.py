"""A hook changes nothing: weights, history and results are the same to the bit, nothing is traced
that need not be, and whatever goes wrong is told and stays out of the training."""

import os
import pathlib
import subprocess
import sys
import textwrap

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras_watching import FunctionalDropout, recorder

import smdebug.tensorflow as smd
from conftest import KERAS_3, digits, read
from smdebug.exceptions import SMDebugTypeError
from smdebug.tensorflow.keras.adapter import KerasAdapter
from smdebug.tensorflow.keras.tensor_saver import TensorSaver

L = keras.layers
X, Y = digits(44)  # 44 is no multiple of the batch size


def made(*extra, **how):
    keras.utils.set_random_seed(3)
    layers = [keras.Input((64,)), L.Dense(8, activation="relu", name="first"), *extra]
    model = keras.Sequential([*layers, L.Dense(10, name="second")])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"], **how)
    return model


def trained(hook, model, epochs=2, callbacks=(), **how):
    how = {"batch_size": 8, "shuffle": False, "verbose": 0, **how}
    callbacks = [*callbacks] if hook is None else [*callbacks, hook]
    history = model.fit(X, Y, epochs=epochs, callbacks=callbacks, **how)
    return model.get_weights(), history.history


def assert_same(one, other):
    weights, history = one
    for mine, theirs in zip(weights, other[0], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert history == other[1]


DROPOUTS = {
    "none": lambda: [],
    "a layer": lambda: [L.Dropout(0.3)],
    "a function": lambda: [FunctionalDropout()],
}


def each_dropout_and_way():
    """Every pair; those that no other test needs are long: each dropout is tried in one way, and
    each way with one dropout."""
    ways = [{}, {"run_eagerly": True}, {"steps_per_execution": 2}]
    short = [("none", ways[0]), ("a function", ways[1]), ("a layer", ways[2])]
    return [
        pytest.param(dropout, how, marks=[] if (dropout, how) in short else pytest.mark.long)
        for dropout in DROPOUTS
        for how in ways
    ]


@pytest.mark.parametrize(("dropout", "how"), each_dropout_and_way())
def test_weights_and_history_are_the_same_to_the_bit(out_dir, dropout, how, warned):
    validation = {"validation_data": (X[:12], Y[:12])}
    with warned() as usual:
        plain = trained(None, made(*DROPOUTS[dropout](), **how), **validation)
    with warned() as texts, recorder(out_dir) as hook:
        assert_same(trained(hook, made(*DROPOUTS[dropout](), **how), **validation), plain)
    assert texts <= usual
    assert hook.status().error is None
    assert "first/outputs" in read(out_dir).tensor_names()


COMPILED = """
import os, sys, hashlib
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras, numpy as np, tensorflow as tf
sys.path.insert(0, sys.argv[1])
from test_keras_harmless import made, trained, recorder, DROPOUTS
keras.utils.set_random_seed(3)  # a layer of Keras 3 takes its seed when it is made
hook = recorder(sys.argv[3]) if sys.argv[3] else None
weights, history = trained(hook, made(*DROPOUTS[sys.argv[2]](), jit_compile=True))
if hook:
    hook.close()
print(hashlib.sha256(b"".join(each.tobytes() for each in weights)).hexdigest())
"""


@pytest.mark.parametrize(
    "dropout",
    [
        "a function",
        # Two programs each; test_keras_captured_beside.py has both cases within one process.
        pytest.param("none", marks=pytest.mark.long),
        pytest.param("a layer", marks=pytest.mark.long),
    ],
)
def test_compiled_by_xla_they_are_the_same_too(tmp_path, dropout):
    """In a process each: XLA draws its random numbers from a counter of the process."""
    said = [
        python(tmp_path, COMPILED, pathlib.Path(__file__).parent, dropout, out_dir)
        for out_dir in ("", tmp_path / "run")
    ]
    assert said[0].stdout == said[1].stdout
    assert "gradients" in "".join(read(str(tmp_path / "run")).tensor_names())


def python(tmp_path, script, *arguments, check=True, environment=None):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    done = subprocess.run(
        [sys.executable, str(path), *map(str, arguments)],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if check:
        assert done.returncode == 0, done.stderr[-3000:]
    return done


# --- traces ---


class Counts(keras.layers.Layer):
    """Counts how often Python runs it: once per trace."""

    calls = 0

    def call(self, x):
        type(self).calls += 1
        return x


def traces(hook, *extra, fits=(1,)):
    """How often the train function of a model is traced in each of several fits of 4 steps."""
    model, counts = made(Counts(), *extra), []
    for epochs in fits:
        Counts.calls = 0
        trained(hook, model, epochs=epochs, batch_size=11)
        counts.append(Counts.calls)
    return counts


def test_nothing_is_traced_again_while_nothing_inside_is_due(out_dir):
    plain = traces(None, fits=(1, 2))
    with recorder(out_dir, 1, ["weights", "losses", "metrics"]) as hook:
        assert traces(hook, fits=(1, 2)) == plain


def test_one_more_function_is_traced_once_something_inside_is_due(out_dir):
    plain = traces(None, fits=(1, 2))
    with recorder(out_dir, 3, ["gradients"], start_step=4) as hook:
        assert traces(hook, fits=(1, 2)) == [plain[0], plain[1] + 1]
    assert read(out_dir).tensor(_gradient(out_dir)).steps() == [6, 9]


def test_a_graph_with_random_numbers_of_its_own_is_traced_once_more_like_any(out_dir):
    plain = traces(None, FunctionalDropout(), fits=(2,))
    with recorder(out_dir, 3, ["gradients"]) as hook:
        assert traces(hook, FunctionalDropout(), fits=(2,)) == [plain[0] + 1]
    assert read(out_dir).tensor(_gradient(out_dir)).steps() == [0, 3, 6]


def _gradient(out_dir):
    return next(n for n in read(out_dir).tensor_names() if n.endswith("second/kernelGrad"))


def test_no_tensor_leaves_the_graph_on_a_step_where_none_is_due(out_dir, monkeypatch):
    handed = []
    hook = recorder(out_dir, 3, ["gradients"])
    batch_ended = KerasAdapter.batch_ended

    def noted(adapter, function, result, captures, state=None):
        handed.append(captures is not None)
        batch_ended(adapter, function, result, captures, state)

    monkeypatch.setattr(KerasAdapter, "batch_ended", noted)
    with hook:
        trained(hook, made(), epochs=1, batch_size=11)
    assert handed == [True, False, False, True]


# --- the model stays the user's ---


def test_the_model_is_its_own_again_when_fit_is_over(out_dir):
    model, call = made(), keras.layers.Layer.__call__
    before = set(vars(model))
    with recorder(out_dir) as hook:
        trained(hook, model)
        left = {"train_step", "make_train_function", "test_step", "predict_step"}
        assert not left & (set(vars(model)) - before)
        assert keras.layers.Layer.__call__ is call
        steps = hook.status().steps
        trained(None, model)
        assert hook.status().steps == steps, "a fit without the hook is not recorded"
        trained(hook, model)
        assert hook.status().steps == 2 * steps


def test_methods_that_a_model_was_given_are_still_there_afterwards(out_dir):
    model = made()
    steps, own_step = [], model.train_step
    own_apply = "apply" if KERAS_3 else "apply_gradients"

    def counted(data):
        steps.append(1)
        return own_step(data)

    model.train_step = counted
    with recorder(out_dir) as hook:
        trained(hook, model)
        assert model.train_step is counted
        assert own_apply not in vars(model.optimizer)
    traced = len(steps)
    assert traced > 0
    model.make_train_function(force=True)
    trained(None, model)
    assert len(steps) > traced, "the step that the script gave was lost"


def test_a_method_that_a_script_replaces_during_fit_stays(out_dir):
    model = made()

    def predict_step(data):
        return data

    def replace(epoch, logs):
        model.predict_step = predict_step

    with recorder(out_dir) as hook:
        trained(hook, model, callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=replace)])
    assert model.predict_step is predict_step


def test_a_method_that_a_script_keeps_from_a_recorded_fit_works_afterwards(out_dir):
    model, kept = made(), []

    def keep(epoch, logs):
        kept.append(model.optimizer.apply_gradients)

    with recorder(out_dir) as hook:
        trained(hook, model, callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=keep)])
    before = model.get_weights()
    slopes = [tf.ones(each.shape) for each in model.trainable_variables]
    kept[0](list(zip(slopes, model.trainable_variables, strict=True)))
    assert all((new < old).all() for new, old in zip(model.get_weights(), before, strict=True))


def test_layers_are_replaced_by_nothing_once_all_is_traced(out_dir):
    model, call = made(), keras.layers.Layer.__call__
    seen = []
    looks = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: seen.append(keras.layers.Layer.__call__ is call)
    )
    with recorder(out_dir) as hook:
        trained(hook, model, epochs=1, callbacks=[looks])
        trained(hook, model, epochs=1, callbacks=[looks])
    assert seen == [False, True]
    assert len(read(out_dir).tensor("first/outputs").steps()) > 2


@pytest.mark.parametrize("form", [".keras", ".h5", ""])
def test_a_model_is_saved_in_every_format_while_it_is_recorded(tmp_path, form):
    path, saved = str(tmp_path / f"model{form}"), []

    class Saves(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if form or not keras.__version__.startswith("3"):
                self.model.save(path)
            else:
                self.model.export(path, verbose=False)
            saved.append(self.model.predict(X, verbose=0))

    with recorder(str(tmp_path / "run")) as hook:
        trained(hook, made(), epochs=1, callbacks=[Saves()])
    if form:
        again = keras.models.load_model(path).predict(X, verbose=0)
    else:
        loaded = tf.saved_model.load(path)
        again = loaded.serve(X) if hasattr(loaded, "serve") else loaded(X)
    np.testing.assert_allclose(again, saved[-1], rtol=1e-5, atol=1e-6)


# --- what goes wrong ---


def test_a_wrong_object_is_refused(out_dir):
    with recorder(out_dir) as hook:
        for call in (hook.register_model, hook.wrap_optimizer, hook.wrap_tape):
            with pytest.raises(SMDebugTypeError, match="takes a"):
                call(object())
        with pytest.raises(SMDebugTypeError, match="takes a Keras layer"):
            hook.get_collection("mine").add_keras_layer("first")
        with pytest.raises(SMDebugTypeError, match="has no name"):
            hook.add_to_collection("mine", tf.constant(1.0))


def test_an_unknown_collection_is_logged_and_ignored(out_dir, logged):
    hook = recorder(out_dir, 1, ["nothing_like_it", "weights"])
    trained(hook, made())
    hook.close()
    assert len([text for text in logged if "'nothing_like_it'" in text]) == 1
    assert read(out_dir).collection("weights").tensor_names


def test_a_hook_that_is_passed_twice_counts_once(out_dir, logged):
    with recorder(out_dir, 1, ["losses"]) as hook:
        trained(hook, made(), epochs=1, callbacks=[hook])
    assert read(out_dir).steps() == list(range(6))
    assert any("among the callbacks twice" in message for message in logged)


def test_a_second_model_goes_on_in_the_same_run_with_a_word(out_dir, logged):
    with recorder(out_dir, 1, ["losses"]) as hook:
        trained(hook, made(), epochs=1)
        trained(hook, made(), epochs=1)
    assert read(out_dir).steps() == list(range(12))
    assert any("a second model" in message for message in logged)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_was_saved_before_an_exception_is_readable(out_dir, error):
    class Breaks(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 3:
                raise error("broken")

    model = made()
    hook = recorder(out_dir, 1)
    with pytest.raises(error):
        trained(hook, model, callbacks=[Breaks()])
    hook.close()
    assert read(out_dir).steps() == [0, 1, 2, 3]
    assert read(out_dir).loaded_all_steps
    trained(None, model)


def test_an_exception_inside_a_batch_gives_the_model_back(out_dir):
    class Model(keras.Model):
        is_broken = False

        def __init__(self):
            super().__init__()
            self.last = L.Dense(10)

        def call(self, x):
            if self.is_broken:
                raise ValueError("inside")
            return self.last(x)

    model = Model()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, run_eagerly=True)
    with recorder(out_dir, 1) as hook:
        trained(hook, model, epochs=1)
        model.is_broken = True
        with pytest.raises(ValueError, match="inside"):
            trained(hook, model, epochs=1)
        model.is_broken = False
        steps = hook.status().steps
        trained(None, model, epochs=1)
        assert hook.status().steps == steps
        trained(hook, model, epochs=1)
    assert len(read(out_dir).steps()) == 12


def test_a_model_of_nan_is_recorded_as_it_is(out_dir):
    model = made()
    model.set_weights([np.full_like(each, np.nan) for each in model.get_weights()])
    with recorder(out_dir, 1, ["losses", "gradients"]) as hook:
        trained(hook, model, epochs=1)
    assert np.isnan(read(out_dir).tensor(_gradient(out_dir)).value(0)).all()
    assert np.isnan(read(out_dir).tensor("loss").value(0)).all()


def test_an_empty_or_unmeasured_data_set_counts_no_step_that_was_not_run(out_dir):
    def batches():
        for start in range(0, 24, 8):
            yield X[start : start + 8], Y[start : start + 8]

    kinds = (tf.TensorSpec((8, 64), tf.float32), tf.TensorSpec((8,), tf.int64))
    data = tf.data.Dataset.from_generator(batches, output_signature=kinds)
    with recorder(out_dir, 1, ["losses"]) as hook:
        made().fit(data, epochs=2, verbose=0, callbacks=[hook])
        assert hook.status().steps == 6
        try:
            made().fit(data.take(0), verbose=0, callbacks=[hook])
        except ValueError as error:  # Keras's own, in some versions
            assert "smdebug" not in str(error)
        assert hook.status().steps == 6
    assert read(out_dir).steps() == list(range(6))


def test_metrics_are_switched_off_by_an_end_step_of_0(out_dir):
    hook = recorder(out_dir, 1, ["losses"])
    hook.get_collection("metrics").save_config.end_step = 0
    with hook:
        trained(hook, made())
    assert read(out_dir).tensor_names() == ["loss"]


def test_a_failure_of_ours_stays_out_of_the_training(out_dir, logged, monkeypatch):
    plain = trained(None, made())
    monkeypatch.setattr(TensorSaver, "put", None)  # whatever it is that breaks
    hook = recorder(out_dir, 1)
    assert_same(trained(hook, made()), plain)
    hook.close()
    assert "after a batch" in hook.status().error
    assert sum("the training continues" in message for message in logged) == 1


def test_what_is_first_due_in_a_shorter_execution_runs_as_many_batches_as_the_others(out_dir):
    """Four batches in executions of three: the second one of an epoch is a batch alone."""
    how = {"batch_size": 11, "epochs": 3}
    plain = trained(None, made(steps_per_execution=3), **how)
    config = smd.SaveConfig(save_interval=1, start_step=1)
    with smd.KerasHook(out_dir, include_collections=["layers"], save_config=config) as hook:
        assert_same(trained(hook, made(steps_per_execution=3), **how), plain)
    assert read(out_dir).tensor("first/outputs").steps() == [1, 2, 3, 4, 5]
