"""What the operations of a loss show: in a graph of known and of unknown batch size, and in eager
code."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from smdebug.tensorflow.loss_graph import read_loss
from smdebug.tensorflow.operations import OperationRecorder, of_graph

L = keras.layers
ROWS, FEATURES, CODE = 8, 16, 2
FORMS = ("graph", "graph_of_any_batch", "eager")
form = pytest.mark.parametrize("form", FORMS)


def shown(form, loss, *data):
    """What the operations of `loss(*data)` show."""
    if form == "eager":
        recorder = OperationRecorder()
        assert recorder.start()
        try:
            result = loss(*data)
        finally:
            recorder.stop()
        return read_loss(recorder.value_of(result))
    batch = None if form == "graph_of_any_batch" else ROWS
    found = []

    specs = [tf.TensorSpec((batch, *x.shape[1:]), x.dtype) for x in data]

    @tf.function(input_signature=specs, autograph=False)
    def traced(*data):
        result = loss(*data)
        found.append(read_loss(of_graph(result)))
        return result

    traced.get_concrete_function()
    return found[-1]


def network(outputs, activation=None):
    keras.utils.set_random_seed(3)
    hidden = L.Dense(8, activation="relu")
    return keras.Sequential([keras.Input((FEATURES,)), hidden, L.Dense(outputs, activation)])


def inputs():
    return tf.random.stateless_uniform((ROWS, FEATURES), [1, 2])


def amounts():
    return tf.random.stateless_normal((ROWS,), [3, 4])


MODEL = network(1)
PAIRED = {
    "square": lambda x, y: tf.reduce_mean(tf.square(y - MODEL(x))),
    "power": lambda x, y: tf.sqrt(tf.reduce_mean((MODEL(x) - y) ** 2)),
    "squared difference": lambda x, y: tf.reduce_sum(tf.math.squared_difference(MODEL(x), y)),
    "product": lambda x, y: 0.5 * tf.reduce_mean((MODEL(x) - y) * (MODEL(x) - y)),
    "targets as a column": lambda x, y: tf.reduce_mean((MODEL(x)[:, 0] - y[:, None]) ** 2),
}
NOT_PAIRED = {
    "columns": lambda x, y: tf.reduce_mean((MODEL(x) - y[:, None]) ** 2),
    "rows": lambda x, y: tf.reduce_mean((MODEL(x)[:, 0] - y) ** 2),
    "distances of predictions": lambda x, y: tf.reduce_mean((MODEL(x) - MODEL(x)[:, 0]) ** 2),
    "distances of targets": lambda x, y: (
        tf.reduce_mean(MODEL(x)) * tf.reduce_mean((y[:, None] - y) ** 2)
    ),
    "predictions as a column": lambda x, y: tf.reduce_mean((MODEL(x)[:, 0][:, None] - y) ** 2),
    "a loss of Keras": lambda x, y: keras.losses.MeanSquaredError()(y, MODEL(x)),
    "no difference": lambda x, y: tf.reduce_mean(MODEL(x) * y),
}


@form
@pytest.mark.parametrize("name", PAIRED)
def test_a_difference_that_pairs_predictions_with_all_targets_is_found(form, name):
    found = shown(form, PAIRED[name], inputs(), amounts()).paired
    size = None if form == "graph_of_any_batch" else ROWS
    shapes = [(size, 1), (size,)]
    assert found.kind == "squared_error"
    assert [found.shape, found.target_shape] in (shapes, shapes[::-1])


def test_an_absolute_difference_is_told_from_a_square():
    found = shown("graph", lambda x, y: tf.reduce_mean(tf.abs(MODEL(x) - y)), inputs(), amounts())
    assert found.paired.kind == "absolute_error"


@form
@pytest.mark.parametrize("name", NOT_PAIRED)
def test_pairs_that_a_script_may_want_are_not_found(form, name):
    assert shown(form, NOT_PAIRED[name], inputs(), amounts()).paired is None


PROBABILITY = network(1, "sigmoid")
SHARES = network(3, "softmax")


@form
@pytest.mark.parametrize(
    "probabilities",
    [
        lambda x: PROBABILITY(x),
        lambda x: 1.0 - PROBABILITY(x),
        lambda x: SHARES(x),
        lambda x: tf.reshape(PROBABILITY(x), [-1]),
        lambda x: SHARES(x)[:, 1],
    ],
)
def test_a_bare_logarithm_of_a_probability_is_found(form, probabilities):
    loss = shown(form, lambda x: -tf.reduce_mean(tf.math.log(probabilities(x))), inputs())
    assert loss.has_bare_logarithm


@form
@pytest.mark.parametrize(
    "argument",
    [
        lambda x: tf.clip_by_value(PROBABILITY(x), 1e-6, 1 - 1e-6),
        lambda x: tf.maximum(PROBABILITY(x), 1e-6),
        lambda x: PROBABILITY(x) + 1e-6,
        lambda x: 1.0 - PROBABILITY(x) + 1e-6,
        lambda x: tf.exp(MODEL(x)),
    ],
)
def test_a_logarithm_of_anything_above_0_is_not_bare(form, argument):
    loss = shown(form, lambda x: -tf.reduce_mean(tf.math.log(argument(x))), inputs())
    assert not loss.has_bare_logarithm


def test_a_loss_of_keras_takes_no_bare_logarithm():
    targets = tf.ones((ROWS, 1))
    for form in FORMS:
        assert not shown(
            form,
            lambda x, y: keras.losses.BinaryCrossentropy()(y, PROBABILITY(x)),
            inputs(),
            targets,
        ).has_bare_logarithm


# --- variational autoencoders ---

ENCODER = network(2 * CODE)
DECODER = keras.Sequential([keras.Input((CODE,)), L.Dense(FEATURES, "sigmoid")])


def of_samples(elements):
    return tf.reduce_mean(tf.reduce_sum(elements, axis=1))


def divergence_of_logarithm(mean, log_var):
    return of_samples(-0.5 * (1 + log_var - tf.square(mean) - tf.exp(log_var)))


def divergence_of_deviation(mean, scores):
    deviation = tf.nn.softplus(scores)
    return of_samples(0.5 * (deviation**2 + mean**2 - 1) - tf.math.log(deviation))


def divergence_of_half_logarithm(mean, log_deviation):
    return tf.reduce_mean(
        -0.5 * tf.reduce_sum(1 + 2 * log_deviation - mean * mean - tf.exp(2 * log_deviation), 1)
    )


def divergence_over_batch(mean, log_var):
    variance = tf.exp(log_var)
    total = 0.5 * tf.reduce_sum(tf.square(mean) + variance - tf.math.log(variance) - 1)
    return total / tf.cast(tf.shape(mean)[0], tf.float32)


DIVERGENCES = (
    divergence_of_logarithm,
    divergence_of_deviation,
    divergence_of_half_logarithm,
    divergence_over_batch,
)
RECONSTRUCTIONS = {
    "sum of squares": (lambda x, made: of_samples((x - made) ** 2), 1),
    "mean of squares": (lambda x, made: keras.losses.MeanSquaredError()(x, made), FEATURES),
    "scaled mean": (lambda x, made: FEATURES * tf.reduce_mean((x - made) ** 2), 1),
    "mean of cross entropies": (
        lambda x, made: tf.reduce_mean(keras.losses.binary_crossentropy(x, made)),
        FEATURES,
    ),
    "sum of cross entropies": (
        lambda x, made: of_samples(
            keras.losses.binary_crossentropy(x[:, :, None], made[:, :, None])
        ),
        1,
    ),
}


def autoencoder_loss(divergence, reconstruction, beta=1.0):
    def loss(x):
        code = ENCODER(x)
        mean, spread = code[:, :CODE], code[:, CODE:]
        noise = tf.random.normal(tf.shape(mean))
        made = DECODER(mean + tf.exp(0.5 * spread) * noise)
        return reconstruction(x, made) + beta * divergence(mean, spread)

    return loss


@form
@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("name", RECONSTRUCTIONS)
def test_the_weight_of_a_divergence_is_1_if_both_terms_are_sums(form, divergence, name):
    reconstruction, weight = RECONSTRUCTIONS[name]
    found = shown(form, autoencoder_loss(divergence, reconstruction), inputs()).divergence
    assert found.weight == pytest.approx(weight, rel=1e-3)


def test_a_factor_of_the_divergence_counts():
    reconstruction, _ = RECONSTRUCTIONS["sum of squares"]
    loss = autoencoder_loss(divergence_of_logarithm, reconstruction, beta=4.0)
    assert shown("graph", loss, inputs()).divergence.weight == pytest.approx(4)


@form
def test_a_regression_with_a_learned_variance_has_no_divergence(form):
    def loss(x, y):
        code = ENCODER(x)
        mean, log_var = code[:, 0], code[:, 1]
        return 0.5 * tf.reduce_mean(log_var + (y - mean) ** 2 * tf.exp(-log_var))

    assert shown(form, loss, inputs(), amounts()).divergence is None


def test_recorded_operations_change_no_result_and_trace_no_function_again():
    traces = []

    @tf.function
    def model(x):
        traces.append(x)
        return tf.reduce_mean(MODEL(x) ** 2)

    def gradients(recorder):
        with tf.GradientTape() as tape:
            if recorder:
                recorder.start()
            loss = model(inputs()) + tf.reduce_mean(MODEL(inputs()))
            if recorder:
                recorder.stop()
        return [each.numpy() for each in tape.gradient(loss, MODEL.trainable_variables)]

    plain, recorded, after = gradients(None), gradients(OperationRecorder()), gradients(None)
    for each, other, last in zip(plain, recorded, after, strict=True):
        np.testing.assert_array_equal(each, other)
        np.testing.assert_array_equal(each, last)
    assert len(traces) == 1
