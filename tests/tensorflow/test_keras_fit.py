"""What a callback records of fit, evaluate and predict, against numpy, a tape and Keras itself."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from listed_tensors import check_collections_list_what_was_saved

import smdebug.tensorflow as smd
from conftest import digits, read

L = keras.layers
EVERYTHING = [
    "weights", "biases", "gradients", "losses", "metrics", "inputs", "outputs", "layers",
    "optimizer_variables",
]  # fmt: skip
X, Y = digits(40)


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = L.Dense(8, activation="relu", name="first")
        self.second = L.Dense(10, name="second")

    def call(self, x, training=False):
        return self.second(self.first(x))


def sequential():
    return keras.Sequential(
        [
            keras.Input((64,)),
            L.Dense(8, activation="relu", name="first"),
            L.Dense(10, name="second"),
        ]
    )


def functional():
    x = keras.Input((64,))
    return keras.Model(
        x, L.Dense(10, name="second")(L.Dense(8, activation="relu", name="first")(x))
    )


def made(make=sequential, **how):
    keras.utils.set_random_seed(3)
    model = make()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.5), loss, metrics=["accuracy"], **how)
    return model


def fitted(hook, model, epochs=1, **how):
    callbacks = [] if hook is None else [hook]
    return model.fit(
        X, Y, batch_size=8, epochs=epochs, shuffle=False, verbose=0, callbacks=callbacks, **how
    )


def recorder(out_dir, interval=1, collections=EVERYTHING, **how):
    config = smd.SaveConfig(save_interval=interval)
    return smd.KerasHook(out_dir, include_collections=collections, save_config=config, **how)


def value(trial, ending, step):
    kinds = ("weights/", "gradients/")
    names = [
        name
        for name in trial.tensor_names()
        if name.endswith(ending) and any(kind in name for kind in kinds)
    ]
    assert len(names) == 1, names
    return trial.tensor(names[0]).value(step)


@pytest.mark.parametrize("how", [{}, {"jit_compile": True}, {"run_eagerly": True}])
@pytest.mark.parametrize("make", [sequential, functional, Subclassed])
def test_a_step_holds_what_a_loop_by_hand_computes(out_dir, make, how):
    with recorder(out_dir) as hook:
        fitted(hook, made(make, **how))
    trial = read(out_dir)

    model = made(make)
    model(X[:8])
    for step in range(5):
        x, y = X[8 * step : 8 * step + 8], Y[8 * step : 8 * step + 8]
        with tf.GradientTape() as tape:
            hidden = model.get_layer("first")(x)
            logits = model.get_layer("second")(hidden)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        close = {"rtol": 1e-4, "atol": 1e-5}
        np.testing.assert_array_equal(trial.tensor("inputs").value(step), x)
        np.testing.assert_array_equal(trial.tensor("labels").value(step).reshape(-1), y)
        np.testing.assert_allclose(trial.tensor("predictions").value(step), logits, **close)
        np.testing.assert_allclose(trial.tensor("first/outputs").value(step), hidden, **close)
        np.testing.assert_allclose(trial.tensor("second/inputs").value(step), hidden, **close)
        np.testing.assert_allclose(
            value(trial, "first/kernelGrad", step), gradients[0].numpy(), **close
        )
        np.testing.assert_allclose(
            value(trial, "second/biasGrad", step), gradients[3].numpy(), **close
        )
        np.testing.assert_allclose(
            value(trial, "second/kernel:0", step), model.get_layer("second").kernel.numpy(), **close
        )


def test_logs_are_those_of_the_history(out_dir):
    with recorder(out_dir, 1, ["losses", "metrics"]) as hook:
        history = fitted(hook, made(), epochs=2, validation_data=(X[:16], Y[:16])).history
    trial = read(out_dir)
    train = trial.steps(mode=smd.modes.TRAIN)
    evaluation = trial.steps(mode=smd.modes.EVAL)
    assert (len(train), len(evaluation)) == (10, 4)
    for epoch in range(2):
        for name in ("loss", "accuracy"):
            last = trial.tensor(name).value(5 * epoch + 4, mode=smd.modes.TRAIN)
            assert last == pytest.approx(history[name][epoch], rel=1e-5)
            step = 2 * epoch + 1
            seen = trial.tensor(name).value(step, mode=smd.modes.EVAL)
            assert seen == pytest.approx(history[f"val_{name}"][epoch], rel=1e-5)
            end = trial.tensor(f"val_{name}").value(step, mode=smd.modes.EVAL)
            assert end == pytest.approx(history[f"val_{name}"][epoch], rel=1e-5)


def test_each_call_has_its_mode_and_predict_returns_what_it_does(out_dir):
    model = made()
    plain = model.predict(X, batch_size=20, verbose=0)
    with recorder(out_dir) as hook:
        model.evaluate(X, Y, batch_size=20, verbose=0, callbacks=[hook])
        watched = model.predict(X, batch_size=20, verbose=0, callbacks=[hook])
    trial = read(out_dir)
    np.testing.assert_array_equal(plain, watched)
    assert trial.steps(mode=smd.modes.EVAL) == [0, 1]
    assert trial.steps(mode=smd.modes.PREDICT) == [0, 1]
    np.testing.assert_array_equal(
        trial.tensor("predictions").value(1, mode=smd.modes.PREDICT), plain[20:]
    )
    assert "gradients/second/kernelGrad" not in trial.tensor_names(mode=smd.modes.EVAL)


def test_train_on_batch_is_recorded_in_the_mode_that_was_set(out_dir):
    model = made()
    with recorder(out_dir) as hook:
        hook.register_model(model)
        model.train_on_batch(X[:8], Y[:8])
        hook.set_mode(smd.modes.EVAL)
        model.test_on_batch(X[8:16], Y[8:16])
        hook.set_mode(smd.modes.GLOBAL)
        model.predict_on_batch(X[16:24])
    trial = read(out_dir)
    np.testing.assert_array_equal(trial.tensor("inputs").value(1), X[8:16])
    assert trial.steps(mode=smd.modes.TRAIN) == [0]
    assert trial.steps(mode=smd.modes.EVAL) == [0]
    assert trial.steps() == [0, 1, 2]


def test_several_inputs_and_outputs_are_numbered_and_masks_are_no_inputs(out_dir):
    keras.utils.set_random_seed(1)
    words, pixels = (
        keras.Input((4,), name="words", dtype="int32"),
        keras.Input((64,), name="pixels"),
    )
    embedded = L.Embedding(5, 3, mask_zero=True, name="embed")(words)
    summed = L.GlobalAveragePooling1D(name="pool")(embedded)
    joined = L.Concatenate(name="join")([summed, pixels])
    model = keras.Model(
        {"words": words, "pixels": pixels},
        {"a": L.Dense(10, name="a")(joined), "b": L.Dense(1, name="b")(joined)},
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", {"a": loss, "b": "mse"})
    data = {"words": np.arange(32).reshape(8, 4) % 5, "pixels": X[:8]}
    with recorder(out_dir) as hook:
        model.fit(data, {"a": Y[:8], "b": X[:8, :1]}, batch_size=8, verbose=0, callbacks=[hook])
    trial = read(out_dir)
    names = set(trial.tensor_names())
    assert {"inputs_0", "inputs_1", "labels_0", "labels_1", "predictions_0"} <= names
    assert {"join/inputs_0", "join/inputs_1", "join/outputs"} <= names
    assert {"pool/inputs", "pool/outputs"} <= names
    dense = value(trial, "embeddingsGrad", 0)
    assert dense.shape == (5, 3), "a sparse gradient is filled up"


def test_nested_models_tell_layers_of_one_name_apart(out_dir):
    keras.utils.set_random_seed(1)
    inner = keras.Sequential([keras.Input((64,)), L.Dense(6, name="dense")], name="inner")
    model = keras.Sequential([keras.Input((64,)), inner, L.Dense(10, name="dense")], name="outer")
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    with recorder(out_dir) as hook:
        fitted(hook, model)
    trial = read(out_dir)
    assert trial.tensor("dense/outputs").value(0).shape == (8, 10)
    assert trial.tensor("inner/dense/outputs").value(0).shape == (8, 6)
    assert trial.tensor("inner/outputs").value(0).shape == (8, 6)


def test_collections_take_layers_variables_and_patterns(out_dir):
    model = made()
    hook = recorder(out_dir, 1, ["mine", "own", "relu"])
    hook.get_collection("mine").add_keras_layer(model.get_layer("first"), inputs=True)
    hook.add_to_collection("own", model.get_layer("second").kernel)
    hook.get_collection("relu").include("^second/outputs$")
    with hook:
        fitted(hook, model)
    trial = read(out_dir)
    assert trial.tensor_names(collection="mine") == ["first/inputs", "first/outputs"]
    assert [name.rsplit("/", 2)[-2:] for name in trial.tensor_names(collection="own")] == [
        ["second", "kernel:0"]
    ]
    assert trial.tensor_names(collection="relu") == ["second/outputs"]


def test_a_layer_of_no_recorded_model_is_named_at_the_end(out_dir, logged):
    model = made()
    hook = recorder(out_dir, 1, ["mine"])
    other = keras.layers.Dense(3, name="other")
    for layer in (other, model.get_layer("first")):
        hook.get_collection("mine").add_keras_layer(layer)
    with hook:
        fitted(hook, model)
    said = [each for each in logged if "is in no model that this hook records" in each]
    assert len(said) == 1 and said[0].startswith("layer 'other' of collection 'mine'")


def test_gradients_of_mixed_precision_are_without_the_scale(out_dir):
    keras.utils.set_random_seed(3)
    optimizer = keras.mixed_precision.LossScaleOptimizer(
        keras.optimizers.SGD(0.0), initial_scale=1024.0
    )
    model = sequential()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss)
    with recorder(out_dir, 1, ["gradients"]) as hook:
        fitted(hook, model)
    with tf.GradientTape() as tape:
        value_of_loss = loss(Y[:8], model(X[:8]))
    expected = tape.gradient(value_of_loss, model.trainable_variables)[0].numpy()
    np.testing.assert_allclose(
        value(read(out_dir), "first/kernelGrad", 0), expected, rtol=1e-4, atol=1e-6
    )


def test_the_tensors_of_a_cell_in_a_loop_are_left_out_with_one_line(out_dir, logged):
    if keras.__version__.startswith("2"):
        pytest.skip("Keras 2 calls the cell outside its layer")
    model = keras.Sequential([keras.Input((4, 3)), L.GRU(5, name="series"), L.Dense(2)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    with recorder(out_dir, 1, ["layers"]) as hook:
        model.fit(np.ones((8, 4, 3), "float32"), np.arange(8) % 2, verbose=0, callbacks=[hook])
    told = [line for line in logged if "inside a loop" in line]
    assert len(told) == 1
    assert told[0].endswith("of the model (logged once for the layer 'gru_cell')")


def test_ragged_inputs_are_left_out_with_a_word(out_dir, logged):
    class Sums(keras.Model):
        def __init__(self):
            super().__init__()
            self.last = L.Dense(2, name="last")

        def call(self, x):
            return self.last(tf.reduce_sum(x, axis=1, keepdims=True))

    if keras.__version__.startswith("3"):
        pytest.skip("Keras 3 takes no ragged tensors here")
    rows = tf.ragged.constant([[1.0, 2.0], [3.0], [4.0], [5.0, 6.0]])
    data = tf.data.Dataset.from_tensor_slices((rows, [0, 1, 0, 1])).batch(2)
    model = Sums()
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    with recorder(out_dir) as hook:
        model.fit(data, verbose=0, callbacks=[hook])
    assert any("'inputs' is not saved: its rows differ" in message for message in logged)
    assert "last/outputs" in read(out_dir).tensor_names()
    check_collections_list_what_was_saved(read(out_dir))


def test_the_run_that_the_original_wrote_has_the_same_names(out_dir):
    """The script of the golden run keras_fit, as far as this Keras has its optimizer."""
    import json
    import pathlib

    golden = pathlib.Path(__file__).parents[1] / "golden/keras_fit/expected.json"
    expected = json.loads(golden.read_text())["trial"]
    modes = smd.modes
    every = smd.SaveConfigMode
    hook = smd.KerasHook(
        out_dir,
        include_collections=["weights", "biases", "losses", "metrics"],
        save_config=smd.SaveConfig(
            {
                modes.TRAIN: every(save_interval=2),
                modes.EVAL: every(save_interval=1),
                modes.PREDICT: every(save_interval=1),
            }
        ),
    )
    model = keras.Sequential(
        [
            keras.Input((5,)),
            L.Dense(4, activation="relu", name="first"),
            L.Dense(3, activation="softmax", name="second"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    hook.save_scalar("given", 3.5)
    x, y = np.random.RandomState(0).rand(40, 5).astype("float32"), np.arange(40) % 3
    model.fit(x, y, batch_size=8, epochs=2, shuffle=False, callbacks=[hook], verbose=0)
    model.evaluate(x, y, batch_size=20, callbacks=[hook], verbose=0)
    model.predict(x, batch_size=20, callbacks=[hook], verbose=0)
    hook.close()

    trial = read(out_dir)
    prefix = "sequential" if keras.__version__.startswith("3") else ""
    found = {
        name.replace(f"/{model.name}/" if prefix else "//", "/") for name in trial.tensor_names()
    }
    assert found == {name for name in expected["tensor_names"] if not name.startswith("Adam")}
    assert trial.steps() == expected["steps"]["GLOBAL"]
    for mode in (modes.TRAIN, modes.EVAL, modes.PREDICT):
        assert trial.steps(mode=mode) == expected["steps"][mode.name]
    for name in ("losses", "metrics"):
        assert trial.tensor_names(collection=name) == expected["tensor_names_by_collection"][name]
    by_step = {int(step): names for step, names in expected["tensor_names_by_step"].items()}
    assert trial.tensor_names(step=9) == ["accuracy", "batch", "loss"]
    assert sorted(trial.tensor_names(step=12)) == sorted(
        name if not prefix else name.replace("weights/", f"weights/{model.name}/")
        for name in by_step[12]
    )


def test_a_model_that_is_built_by_its_first_batch_is_recorded_from_there(out_dir):
    model = keras.Sequential([L.Dense(10, name="scores")])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    hook = smd.KerasHook(
        out_dir,
        save_config=smd.SaveConfig(save_interval=1),
        include_collections=["gradients", "weights"],
    )
    fitted(hook, model)
    hook.close()
    assert hook.status().error is None
    trial = read(out_dir)
    for collection, count in (("gradients", 2), ("weights", 1)):
        names = trial.tensor_names(collection=collection)
        assert len(names) == count
        assert trial.tensor(names[0]).steps() == list(range(len(X) // 8))


def test_a_reduction_stands_under_the_name_of_its_tensor(out_dir):
    hook = smd.KerasHook(
        out_dir,
        include_collections=["weights"],
        reduction_config=smd.ReductionConfig(reductions=["mean"]),
    )
    model = made()
    fitted(hook, model)
    hook.close()
    trial = read(out_dir)
    names = trial.tensor_names(collection="weights")
    assert len(names) == 2 and all(name.endswith("kernel:0") for name in names)
    step = trial.tensor(names[0]).steps()[0]
    assert np.isfinite(trial.tensor(names[0]).reduction_value(step, "mean"))
