"""What `smdebug run` tells rules of the data of Keras models with several inputs and outputs, and
of data that come from a generator, a data set or a Sequence."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import smdebug.tensorflow as smd
from conftest import KERAS_3, read
from smdebug.rules.builtin_rule import builtin

L = keras.layers
ROWS, BATCH = 96, 8


def random():
    return np.random.default_rng(5)


def columns():
    """Inputs of two kinds by name, of different scales."""
    return {
        "age": random().normal(40, 20, (ROWS, 1)).astype("float32"),
        "pixels": random().normal(size=(ROWS, 4)).astype("float32"),
    }


def labels(classes=3):
    return random().integers(0, classes, ROWS)


def prices():
    return random().uniform(100, 900, (ROWS, 1)).astype("float32")


def two_inputs(as_dict=False):
    given = {
        "pixels": keras.Input((4,), name="pixels"),
        "age": keras.Input((1,), name="age"),
    }
    hidden = L.Concatenate()([L.Dense(3)(given["pixels"]), L.Rescaling(0.01)(given["age"])])
    model = keras.Model(
        given if as_dict else list(given.values()), L.Dense(3, activation="softmax")(hidden)
    )
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def two_outputs(loss, named=False):
    keras.utils.set_random_seed(2)
    given = keras.Input((4,), name="pixels")
    price = L.Dense(1, name="price")(given)
    kind = L.Dense(3, activation="softmax", name="kind")(given)
    outputs = {"price": price, "kind": kind} if named else [price, kind]
    model = keras.Model(given, outputs)
    model.compile("sgd", loss)
    return model


def recorder(out_dir):
    """A hook as `smdebug run` makes it."""
    hook = smd.KerasHook(
        out_dir,
        save_config=smd.SaveConfig(save_interval=1),
        include_collections=["inputs", "outputs"],
    )
    hook.report_facts()
    return hook


def fitted(out_dir, model, *data, **how):
    """The last facts of a training of one epoch."""
    hook = recorder(out_dir)
    model.fit(*data, shuffle=False, verbose=0, callbacks=[hook], **how)
    hook.close()
    assert hook.status().error is None
    return read(out_dir).facts()[-1].facts


def message_on(out_dir):
    """What LabelsAndInputs says of a run."""
    return builtin("LabelsAndInputs", read(out_dir)).judge()["message"]


# --- inputs ---


@pytest.mark.parametrize("form", ["dict", "list", "tuple", "data set", "generator", "sequence"])
def test_each_input_of_a_model_is_told_under_the_name_of_its_tensor(out_dir, form):
    x, y, how = columns(), labels(), {"batch_size": BATCH}
    # The tensors of a dict are numbered in the order of its keys.
    numbered = ["age", "pixels"] if form != "list" and form != "tuple" else ["pixels", "age"]
    batches = [
        ({name: each[first : first + BATCH] for name, each in x.items()}, y[first : first + BATCH])
        for first in range(0, ROWS, BATCH)
    ]
    if form in ("list", "tuple"):
        data = ([x[name] for name in numbered], y)
        data = (tuple(data[0]), y) if form == "tuple" and KERAS_3 else data
    elif form == "dict":
        data = (x, y)
    elif form == "data set":
        data, how = (tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH),), {}
    elif form == "generator":
        data, how = ((each for each in batches * 2),), {"steps_per_epoch": len(batches)}
    else:
        data, how = (batches_as_sequence(batches),), {}
    facts = fitted(out_dir, two_inputs(as_dict=form == "dict"), *data, **how)
    assert [each.tensor for each in facts.inputs] == ["inputs_0", "inputs_1"]
    trial = read(out_dir)
    received = {"age": "Rescaling", "pixels": "Dense"}
    for name, told in zip(numbered, facts.inputs, strict=True):
        measured = x[name][: 10 * BATCH]
        assert told.received_by == received[name]
        assert told.shape == [BATCH, measured.shape[1]]
        assert told.mean == pytest.approx(measured.mean(), rel=1e-4, abs=1e-6)
        assert told.deviation == pytest.approx(measured.std(), rel=1e-4)
        np.testing.assert_array_equal(trial.tensor(told.tensor).value(0), x[name][:BATCH])
    targets = facts.losses[0].input.targets
    assert (targets.labels, targets.classes) == (10 * BATCH, 3)


def batches_as_sequence(batches):
    base = keras.utils.PyDataset if hasattr(keras.utils, "PyDataset") else keras.utils.Sequence

    class Batches(base):
        def __len__(self):
            return len(batches)

        def __getitem__(self, number):
            return batches[number]

    return Batches()


def test_nan_in_one_of_several_inputs_is_found(out_dir):
    x = columns()
    x["pixels"][3 * BATCH] = np.nan
    facts = fitted(out_dir, two_inputs(), x, labels(), batch_size=BATCH)
    assert [each.not_finite for each in facts.inputs] == [None, 3]


def test_an_input_that_is_one_number_per_sample_has_the_shape_that_its_layer_gets(out_dir):
    x = {name: each[:, 0] if name == "age" else each for name, each in columns().items()}
    facts = fitted(out_dir, two_inputs(), x, labels(), batch_size=BATCH)
    assert facts.inputs[0].shape == [BATCH, 1]


def test_an_input_behind_a_join_has_the_layer_after_it(out_dir):
    first, second = keras.Input((4,), name="first"), keras.Input((1,), name="second")
    joined = L.BatchNormalization()(L.Concatenate()([first, L.Flatten()(second)]))
    model = keras.Model([first, second], L.Dense(1)(joined))
    model.compile("sgd", "mse")
    x = columns()
    facts = fitted(out_dir, model, [x["pixels"], x["age"]], prices(), batch_size=BATCH)
    assert [each.received_by for each in facts.inputs] == ["BatchNormalization"] * 2


def test_all_inputs_of_a_table_with_a_column_each_are_measured(out_dir):
    names = [f"column_{number:02}" for number in range(13)]
    given = [keras.Input((1,), name=name) for name in names]
    model = keras.Model(given, L.Dense(1)(L.Concatenate()(given)))
    model.compile("sgd", "mse")
    x = {name: random().normal(size=(ROWS, 1)).astype("float32") for name in names}
    facts = fitted(out_dir, model, x, prices(), batch_size=BATCH)
    assert len(facts.inputs) == 13 and {each.steps for each in facts.inputs} == {10}


def test_inputs_of_text_are_named_as_not_judged(out_dir):
    words, numbers = keras.Input((1,), dtype="string", name="words"), keras.Input((1,), name="x")
    hashed = L.Embedding(3, 1)(L.Hashing(3)(words))
    model = keras.Model(
        [words, numbers], L.Dense(1)(L.Concatenate()([L.Flatten()(hashed), numbers]))
    )
    model.compile("sgd", "mse", run_eagerly=False)
    x = {"words": tf.constant([["a"], ["b"]] * (ROWS // 2)), "x": np.ones((ROWS, 1), "float32")}
    x["x"][::2] = 0
    data = tf.data.Dataset.from_tensor_slices((x, prices() / 900)).batch(BATCH)
    facts = fitted(out_dir, model, data)
    assert [each.steps for each in facts.inputs] == [0, 10]
    assert "not judged: inputs_0: not measured" in message_on(out_dir)


# --- outputs ---


@pytest.mark.parametrize("form", ["list", "dict", "named outputs"])
def test_each_output_is_told_with_its_loss_and_labels(out_dir, form):
    y = {"price": prices(), "kind": labels()}
    losses = {"price": "mse", "kind": "sparse_categorical_crossentropy"}
    is_list = form == "list"
    model = two_outputs(list(losses.values()) if is_list else losses, form == "named outputs")
    data = list(y.values()) if is_list else y
    facts = fitted(out_dir, model, columns()["pixels"], data, batch_size=BATCH)
    told = {each.tensor: each for each in facts.losses}
    assert set(told) == {"price_loss", "kind_loss"}
    assert set(told) <= set(read(out_dir).tensor_names())
    price, kind = told["price_loss"].input, told["kind_loss"].input
    measured = y["price"][: 10 * BATCH]
    assert (price.function, price.activation, price.steps) == ("mse_loss", "Linear", 10)
    assert price.targets.mean == pytest.approx(measured.mean(), rel=1e-4)
    assert (kind.function, kind.activation) == ("categorical_cross_entropy", "Softmax")
    assert (kind.targets.labels, kind.targets.classes) == (10 * BATCH, 3)


def test_one_loss_for_all_outputs_is_told_for_each(out_dir):
    given = keras.Input((4,))
    model = keras.Model(given, [L.Dense(1, name="low")(given), L.Dense(1, name="high")(given)])
    model.compile("sgd", "mse")
    y = [prices() / 900, prices()]
    facts = fitted(out_dir, model, columns()["pixels"], y, batch_size=BATCH)
    means = {each.tensor: each.input.targets.mean for each in facts.losses}
    assert means == {
        "low_loss": pytest.approx(y[0][: 10 * BATCH].mean(), rel=1e-4),
        "high_loss": pytest.approx(y[1][: 10 * BATCH].mean(), rel=1e-4),
    }


def test_an_output_without_a_loss_is_not_told(out_dir):
    y = {"kind": labels()}
    model = two_outputs({"kind": "sparse_categorical_crossentropy"}, named=True)
    facts = fitted(out_dir, model, columns()["pixels"], y, batch_size=BATCH)
    assert [each.input.function for each in facts.losses] == ["categorical_cross_entropy"]


def test_nan_in_the_targets_of_one_of_several_outputs_is_found(out_dir):
    y = [prices(), labels()]
    y[0][2 * BATCH] = np.nan
    model = two_outputs(["mse", "sparse_categorical_crossentropy"])
    facts = fitted(out_dir, model, columns()["pixels"], y, batch_size=BATCH)
    assert facts.losses[0].input.targets.not_finite == 2


# --- what a user reads ---


def test_a_training_with_healthy_data_has_nothing_that_was_not_judged(out_dir):
    x = columns()
    fitted(out_dir, two_inputs(), x, labels(), batch_size=BATCH)
    text = message_on(out_dir)
    assert "nothing found" in text and "not judged" not in text


def test_data_that_a_custom_step_hides_are_named(out_dir):
    class Own(keras.Model):
        def train_step(self, data):
            return super().train_step(data)

    given = keras.Input((4,))
    model = Own(given, L.Dense(1)(given))
    model.compile("sgd", "mse")
    fitted(out_dir, model, columns()["pixels"], prices(), batch_size=BATCH)
    assert "nothing to judge" in message_on(out_dir)


def test_inputs_of_a_model_that_calls_its_layers_itself_are_searched_for_nan(out_dir):
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.last = L.Dense(1)

        def call(self, x):
            return self.last(x["pixels"] / 100) + x["age"]

    model = Own()
    model.compile("sgd", "mse")
    x = columns()
    facts = fitted(out_dir, model, x, prices() / 900, batch_size=BATCH)
    assert [(each.received_by, each.steps) for each in facts.inputs] == [("", 10)] * 2
    assert "not judged: inputs_0, inputs_1: its scale" in message_on(out_dir)
