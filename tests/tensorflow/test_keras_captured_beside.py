"""What a step hands out is computed beside the training, whose program is never another one. Models
here are of the kind whose graphs TensorFlow fuses in another way where one more result is wanted.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras_watching import FunctionalDropout, recorder

import smdebug.tensorflow as smd
from conftest import KERAS_3, digits, read

L = keras.layers
X, Y = digits(44)


def dense_layers(*dropout):
    return [
        *(L.Dense(48, activation="gelu"), *dropout, L.LayerNormalization()),
        *(L.Dense(32), L.BatchNormalization(), L.Activation("swish")),
    ]


def convolutions(*dropout):
    return [
        *(L.Reshape((8, 8, 1)), L.Conv2D(8, 3, activation="elu"), L.BatchNormalization()),
        *(*dropout, L.Conv2D(8, 3, activation="relu"), L.GlobalAveragePooling2D()),
    ]


def compiled(model, optimizer=None, **how):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = optimizer or keras.optimizers.SGD(0.05, momentum=0.9)
    model.compile(optimizer, loss, metrics=["accuracy"], **how)
    return model


def made(layers, *dropout, **how):
    keras.utils.set_random_seed(7)
    dropout = [each() for each in dropout]
    return compiled(keras.Sequential([keras.Input((64,)), *layers(*dropout), L.Dense(10)]), **how)


def trained(model, hook=None, data=(X, Y), **how):
    """All that comes of a training: weights, history, and what the model then predicts."""
    callbacks = [hook] if hook else []
    how = {"batch_size": 8, "epochs": 2, "validation_data": (X[:20], Y[:20]), **how}
    history = model.fit(*data, shuffle=False, verbose=0, callbacks=callbacks, **how).history
    predicted = model.predict(X, batch_size=11, verbose=0, callbacks=callbacks)
    return [*model.get_weights(), predicted, *history.values()]


def assert_same(mine, theirs):
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def dropout_layer():
    return L.Dropout(0.3)


DROPOUTS = {"none": [], "a layer": [dropout_layer], "a function": [FunctionalDropout]}


@pytest.mark.parametrize("dropout", DROPOUTS)
@pytest.mark.parametrize("layers", [dense_layers, convolutions])
def test_what_a_training_gives_is_the_same_to_the_bit(out_dir, layers, dropout):
    plain = trained(made(layers, *DROPOUTS[dropout]))
    with recorder(out_dir) as hook:
        assert_same(trained(made(layers, *DROPOUTS[dropout]), hook), plain)
    assert hook.status().error is None
    steps = {mode: read(out_dir).steps(mode=mode) for mode in (smd.modes.TRAIN, smd.modes.PREDICT)}
    assert all(steps.values())


@pytest.mark.parametrize("layers", [dense_layers, convolutions])
def test_that_holds_where_xla_compiles_the_step(out_dir, layers):
    # What Keras 2 drops XLA draws by a count of its calls in the process.
    dropout = [dropout_layer] if KERAS_3 else []
    plain = trained(made(layers, *dropout, jit_compile=True))
    with recorder(out_dir) as hook:
        assert_same(trained(made(layers, *dropout, jit_compile=True), hook), plain)
    assert hook.status().error is None
    assert "gradients" in "".join(read(out_dir).tensor_names())


@pytest.mark.parametrize("dropout", DROPOUTS)
@pytest.mark.parametrize("steps_per_execution", [1, 2])
def test_the_gradients_are_those_of_the_update(out_dir, dropout, steps_per_execution):
    """Also with random numbers: these are what the training drew, and not others."""
    model = made(dense_layers, *DROPOUTS[dropout])
    compiled(model, keras.optimizers.SGD(1.0), steps_per_execution=steps_per_execution)
    kernel, seen = model.layers[0].kernel, [np.array(model.layers[0].kernel)]
    if steps_per_execution == 1:
        keep = keras.callbacks.LambdaCallback(
            on_train_batch_end=lambda batch, logs: seen.append(np.array(kernel))
        )
    else:
        keep = keras.callbacks.Callback()
    with recorder(out_dir, 1, ["gradients", "inputs"]) as hook:
        model.fit(X, Y, batch_size=8, shuffle=False, verbose=0, callbacks=[hook, keep])
    trial = read(out_dir)
    steps = trial.steps(mode=smd.modes.TRAIN)
    assert len(steps) == 6 // steps_per_execution
    for step, (before, after) in enumerate(zip(seen, seen[1:], strict=False)):
        name = next(n for n in trial.tensor_names() if n.endswith(f"{kernel_name(model)}Grad"))
        np.testing.assert_allclose(
            trial.tensor(name).value(step), before - after, rtol=1e-3, atol=1e-6
        )
    for step in steps:
        last = (step + 1) * steps_per_execution - 1
        inputs = trial.tensor("inputs").value(step)
        np.testing.assert_array_equal(inputs, X[8 * last : 8 * last + 8])


def kernel_name(model):
    kernel = model.layers[0].kernel
    return kernel.path if KERAS_3 else kernel.name.split(":")[0]


class OwnState(keras.Model):
    """Keeps variables where Keras does not see them."""

    def __init__(self):
        super().__init__()
        self.hidden, self.head = L.Dense(24, activation="gelu"), L.Dense(10)
        kinds = keras.optimizers if KERAS_3 else keras.optimizers.legacy
        # Past Keras, which looks into what a model is given.
        object.__setattr__(self, "unseen", (kinds.Adam(0.01), tf.Variable(0, trainable=False)))

    def call(self, x):
        return self.head(self.hidden(x))

    def train_step(self, data):
        x, y = data
        optimizer, count = self.unseen
        with tf.GradientTape() as tape:
            logits = self(x, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        weights = self.trainable_variables
        gradients = tape.gradient(loss, weights)
        optimizer.apply_gradients(zip(gradients, weights, strict=True))
        self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
        count.assign_add(1)
        return {"loss": loss * tf.cast(count, tf.float32)}


@pytest.mark.parametrize("how", [{}, {"jit_compile": True}])
def test_state_that_keras_does_not_know_of_is_taken_back_too(out_dir, how):
    def run(hook):
        keras.utils.set_random_seed(7)
        model = OwnState()
        model.compile(keras.optimizers.SGD(0.05), **how)
        if KERAS_3:  # a step of a graph makes no variables
            model(X[:8])
            model.unseen[0].build(model.trainable_variables)
        callbacks = [hook] if hook else []
        history = model.fit(X, Y, batch_size=8, shuffle=False, verbose=0, callbacks=callbacks)
        return [*model.get_weights(), model.unseen[1].numpy(), history.history["loss"]]

    plain = run(None)
    with recorder(out_dir, interval=1) as hook:
        assert_same(run(hook), plain)
    assert plain[-2] == 6
    assert "gradients" in "".join(read(out_dir).tensor_names())


@pytest.mark.parametrize("dropout", DROPOUTS)
def test_under_a_strategy_the_random_numbers_are_the_same(out_dir, dropout):
    def run(hook):
        with tf.distribute.OneDeviceStrategy("cpu:0").scope():
            model = made(lambda *drop: [L.Dense(8, activation="relu"), *drop], *DROPOUTS[dropout])
        # No validation: TensorFlow 2.21 sometimes crashes when Keras drops the iterator of its data
        # under this strategy, also in programs without smdebug.
        return trained(model, hook, validation_data=None)

    plain = run(None)
    with recorder(out_dir) as hook:
        assert_same(run(hook), plain)
    assert hook.status().error is None
    assert "gradients" in "".join(read(out_dir).tensor_names())


def test_a_failure_of_ours_before_a_batch_loses_none(out_dir, monkeypatch):
    from smdebug.tensorflow.keras.step_variables import StepVariables

    def fails(self):
        raise RuntimeError("a mistake of ours")

    plain = trained(made(dense_layers, dropout_layer))
    monkeypatch.setattr(StepVariables, "begin", fails)
    with recorder(out_dir) as hook:
        assert_same(trained(made(dense_layers, dropout_layer), hook), plain)
    assert "a mistake of ours" in hook.status().error


class Told(L.Layer):
    """Calls Python when it is run."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def call(self, x):
        def tell(value):
            self.calls.append(1)
            return value

        told = tf.numpy_function(tell, [x], tf.float32)
        told.set_shape(x.shape)
        return told


def test_what_calls_python_calls_it_once_for_each_batch(out_dir):
    told = Told()
    model = compiled(keras.Sequential([keras.Input((64,)), L.Dense(8), told, L.Dense(10)]))
    told.calls.clear()
    with recorder(out_dir, interval=1) as hook:
        model.fit(X, Y, batch_size=8, verbose=0, callbacks=[hook])
    assert len(told.calls) == 6
    assert "gradients" in "".join(read(out_dir).tensor_names())


@pytest.mark.parametrize("broken", [0, 2, 3])
@pytest.mark.parametrize("steps_per_execution", [1, 2])
def test_data_that_fails_ends_the_training_where_it_would(out_dir, broken, steps_per_execution):
    def run(hook):
        def batches():
            for batch in range(5):
                if batch == broken:
                    raise ValueError("these data are broken")
                yield X[8 * batch : 8 * batch + 8], Y[8 * batch : 8 * batch + 8]

        spec = (tf.TensorSpec((None, 64)), tf.TensorSpec((None,), tf.int64))
        data = tf.data.Dataset.from_generator(batches, output_signature=spec)
        data = data.apply(tf.data.experimental.assert_cardinality(5))
        model = made(dense_layers, steps_per_execution=steps_per_execution)
        with pytest.raises(tf.errors.InvalidArgumentError, match="these data are broken"):
            model.fit(data, epochs=1, verbose=0, callbacks=[hook] if hook else [])
        return model.get_weights()

    plain = run(None)
    with recorder(out_dir, interval=1) as hook:
        assert_same(run(hook), plain)


def test_a_fit_without_the_hook_in_between_changes_nothing(out_dir):
    """It has the function traced, for batches of another size, while the hook is out."""

    def run(hook):
        model = made(dense_layers, dropout_layer)
        results = trained(model, hook, epochs=1)
        results += trained(model, None, epochs=1, batch_size=11)
        return results + trained(model, hook, epochs=1, batch_size=7)

    plain = run(None)
    with recorder(out_dir) as hook:
        assert_same(run(hook), plain)


@pytest.mark.parametrize("dropout", DROPOUTS)
def test_training_on_single_batches_is_the_same_too(out_dir, dropout):
    def run(hook):
        model = made(dense_layers, *DROPOUTS[dropout])
        if hook:
            hook.register_model(model)
        losses = [model.train_on_batch(X[i : i + 8], Y[i : i + 8]) for i in range(0, 44, 8)]
        return [*model.get_weights(), *losses]

    plain = run(None)
    with recorder(out_dir, interval=2) as hook:
        assert_same(run(hook), plain)
    assert read(out_dir).tensor("inputs").steps() == [0, 2, 4]
