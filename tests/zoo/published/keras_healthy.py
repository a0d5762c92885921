"""Healthy trainings with Keras."""

import data
import keras
import launch
from keras import layers


def keras_fine_tuning():
    """Trains a new head on a frozen base with normalizations, then all of it at a low rate."""
    keras.utils.set_random_seed(131)
    x, y = data.glyphs()
    x = (x.reshape(-1, 64) - 70) / 80
    base = keras.Sequential(
        [layers.Input((64,)), layers.Dense(48), layers.BatchNormalization(), layers.ReLU()]
    )
    first = keras.Sequential([base, layers.Dense(5, activation="softmax")])
    first.compile("adam", "sparse_categorical_crossentropy")
    first.fit(x[y < 5], y[y < 5], epochs=2, verbose=2)
    base.trainable = False
    model = keras.Sequential([base, layers.Dense(5, activation="softmax")])
    model.compile(keras.optimizers.Adam(5e-3), "sparse_categorical_crossentropy")
    losses = model.fit(x[y > 4], y[y > 4] - 5, epochs=4, verbose=2).history["loss"]
    base.trainable = True
    model.compile(keras.optimizers.Adam(1e-4), "sparse_categorical_crossentropy")
    return losses + model.fit(x[y > 4], y[y > 4] - 5, epochs=4, verbose=2).history["loss"]


def keras_language_model():
    """Letters, with early stopping and a rate that falls on plateaus."""
    keras.utils.set_random_seed(132)
    rows, size = data.windows(17, count=1200)
    model = keras.Sequential(
        [
            layers.Input((16,), dtype="int32"),
            layers.Embedding(size, 24),
            layers.GRU(48, return_sequences=True),
            layers.Dense(size, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy")
    stop = keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True)
    slower = keras.callbacks.ReduceLROnPlateau(patience=1)
    fitted = model.fit(
        rows[:, :-1], rows[:, 1:], epochs=7, verbose=2, validation_split=0.2,
        callbacks=[stop, slower],
    )  # fmt: skip
    return fitted.history["loss"]


if __name__ == "__main__":
    launch.run_named(globals())
