"""Last layers that do not fit the labels or the loss, with Keras."""

import data
import keras
import launch
import numpy as np
import tensorflow as tf
from keras import layers


def _losses(model, x, y, epochs, batch=32):
    """The loss of each epoch."""
    return model.fit(x, y, epochs=epochs, batch_size=batch, verbose=2).history["loss"]


def softmax_on_one_unit(faulty):
    keras.utils.set_random_seed(51)
    x, y = data.moons(1600)
    model = keras.Sequential(
        [
            layers.Input((2,)),
            layers.Dense(24, activation="relu"),
            layers.Dense(24, activation="relu"),
            # Keras takes the scores before its own softmax, which hides the fault in the loss.
            layers.Dense(1, activation=tf.nn.softmax if faulty else "sigmoid"),
        ]
    )
    model.compile(keras.optimizers.Adam(3e-3), "binary_crossentropy", metrics=["accuracy"])
    return _losses(model, x, y, 8)


def sigmoid_for_prices(faulty):
    keras.utils.set_random_seed(52)
    x, price = data.houses()
    model = keras.Sequential(
        [
            layers.Input((4,)),
            layers.Dense(32, activation="relu"),
            layers.Dense(1, activation="sigmoid" if faulty else None),
        ]
    )
    model.compile(keras.optimizers.Adam(2e-2), "mse", metrics=["mae"])
    return _losses(model, x, price, 12)


def one_unit_for_three_classes(faulty):
    keras.utils.set_random_seed(53)
    x, y = data.blobs(classes=3, count=960)
    model = keras.Sequential([layers.Input((8,)), layers.Dense(16, activation="relu")])
    if faulty:
        model.add(layers.Dense(1, activation="sigmoid"))
        model.compile(keras.optimizers.Adam(5e-3), "binary_crossentropy", metrics=["accuracy"])
    else:
        model.add(layers.Dense(3, activation="softmax"))
        model.compile(
            keras.optimizers.Adam(5e-3), "sparse_categorical_crossentropy", metrics=["accuracy"]
        )
    return _losses(model, x, y, 10)


def one_unit_for_image_classes(faulty):
    keras.utils.set_random_seed(54)
    x, y = data.glyphs()
    x, y = (x[y < 3, :, :, None] - 70) / 80, y[y < 3]
    model = keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            layers.Conv2D(8, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(16, activation="relu"),
            layers.Dense(1 if faulty else 3, activation="sigmoid" if faulty else "softmax"),
        ]
    )
    loss = "mse" if faulty else "sparse_categorical_crossentropy"
    model.compile("adam", loss, metrics=["accuracy"])
    return _losses(model, x, y, 12, batch=16)


def relu_before_cross_entropy(faulty):
    keras.utils.set_random_seed(55)
    x, y = data.glyphs()
    model = keras.Sequential(
        [
            layers.Input((8, 8)),
            layers.Flatten(),
            layers.Dense(48, activation="relu"),
            layers.Dense(10, activation="relu" if faulty else "softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(3e-3), "categorical_crossentropy", metrics=["accuracy"])
    return _losses(model, (x - 70) / 80, keras.utils.to_categorical(y), 8)


def softmax_for_regression(faulty):
    keras.utils.set_random_seed(56)
    x = np.random.default_rng(6).uniform(-3, 3, (1200, 1)).astype("float32")
    y = np.sin(x)
    model = keras.Sequential(
        [
            layers.Input((1,)),
            layers.Dense(32, activation="tanh"),
            layers.Dense(1, activation="softmax" if faulty else None),
        ]
    )
    model.compile(keras.optimizers.Adam(2e-2), "mse")
    return _losses(model, x, y, 10)


if __name__ == "__main__":
    launch.run_named(globals())
