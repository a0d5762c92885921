"""The trainings of the zoo by Keras, in a separate interpreter (keras_cases.py, elsewhere.py)."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("SMDEBUG_LOG_LEVEL", "error")

import elsewhere  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import recording  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers  # noqa: E402

VOCABULARY = 2000


def train(case, arrays):
    """The quality of the model on the test set."""
    data = {name: _as_keras_has_it(array) for name, array in arrays.items()}
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.utils.set_random_seed(case["seed"])
    model = _model(case, data)
    _spoil(model, case)
    model.compile(_optimizer(case), _loss(case))
    _fit(model, case, data)
    recording.end()
    return _quality(model, case, data)


def _as_keras_has_it(array):
    """Images with their channels last."""
    return array.transpose(0, 2, 3, 1) if array.ndim == 4 else array


# --- the model ---


def _model(case, data):
    inputs = keras.Input(data["train_x"].shape[1:], dtype=data["train_x"].dtype.name)
    outputs = MODELS[case["model"]](case, inputs)
    if case.get("softmax"):
        outputs = layers.Softmax()(outputs)
    return keras.Model(inputs, outputs)


def _stack(case, x):
    for _ in range(case["depth"]):
        x = layers.Dense(case["width"], activation=case["activation"])(x)
    return layers.Dense(case["outputs"])(x)


def _normalized_perceptron(case, x):
    for _ in range(case["depth"]):
        x = layers.BatchNormalization()(layers.Dense(case["width"])(x))
        x = layers.Activation(case["activation"])(x)
    return layers.Dense(case["outputs"])(x)


def _convolutions(case, x):
    for _ in range(case["depth"]):
        x = layers.BatchNormalization()(layers.Conv2D(case["width"], 3, padding="same")(x))
        x = layers.Activation(case["activation"])(x)
    return layers.Dense(case["outputs"])(layers.Flatten()(layers.MaxPooling2D()(x)))


def _plain_convolutions(case, x):
    for _ in range(case["depth"]):
        x = layers.Conv2D(case["width"], 3, padding="same", activation=case["activation"])(x)
    return layers.Dense(case["outputs"])(layers.Flatten()(layers.MaxPooling2D()(x)))


def _text_model(case, x):
    x = layers.Embedding(VOCABULARY, case["width"], mask_zero=True)(x)
    x = layers.Dense(case["width"], activation=case["activation"])(
        layers.GlobalAveragePooling1D()(x)
    )
    return layers.Dense(case["outputs"])(x)


MODELS = {
    "stack": _stack,
    "normalized_perceptron": _normalized_perceptron,
    "convolutions": _convolutions,
    "plain_convolutions": _plain_convolutions,
    "TextModel": _text_model,
}


# --- the faults of models ---


def _spoil(model, case):
    weighted = [layer for layer in model.layers if hasattr(layer, "kernel")]
    if "scale" in case:
        for layer in weighted:
            layer.kernel.assign(case["scale"] * layer.kernel)
    if "bury" in case:
        hidden = weighted[:-1]
        layer = hidden[len(hidden) // 2]
        layer.bias.assign(tf.fill(layer.bias.shape, case["bury"]))
    if case.get("freeze"):
        weighted[0].trainable = False


def _log_of_shares(labels, scores):
    """The negative logarithm of the right class' share of all positive scores."""
    positive = tf.nn.relu(scores)
    shares = positive / tf.reduce_sum(positive, 1, keepdims=True)
    labels = tf.cast(tf.reshape(labels, [-1]), tf.int32)
    return -tf.gather(tf.math.log(shares), labels, axis=1, batch_dims=1)


# --- the training ---


def _optimizer(case):
    rate = case["lr"]
    if case["has_schedule"]:
        rate = keras.optimizers.schedules.CosineDecay(rate, case["steps"])
    return {
        "momentum": lambda: keras.optimizers.SGD(rate, momentum=0.9),
        "plain_sgd": lambda: keras.optimizers.SGD(rate),
        "adam": lambda: keras.optimizers.Adam(rate),
        "adamw": lambda: keras.optimizers.AdamW(rate, weight_decay=0.01),
        "rmsprop": lambda: keras.optimizers.RMSprop(rate),
    }[case["optimizer"]]()


def _loss(case):
    if case.get("loss") == "log_of_shares":
        return _log_of_shares
    reduction = case.get("reduction", "sum_over_batch_size")
    if case["classes"]:
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=reduction)
    return keras.losses.MeanSquaredError(reduction=reduction)


def _fit(model, case, data):
    x, y = data["train_x"], data["train_y"]
    batches = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x), case["seed"])
    model.fit(
        batches.repeat().batch(case["batch"]),
        steps_per_epoch=case["evaluate_every"],
        epochs=-(-case["steps"] // case["evaluate_every"]),
        validation_data=tf.data.Dataset.from_tensor_slices((data["test_x"], data["test_y"])).batch(
            128
        ),
        shuffle=False,
        verbose=0,
    )


def _quality(model, case, data):
    """The share of correct predictions, or of explained variance."""
    answers, wanted = np.asarray(model(data["test_x"])), data["test_y"]
    if case["classes"]:
        return float((answers.argmax(1) == wanted).mean())
    return float(1 - np.square(answers - wanted).mean() / np.square(wanted - wanted.mean(0)).mean())


if __name__ == "__main__":
    elsewhere.serve(train)
