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
import keras, numpy as np
from sklearn.datasets import load_digits
import smdebug.tensorflow as smd

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

plain = trained([])
hook = smd.KerasHook(sys.argv[1], include_collections=["weights", "biases", "gradients"],
                     save_config=smd.SaveConfig(save_interval=1))
watched = trained([hook])
hook.close()
assert hook.status().error is None, hook.status()
assert plain[1] == watched[1]
assert all(np.array_equal(a, b) for a, b in zip(plain[0], watched[0]))
np.save(sys.argv[1] + "/kernel.npy", watched[0][0])
"""


def test_the_training_is_the_same_and_its_weights_are_recorded(tmp_path):
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
    assert trial.tensor_names(collection="metrics") == [
        "accuracy",
        "batch",
    ]
    assert trial.tensor("loss").steps(mode=smd.modes.EVAL) == [0, 1]
