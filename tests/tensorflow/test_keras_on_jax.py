"""Keras 3 on JAX: losses, metrics and weights are recorded, what cannot be had is said."""

import importlib.util
import os
import subprocess
import sys
import textwrap

import pytest

import smdebug.tensorflow as smd
from conftest import KERAS_3, read

if not KERAS_3 or importlib.util.find_spec("jax") is None:
    pytest.skip("needs Keras 3 and JAX", allow_module_level=True)

SCRIPT = """
import os, sys
import jax, keras, numpy as np
import jax.numpy as jnp
from sklearn.datasets import load_digits
import smdebug.tensorflow as smd
from smdebug.exceptions import SMDebugTypeError

assert keras.backend.backend() == "jax"
x, y = load_digits(return_X_y=True)
x, y = (x[:40] / 16).astype("float32"), y[:40]

def trained(callbacks):
    keras.utils.set_random_seed(1)
    layers = [keras.Input((64,)), keras.layers.Dropout(0.2), keras.layers.Dense(10, name="last")]
    model = keras.Sequential(layers)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    history = model.fit(x, y, batch_size=8, epochs=2, verbose=0, callbacks=callbacks)
    model.evaluate(x, y, batch_size=20, verbose=0, callbacks=callbacks)
    model.predict(x, batch_size=20, verbose=0, callbacks=callbacks)
    return model.get_weights(), history.history

def traced():
    kept = []
    jax.jit(lambda x: kept.append(x) or x)(jnp.ones(2))
    return kept[0]

def deleted():
    array = jnp.ones(2) + 1
    array.delete()
    return array

# Name -> (makes a value of Keras on JAX, the array that it is saved as, None: it is skipped).
VALUES = {
    "array": (lambda: jnp.array([1.0, 2.0]), [1, 2]),
    "array of one element": (lambda: jnp.array(1.5), 1.5),
    "empty": (lambda: jnp.zeros((0, 2)), np.zeros((0, 2))),
    "bool": (lambda: jnp.array([True, False]), [True, False]),
    "int8": (lambda: jnp.array([1, 2], jnp.int8), [1, 2]),
    "complex": (lambda: jnp.array([1 + 2j]), [1 + 2j]),
    "bfloat16": (lambda: jnp.array([1, 2], jnp.bfloat16), [1, 2]),
    "float8": (lambda: jnp.array([1, 2], jnp.float8_e4m3fn), [1, 2]),
    "variable": (lambda: keras.Variable([1.0, 2.0]), [1, 2]),
    "variable of one element": (lambda: keras.Variable(1.5), 1.5),
    "list": (lambda: [jnp.ones(2), jnp.zeros(2)], [[1, 1], [0, 0]]),
    "numpy": (lambda: np.ones(2), [1, 1]),
    "traced": (traced, None),
    "deleted": (deleted, None),
    "key": (lambda: jax.random.key(0), None),
    "KerasTensor": (lambda: keras.Input((2,)), None),
    "layer": (lambda: keras.layers.Dense(1), None),
}

class SavesValues(keras.callbacks.Callback):
    def __init__(self, hook):
        super().__init__()
        self.hook = hook

    def on_train_batch_end(self, batch, logs=None):
        for name, (make, expected) in VALUES.items():
            value = make()
            self.hook.save_tensor(name, value)
            self.hook.record_tensor_value(f"record {name}", value)
            try:
                self.hook.save_scalar(name, value)
            except SMDebugTypeError:
                assert np.size(expected) != 1 or expected is None
            try:
                self.hook.add_to_collection("mine", value)
            except SMDebugTypeError:
                assert "variable" not in name and name != "KerasTensor"

plain = trained([])
hook = smd.KerasHook(sys.argv[1], include_collections=["weights", "biases", "gradients"],
                     save_config=smd.SaveConfig(save_interval=1))
watched = trained([hook, SavesValues(hook)])
hook.close()
trial = smd.create_trial(sys.argv[1])
for name, (_, expected) in VALUES.items():
    for each in (name, f"record {name}"):
        if expected is None:
            assert each in hook.status().skipped and each not in trial.tensor_names(), each
        else:
            found = trial.tensor(each).value(9, mode=smd.modes.TRAIN)
            np.testing.assert_array_equal(found.astype(complex), np.array(expected, complex))
assert hook.status().error is None, hook.status()
assert plain[1] == watched[1]
assert all(np.array_equal(a, b) for a, b in zip(plain[0], watched[0]))
np.save(sys.argv[1] + "/kernel.npy", watched[0][0])
"""


def test_the_training_is_the_same_and_weights_and_values_of_every_kind_are_recorded(tmp_path):
    import numpy as np

    path, out_dir = tmp_path / "train.py", str(tmp_path / "run")
    path.write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run(
        [sys.executable, str(path), out_dir],
        env={**os.environ, "KERAS_BACKEND": "jax", "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr.count("Keras on JAX does not expose them") == 1
    trial = read(out_dir)
    assert trial.steps(mode=smd.modes.TRAIN) == list(range(10))
    kernel = next(name for name in trial.tensor_names() if name.endswith("kernel:0"))
    last = trial.tensor(kernel).value(9, mode=smd.modes.TRAIN)
    np.testing.assert_array_equal(last, np.load(out_dir + "/kernel.npy"))
    metrics = trial.tensor_names(collection="metrics")
    assert [name for name in metrics if not name.startswith("record ")] == ["accuracy", "batch"]
    assert trial.tensor("loss").steps(mode=smd.modes.EVAL) == [0, 1]
