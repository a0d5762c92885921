"""What activations take and give is recorded by their kind, inside of layers too."""

import keras
import numpy as np

import smdebug.tensorflow as smd
from conftest import digits, read

layers = keras.layers
X, Y = digits(32)
KINDS = ["relu_input", "relu_output", "tanh_input", "sigmoid_input"]


def recorded(model, out_dir, x=X, steps=2, collections=KINDS):
    """A run of `fit` that changes no weight, a step per 16 samples."""
    hook = smd.KerasHook(
        out_dir, include_collections=collections, save_config=smd.SaveConfig(save_interval=1)
    )
    model.compile(
        keras.optimizers.SGD(0.0), keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    model.fit(x, Y, batch_size=32 // steps, shuffle=False, verbose=0, callbacks=[hook])
    hook.close()
    assert hook.status().error is None
    return read(out_dir)


def members(trial):
    return {kind: sorted(trial.tensor_names(collection=kind)) for kind in KINDS}


def test_what_an_activation_inside_of_a_layer_takes_is_recorded(out_dir):
    first = layers.Dense(8, activation="tanh", name="first")
    model = keras.Sequential([keras.Input((64,)), first, layers.Dense(10)])
    kept = first.activation
    trial = recorded(model, out_dir)
    kernel, bias = map(np.asarray, first.get_weights())
    for step in (0, 1):
        taken = trial.tensor("first/tanh_input").value(step)
        np.testing.assert_allclose(
            taken, X[16 * step : 16 * (step + 1)] @ kernel + bias, rtol=1e-4, atol=1e-5
        )
    assert first.activation is kept


def test_each_kind_holds_its_own_and_nothing_else(out_dir):
    class OwnCall(layers.Dense):
        def call(self, inputs):
            return super().call(inputs) - 1

    model = keras.Sequential(
        [
            keras.Input((64,)),
            layers.Dense(8, activation="relu", name="inside"),
            layers.Dense(8, activation="sigmoid", name="squashed"),
            layers.ReLU(name="alone"),
            layers.ReLU(negative_slope=0.1, name="leaky"),
            layers.Activation("tanh", name="apart"),
            OwnCall(8, activation="relu", name="own"),
            layers.Reshape((4, 2)),
            layers.SimpleRNN(4, activation="relu", name="recurrent"),
            layers.Dense(8, activation="softmax", name="shares"),
            layers.Dense(10, name="last"),
        ]
    )
    assert members(recorded(model, out_dir)) == {
        "relu_input": ["alone/inputs", "inside/relu_input"],
        "relu_output": ["alone/outputs", "inside/outputs"],
        "tanh_input": ["apart/inputs"],
        "sigmoid_input": ["squashed/sigmoid_input"],
    }


def test_a_layer_that_is_called_twice_has_two_inputs(out_dir):
    inputs = keras.Input((64,))
    shared = layers.Dense(64, activation="relu", name="shared")
    model = keras.Model(inputs, layers.Dense(10)(shared(shared(inputs))))
    trial = recorded(model, out_dir)
    assert members(trial)["relu_input"] == ["shared/relu_input_0", "shared/relu_input_1"]
    first = trial.tensor("shared/relu_input_0").value(0)
    kernel, bias = map(np.asarray, shared.get_weights())
    np.testing.assert_allclose(
        trial.tensor("shared/relu_input_1").value(0),
        np.maximum(first, 0) @ kernel + bias,
        rtol=1e-4,
        atol=1e-4,
    )


def test_layers_that_the_first_batch_makes_are_found_from_the_next_on(out_dir):
    class Late(keras.Model):
        def build(self, shape):
            self.hidden = layers.Dense(8, activation="relu", name="hidden")
            self.head = layers.Dense(10, name="head")
            self.hidden.build(shape)
            self.head.build((None, 8))
            super().build(shape)

        def call(self, inputs):
            return self.head(self.hidden(inputs))

    trial = recorded(Late(name="late"), out_dir, steps=4)
    assert members(trial)["relu_output"] == ["hidden/outputs"]
    assert {1, 2, 3} <= set(trial.tensor("hidden/outputs").steps())


def test_a_collection_of_the_users_own_is_left_alone(out_dir):
    model = keras.Sequential(
        [keras.Input((64,)), layers.Dense(8, activation="relu", name="first"), layers.Dense(10)]
    )
    hook = smd.KerasHook(
        out_dir,
        include_collections=["relu_output"],
        save_config=smd.SaveConfig(save_interval=1),
    )
    hook.get_collection("relu_output").include("^loss$")
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(X, Y, verbose=0, callbacks=[hook])
    hook.close()
    assert read(out_dir).tensor_names(collection="relu_output") == ["loss"]
