"""Layers of Keras that a single one could replace, because no activation is between them."""

import keras
import numpy as np
import pytest

import smdebug.tensorflow as smd
from conftest import read
from smdebug.tensorflow.keras.linear_layers import linear_layers

L = keras.layers


class OwnDense(L.Dense):
    def call(self, x):
        return keras.activations.relu(super().call(x))


def sequential(*layers, inputs=(8,)):
    return keras.Sequential([keras.Input(inputs), *layers])


@pytest.mark.parametrize(
    ("layers", "count"),
    [
        ([L.Dense(16), L.Dense(9), L.Dense(1, activation="sigmoid")], 3),
        ([L.Dense(16), L.Dropout(0.5), L.BatchNormalization(), L.Dense(3), L.Softmax()], 2),
        ([sequential(L.Dense(16)), L.Dense(1)], 2),
        ([L.Dense(3), L.Dense(8)], 0),  # an autoencoder: 3 units are fewer than 8
        ([L.Dense(16, activation="tanh"), L.Dense(1)], 0),
        ([L.Dense(16), L.ReLU(), L.Dense(1)], 0),
        ([L.Dense(16), L.LayerNormalization(), L.Dense(1)], 0),
        ([L.Dense(16), OwnDense(16), L.Dense(1)], 0),
        ([L.Dense(16), L.Lambda(keras.activations.relu), L.Dense(1)], 0),
        ([L.Dense(1)], 0),
    ],
)
def test_layers_without_an_activation_in_between_are_counted(layers, count):
    assert linear_layers(sequential(*layers)) == count


def test_convolutions_and_pooling_of_means_count_too():
    images = [L.Conv2D(8, 3), L.AveragePooling2D(2), L.Flatten(), L.Dense(4)]
    assert linear_layers(sequential(*images, inputs=(8, 8, 1))) == 2
    images[1] = L.MaxPooling2D(2)
    assert linear_layers(sequential(*images, inputs=(8, 8, 1))) == 0


def test_of_other_models_they_are_unknown():
    x = keras.Input((8,))
    graph = keras.Model(x, L.Dense(1)(keras.activations.relu(L.Dense(16)(x))))
    assert linear_layers(graph) == 0


def test_a_training_reports_them_with_its_loss(tmp_path):
    model = sequential(L.Dense(16), L.Dense(1))
    model.compile("sgd", "mse")
    out_dir = str(tmp_path / "run")
    hook = smd.KerasHook(
        out_dir,
        save_config=smd.SaveConfig(save_interval=1),
        include_collections=["losses"],
    )
    hook.report_facts()
    x = np.random.default_rng(3).normal(size=(32, 8)).astype("float32")
    model.fit(x, x[:, :1] ** 2, batch_size=8, verbose=0, callbacks=[hook])
    hook.close()
    *_, last = read(out_dir).facts()
    assert last.facts.losses[0].input.linear_layers == 2
