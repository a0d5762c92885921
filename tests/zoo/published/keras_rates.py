"""Learning rates, unscaled data, and the three cases of AutoTrainer, with Keras."""

import data
import keras
import launch
import numpy as np
from keras import layers


def _images():
    """Rows of 64 pixels about 0, and labels."""
    x, y = data.glyphs()
    return (x.reshape(-1, 64) - 70) / 80, y


def _losses(model, x, y, epochs, batch=32):
    """The loss of each epoch."""
    return model.fit(x, y, epochs=epochs, batch_size=batch, verbose=2).history["loss"]


def linear_layers_and_rate_of_three(faulty):
    keras.utils.set_random_seed(61)
    x, y = _images()
    hidden = None if faulty else "relu"
    model = keras.Sequential(
        [
            layers.Input((64,)),
            layers.Dense(64, activation=hidden),
            layers.Dense(32, activation=hidden),
            layers.Dense(10, activation=None if faulty else "softmax"),
        ]
    )
    loss = "mse" if faulty else "categorical_crossentropy"
    model.compile(keras.optimizers.SGD(3.0 if faulty else 0.1), loss, metrics=["accuracy"])
    return _losses(model, x, keras.utils.to_categorical(y), 8)


def linear_regression_diverges(faulty):
    keras.utils.set_random_seed(62)
    x = np.arange(0, 200, dtype="float32")[:, None]
    y = 3 * x + 2 + np.random.default_rng(2).normal(size=x.shape).astype("float32")
    model = keras.Sequential([layers.Input((1,)), layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01 if faulty else 2e-5), "mse")
    return _losses(model, x, y, 25, batch=10)


def pixels_and_sigmoid(faulty):
    keras.utils.set_random_seed(63)
    x, y = data.glyphs()
    x = x.reshape(-1, 64)
    if not faulty:
        x = x / 255
    model = keras.Sequential(
        [
            layers.Input((64,)),
            layers.Dense(64, activation="sigmoid"),
            layers.Dense(64, activation="sigmoid"),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(
        keras.optimizers.SGD(0.5), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    return _losses(model, x, y, 10)


def features_not_scaled(faulty):
    keras.utils.set_random_seed(64)
    x, y = data.samples()
    if not faulty:
        x = (x - x.mean(0)) / x.std(0)
    model = keras.Sequential(
        [
            layers.Input((6,)),
            layers.Dense(16, activation="relu"),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile(
        keras.optimizers.SGD(0.05), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    return _losses(model, x, y, 40, batch=16)


def rate_too_high(faulty):
    keras.utils.set_random_seed(65)
    x, y = _images()
    model = keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            layers.Conv2D(8, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(32, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )
    optimizer = keras.optimizers.Adam(0.5 if faulty else 2e-3)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return _losses(model, x.reshape(-1, 8, 8, 1), y, 8)


def rate_too_low(faulty):
    keras.utils.set_random_seed(66)
    x, y = data.moons(1600)
    model = keras.Sequential(
        [
            layers.Input((2,)),
            layers.Dense(32, activation="relu"),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(keras.optimizers.SGD(1e-6 if faulty else 0.3), "binary_crossentropy")
    return _losses(model, x, y, 8)


def autotrainer_vanishing(faulty):
    keras.utils.set_random_seed(67)
    x, y = _images()
    hidden = "sigmoid" if faulty else "relu"
    depth = 10 if faulty else 3
    stack = [layers.Dense(32, activation=hidden) for _ in range(depth)]
    model = keras.Sequential([layers.Input((64,)), *stack, layers.Dense(10, activation="softmax")])
    model.compile(
        keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    return _losses(model, x, y, 8)


def autotrainer_dying(faulty):
    keras.utils.set_random_seed(68)
    x, y = _images()
    bias = keras.initializers.Constant(-8.0 if faulty else 0.0)
    model = keras.Sequential(
        [
            layers.Input((64,)),
            layers.Dense(48, activation="relu", bias_initializer=bias),
            layers.Dense(48, activation="relu", bias_initializer=bias),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(
        keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    return _losses(model, x, y, 8)


def autotrainer_oscillating(faulty):
    keras.utils.set_random_seed(69)
    x, y = data.blobs(classes=4, count=1600)
    model = keras.Sequential(
        [
            layers.Input((8,)),
            layers.Dense(32, activation="tanh"),
            layers.Dense(4, activation="softmax"),
        ]
    )
    optimizer = keras.optimizers.SGD(30.0 if faulty else 0.1)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return _losses(model, x, y, 8)


if __name__ == "__main__":
    launch.run_named(globals())
