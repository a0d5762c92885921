"""Sparse and ragged tensors: gradients of rows are filled up with zeros where that is not too
large, whatever else has no dense form is left out with a word."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from listed_tensors import check_collections_list_what_was_saved

import smdebug.tensorflow as smd
from conftest import digits, read
from smdebug.tensorflow import tensors

L = keras.layers
X, Y = digits(16)
ROWS, WIDTH = 6, 3
WORDS = np.array([[1, 2, 1], [4, 1, 4]] * 4, np.int32)
DENSE_BYTES = ROWS * WIDTH * 4
KINDS = [{}, {"jit_compile": True}, {"run_eagerly": True}]


def recorder(out_dir, *collections):
    config = smd.SaveConfig(save_interval=1)
    return smd.KerasHook(out_dir, include_collections=[*collections], save_config=config)


def embedding(optimizer="sgd", **how):
    keras.utils.set_random_seed(1)
    embed = L.Embedding(ROWS, WIDTH, name="embed")
    layers = [keras.Input((3,), dtype="int32"), embed, L.Flatten(), L.Dense(10, name="last")]
    model = keras.Sequential(layers)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, **how)
    return model


def fitted(hook, model):
    model.fit(WORDS, Y[:8], batch_size=8, shuffle=False, verbose=0, callbacks=[hook])
    hook.close()
    assert hook.status().error is None


def gradient_of_rows(model, words, labels):
    """The gradient of an embedding by a one-hot product, which has a dense gradient."""
    weights = [tf.constant(each) for each in model.get_weights()]
    with tf.GradientTape() as tape:
        tape.watch(weights)
        embedded = tf.one_hot(words, ROWS) @ weights[0]
        logits = tf.reshape(embedded, (len(words), -1)) @ weights[1] + weights[2]
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
    return tape.gradient(loss, weights)[0].numpy()


def embeddings_gradient(trial):
    (name,) = [each for each in trial.tensor_names() if each.endswith("embeddingsGrad")]
    return trial.tensor(name).value(0)


@pytest.mark.parametrize("how", KINDS)
def test_a_gradient_of_rows_is_filled_up_in_fit(out_dir, how):
    model = embedding(**how)
    expected = gradient_of_rows(model, WORDS, Y[:8])
    fitted(recorder(out_dir, "gradients"), model)
    found = embeddings_gradient(read(out_dir))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    assert not found[[0, 3, 5]].any(), "of words that no batch has"


@pytest.mark.parametrize("how", KINDS)
def test_a_gradient_of_rows_that_would_be_too_large_is_left_out_of_fit(
    out_dir, how, logged, monkeypatch
):
    monkeypatch.setattr(tensors, "LARGEST_DENSE_BYTES", DENSE_BYTES - 1)
    fitted(recorder(out_dir, "gradients"), embedding(**how))
    said = [message for message in logged if "would be too large as a dense tensor" in message]
    assert len(said) == 1 and "embeddingsGrad" in said[0]
    check_collections_list_what_was_saved(read(out_dir))
    names = read(out_dir).tensor_names(collection="gradients")
    assert [name.rsplit("/", 1)[1] for name in names] == ["biasGrad", "kernelGrad"]


def test_a_gradient_of_rows_is_without_the_scale_of_mixed_precision(out_dir):
    optimizer = keras.optimizers.SGD(0.0)
    optimizer = keras.mixed_precision.LossScaleOptimizer(optimizer, initial_scale=1024.0)
    model = embedding(optimizer)
    expected = gradient_of_rows(model, WORDS, Y[:8])
    fitted(recorder(out_dir, "gradients"), model)
    np.testing.assert_allclose(embeddings_gradient(read(out_dir)), expected, rtol=1e-4, atol=1e-6)


# --- a loop with a tape ---


def stepped(hook, model, wrap):
    def step(words, labels):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            logits = model(words, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        return tape.gradient(loss, model.trainable_variables)

    wrap(step)(tf.constant(WORDS), tf.constant(Y[:8]))
    hook.close()
    assert hook.status().error is None


LOOPS = {
    "eager": lambda step: step,
    "graph": tf.function,
    "compiled": lambda step: tf.function(step, jit_compile=True),
}


def test_a_gradient_of_rows_is_filled_up_in_a_compiled_loop(out_dir):
    model = embedding()
    expected = gradient_of_rows(model, WORDS, Y[:8])
    stepped(recorder(out_dir, "gradients"), model, LOOPS["compiled"])
    found = embeddings_gradient(read(out_dir))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_gradient_of_rows_that_would_be_too_large_is_left_out_of_a_loop(
    out_dir, loop, monkeypatch
):
    monkeypatch.setattr(tensors, "LARGEST_DENSE_BYTES", DENSE_BYTES - 1)
    hook = recorder(out_dir, "gradients")
    stepped(hook, embedding(), LOOPS[loop])
    skipped = hook.status().skipped
    (name,) = [each for each in skipped if each.endswith("embeddingsGrad")]
    assert skipped[name] == f"as a dense tensor it would take {DENSE_BYTES} bytes"
    check_collections_list_what_was_saved(read(out_dir))
    names = read(out_dir).tensor_names(collection="gradients")
    assert [each.rsplit("/", 1)[1] for each in names] == ["biasGrad", "kernelGrad"]


# --- inputs ---


@pytest.mark.parametrize("how", [{}, {"run_eagerly": True}])
def test_sparse_inputs_are_left_out_with_a_word(out_dir, logged, how):
    keras.utils.set_random_seed(1)
    layers = [keras.Input((64,), sparse=True), L.Dense(10, name="last")]
    model = keras.Sequential(layers)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, **how)
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)
    data = data.map(lambda x, y: (tf.sparse.from_dense(x), y))
    with recorder(out_dir, "inputs", "outputs", "layers") as hook:
        model.fit(data, verbose=0, callbacks=[hook])
    assert hook.status().error is None
    assert sum("'inputs' is not saved: it is sparse" in message for message in logged) == 1
    assert sum("'last/inputs' is not saved: it is sparse" in message for message in logged) == 1
    trial = read(out_dir)
    assert trial.steps() == [0, 1]
    np.testing.assert_array_equal(trial.tensor("labels").value(1).reshape(-1), Y[8:])
    assert trial.tensor("last/outputs").value(1).shape == (8, 10)
    assert not [name for name in trial.tensor_names() if name.endswith("inputs")]
    check_collections_list_what_was_saved(trial)


# --- outputs of layers ---


def ragged(x):
    lengths = tf.fill([tf.shape(x)[0]], tf.shape(x)[1])
    return tf.RaggedTensor.from_row_lengths(tf.reshape(x, [-1]), lengths)


def rows_of(x):
    return tf.IndexedSlices(x, tf.range(tf.shape(x)[0]), tf.shape(x, tf.int32))


# Name -> (the output of a layer, a function of the next layer that makes it dense, the numbers of
# its saved outputs; none: it is skipped).
OUTPUTS = {
    "ragged": (ragged, lambda value: value.to_tensor(shape=[None, 64]), []),
    "sparse": (tf.sparse.from_dense, tf.sparse.to_dense, []),
    "strings": (tf.strings.as_string, tf.strings.to_number, [""]),
    "bfloat16": (lambda x: tf.cast(x, tf.bfloat16), lambda x: tf.cast(x, tf.float32), [""]),
    "complex": (lambda x: tf.cast(x, tf.complex64), tf.math.real, [""]),
    "dict": (lambda x: {"a": x, "b": [x, None]}, lambda value: value["a"], ["_0", "_1"]),
}


class Calls(L.Layer):
    """A layer that is one function."""

    def __init__(self, function, name):
        super().__init__(name=name)
        self.function = function

    def call(self, x):
        return self.function(x)


class Through(keras.Model):
    """A model, not built, whose first layer gives what `make` makes."""

    def __init__(self, make, back):
        super().__init__()
        self.make, self.back = Calls(make, "make"), Calls(back, "back")
        self.last = L.Dense(10, name="last")

    def call(self, x):
        return self.last(tf.ensure_shape(self.back(self.make(x)), (None, 64)))


def trained_through(make, back, eagerly, hook=None):
    keras.utils.set_random_seed(1)
    model = Through(make, back)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, run_eagerly=eagerly)
    callbacks = [hook] if hook else []
    model.fit(X, Y, batch_size=8, shuffle=False, verbose=0, callbacks=callbacks)
    return model.get_weights()


@pytest.mark.parametrize("eagerly", [False, True])
@pytest.mark.parametrize("kind", OUTPUTS)
def test_an_output_of_any_kind_is_saved_or_left_out_and_changes_nothing(
    out_dir, logged, kind, eagerly
):
    make, back, numbers = OUTPUTS[kind]
    expected = trained_through(make, back, eagerly)
    with recorder(out_dir, "layers") as hook:
        found = trained_through(make, back, eagerly, hook)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert hook.status().error is None
    trial = read(out_dir)
    names = [name for name in trial.tensor_names(step=1) if name.startswith("make/outputs")]
    assert names == [f"make/outputs{number}" for number in numbers]
    for name in names:
        value = trial.tensor(name).value(1)
        np.testing.assert_array_equal(np.real(value.astype(complex)), X[8:])
    if not numbers:
        said = [message for message in logged if message.startswith("tensor 'make/outputs")]
        assert len(said) == 1
    np.testing.assert_array_equal(trial.tensor("make/inputs").value(1), X[8:])
    check_collections_list_what_was_saved(trial)


@pytest.mark.parametrize("make", [tf.identity, rows_of])
def test_a_layer_that_keras_builds_in_an_eager_step_is_recorded_once(out_dir, make):
    back = tf.identity if make is tf.identity else tf.convert_to_tensor
    with recorder(out_dir, "layers") as hook:
        trained_through(make, back, True, hook)
    assert hook.status().error is None
    trial = read(out_dir)
    layers = [trial.tensor_names(step=step, collection="layers") for step in (0, 1)]
    assert layers[0] == layers[1]
    np.testing.assert_array_equal(trial.tensor("make/inputs").value(0), X[:8])
