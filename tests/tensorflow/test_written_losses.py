"""What `smdebug run` tells rules of losses that a script writes out, of class weights, and of
variables that a loop with a tape forgets."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

import smdebug.tensorflow as smd
from conftest import read
from smdebug.tensorflow.keras.facts import weights_by_class

L = keras.layers
ROWS, BATCH, FEATURES = 120, 12, 4


def inputs():
    return np.random.default_rng(5).normal(size=(ROWS, FEATURES)).astype("float32")


def amounts():
    return np.random.default_rng(6).normal(size=ROWS).astype("float32")


def recorder(out_dir):
    """A hook as `smdebug run` makes it."""
    hook = smd.KerasHook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    hook.note_every_step()
    hook.report_facts()
    return hook


def reported(hook):
    hook.close()
    assert hook.status().error is None
    facts = read(hook.out_dir).facts()
    return facts[-1].facts if facts else None


def network(*last):
    keras.utils.set_random_seed(2)
    return keras.Sequential([keras.Input((FEATURES,)), L.Dense(6, activation="tanh"), *last])


def batches(x, y):
    return [(x[at : at + BATCH], y[at : at + BATCH]) for at in range(0, ROWS, BATCH)]


def looped(out_dir, step, is_graph, times=1):
    """The last facts of a loop of `step(tape, x, y)`."""
    hook = recorder(out_dir)

    def train(x, y):
        tape = hook.wrap_tape(tf.GradientTape())
        step(tape, x, y)

    train = tf.function(train) if is_graph else train
    for _ in range(times):
        for x, y in batches(inputs(), amounts()):
            train(tf.constant(x), tf.constant(y))
    return reported(hook)


def regression(model, loss, optimizer):
    def step(tape, x, y):
        with tape:
            value = loss(y, model(x, training=True))
        variables = model.trainable_variables
        gradients = tape.gradient(value, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))

    return step


def paired(y, given):
    return tf.reduce_mean(tf.square(y - given))


in_graphs_and_outside = pytest.mark.parametrize("is_graph", [True, False])


@in_graphs_and_outside
def test_a_loop_whose_loss_pairs_predictions_with_all_targets_tells_the_shapes(tmp_path, is_graph):
    step = regression(network(L.Dense(1)), paired, keras.optimizers.SGD(0.01))
    (loss,) = looped(tmp_path / "run", step, is_graph).losses
    assert (loss.tensor, loss.kind) == ("loss", "squared_error")
    assert (loss.input.shape, loss.input.target_shape) == ([BATCH, 1], [BATCH])
    assert loss.input.steps >= 3


@in_graphs_and_outside
def test_a_loop_with_a_sound_loss_has_no_facts(tmp_path, is_graph):
    step = regression(
        network(L.Dense(1)),
        lambda y, given: tf.reduce_mean(tf.square(y[:, None] - given)),
        keras.optimizers.SGD(0.01),
    )
    assert looped(tmp_path / "run", step, is_graph) is None


class OwnStep(keras.Model):
    def __init__(self):
        super().__init__()
        self.last = L.Dense(1)

    def call(self, x):
        return self.last(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(y - self(x, training=True)))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


def test_a_train_step_of_the_script_tells_what_its_loss_is_made_of(tmp_path):
    keras.utils.set_random_seed(2)
    model = OwnStep()
    model.compile(keras.optimizers.SGD(0.01))
    hook = recorder(tmp_path / "run")
    gradient = tf.GradientTape.gradient
    model.fit(inputs(), amounts(), batch_size=BATCH, verbose=0, callbacks=[hook])
    assert tf.GradientTape.gradient is gradient
    (loss,) = reported(hook).losses
    assert (loss.kind, loss.input.shape) == ("squared_error", [BATCH, 1])
    assert loss.input.target_shape == [BATCH]


def log_loss(y, given):
    return -tf.reduce_mean(y * tf.math.log(given) + (1 - y) * tf.math.log(1 - given), axis=-1)


def clipped_log_loss(y, given):
    return log_loss(y, tf.clip_by_value(given, 1e-6, 1 - 1e-6))


@pytest.mark.parametrize("loss, is_blamed", [(log_loss, True), (clipped_log_loss, False)])
def test_a_bare_logarithm_is_blamed_once_the_loss_is_not_finite(tmp_path, loss, is_blamed):
    model = network(L.Dense(1, activation="sigmoid"))
    model.compile(keras.optimizers.SGD(1e4), loss)
    labels = (amounts() > 0).astype("float32").reshape(-1, 1)
    hook = recorder(tmp_path / "run")
    model.fit(10 * inputs(), labels, batch_size=BATCH, epochs=2, verbose=0, callbacks=[hook])
    blamed = reported(hook).loop.not_finite_by
    assert (blamed is not None) == is_blamed
    if blamed:
        assert (blamed.kind, blamed.size) == ("log of 0", 0)


def test_a_bare_logarithm_in_a_sound_training_is_not_blamed(tmp_path):
    model = network(L.Dense(1, activation="sigmoid"))
    model.compile(keras.optimizers.SGD(0.01), log_loss)
    labels = (amounts() > 0).astype("float32").reshape(-1, 1)
    hook = recorder(tmp_path / "run")
    model.fit(inputs(), labels, batch_size=BATCH, verbose=0, callbacks=[hook])
    assert reported(hook).loop.not_finite_by is None


# --- class weights ---


def with_class_weights(out_dir, class_weight):
    model = network(L.Dense(1, activation="sigmoid"))
    model.compile("sgd", "binary_crossentropy")
    hook = recorder(out_dir)
    hook.note_class_weights(model, class_weight)
    labels = (amounts() > 1).astype("float32")
    model.fit(
        inputs(),
        labels,
        batch_size=BATCH,
        class_weight=class_weight,
        verbose=0,
        callbacks=[hook],
    )
    (loss,) = reported(hook).losses
    return loss


def test_the_class_weights_of_fit_are_those_of_the_largest_and_the_smallest_class(tmp_path):
    loss = with_class_weights(tmp_path / "run", {0: 1.5, 1: 0.25})
    assert loss.input.class_weights == (1.5, 0.25)
    assert loss.reduction == "weighted_mean"
    assert loss.input.targets.largest_class > loss.input.targets.smallest_class > 0


def test_a_class_weight_of_0_hides_targets(tmp_path):
    loss = with_class_weights(tmp_path / "run", {0: 1.0, 1: 0.0})
    assert loss.input.targets is None and loss.input.class_weights is None


def test_classes_without_a_weight_have_the_weight_1():
    assert weights_by_class({2: 5.0}).tolist() == [1.0, 1.0, 5.0]
    assert weights_by_class({-1: 5.0}) is None
    assert weights_by_class(None) is None


# --- variables that are not trained ---


class Late(keras.Model):
    """A model that makes its variables in its first call."""

    def __init__(self):
        super().__init__()
        self.last = L.Dense(3)

    def call(self, x):
        return self.last(x)


def autoencoder(lists_late, assigns=False):
    encoder, decoder = Late(), keras.Sequential([keras.Input((3,)), L.Dense(FEATURES)])
    optimizer = keras.optimizers.SGD(0.01)
    listed = encoder.trainable_variables + decoder.trainable_variables

    def step(tape, x, y):
        with tape:
            loss = tf.reduce_mean(tf.square(decoder(encoder(x)) - x))
        fresh = encoder.trainable_variables + decoder.trainable_variables
        variables = fresh if lists_late else listed
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        if assigns:
            for each in encoder.trainable_variables:
                each.assign_add(0.1 * tf.ones_like(each))

    return step


def layers_outside(facts):
    return [] if facts is None else facts.loop.layers_outside


def test_a_model_that_was_built_after_its_variables_were_listed_is_not_trained(tmp_path):
    keras.utils.set_random_seed(2)
    facts = looped(tmp_path / "run", autoencoder(lists_late=False), False, times=4)
    assert len(layers_outside(facts)) == 1


@pytest.mark.parametrize("how", [{"lists_late": True}, {"lists_late": False, "assigns": True}])
def test_a_model_that_is_trained_or_assigned_is_not_reported(tmp_path, how):
    keras.utils.set_random_seed(2)
    facts = looped(tmp_path / "run", autoencoder(**how), False, times=4)
    assert layers_outside(facts) == []


def test_two_models_that_are_trained_in_turn_are_not_reported(tmp_path):
    keras.utils.set_random_seed(2)
    models = Late(), Late()
    hook = recorder(tmp_path / "run")
    optimizers = [keras.optimizers.SGD(0.01) for _ in models]
    for number, (x, _) in enumerate(4 * batches(inputs(), amounts())):
        turn = number % 2
        tape = hook.wrap_tape(tf.GradientTape())
        with tape:
            loss = tf.reduce_mean(models[1](models[0](x)) ** 2)
        variables = models[turn].trainable_variables
        gradients = tape.gradient(loss, variables)
        optimizers[turn].apply_gradients(zip(gradients, variables, strict=True))
    assert layers_outside(reported(hook)) == []


def test_an_exception_in_a_tape_ends_the_record_of_operations(tmp_path):
    hook = recorder(tmp_path / "run")
    with pytest.raises(KeyError), hook.wrap_tape(tf.GradientTape()):
        assert context.context().op_callbacks
        raise KeyError
    assert not context.context().op_callbacks
    hook.close()


def test_the_numbers_of_a_loop_are_the_same_with_and_without_facts(tmp_path):
    def trained(out_dir):
        model = network(L.Dropout(0.5), L.Dense(1))
        step = regression(model, paired, keras.optimizers.Adam(0.01))
        hook = recorder(out_dir) if out_dir else None
        for x, y in batches(inputs(), amounts()):
            tape = tf.GradientTape()
            step(hook.wrap_tape(tape) if hook else tape, tf.constant(x), tf.constant(y))
        if hook:
            hook.close()
        return [np.array(each) for each in model.get_weights()]

    trained(None)  # the first dropout of a process draws other numbers than later ones
    for each, other in zip(trained(None), trained(tmp_path / "run"), strict=True):
        np.testing.assert_array_equal(each, other)
