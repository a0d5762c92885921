"""MirroredStrategy over two devices of the CPU: the training is the same; losses, metrics and
weights are recorded, and it is said that tensors of the replicas are not."""

import os
import subprocess
import sys

import numpy as np
from conftest import read

SCRIPT = """
import sys
import keras, numpy as np, tensorflow as tf
from sklearn.datasets import load_digits
import smdebug.tensorflow as smd

device = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(device, 2 * [tf.config.LogicalDeviceConfiguration()])
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
x, y = load_digits(return_X_y=True)
x, y = (x[:64] / 16).astype("float32"), y[:64]

def trained(callbacks):
    keras.utils.set_random_seed(1)
    with strategy.scope():
        layers = [keras.Input((64,)), keras.layers.Dense(10, name="last")]
        model = keras.Sequential(layers)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(0.5), loss)
    model.fit(x, y, batch_size=16, verbose=0, shuffle=False, callbacks=callbacks)
    return model.get_weights()

plain = trained([])
hook = smd.KerasHook(sys.argv[1], include_collections=["weights", "gradients", "layers"],
                     save_config=smd.SaveConfig(save_interval=1))
watched = trained([hook])
hook.close()
assert hook.status().error is None, hook.status()
assert all(np.array_equal(a, b) for a, b in zip(plain, watched))
np.save(sys.argv[1] + "/kernel.npy", watched[0])
"""


def test_two_replicas_train_as_they_do_and_what_they_share_is_recorded(tmp_path):
    path, out_dir = tmp_path / "train.py", str(tmp_path / "run")
    path.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(path), out_dir],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr.count("Keras would add up those of replicas") == 1
    trial = read(out_dir)
    assert trial.tensor("loss").steps() == [0, 1, 2, 3]
    kernel = next(name for name in trial.tensor_names() if name.endswith("kernel:0"))
    np.testing.assert_array_equal(trial.tensor(kernel).value(3), np.load(out_dir + "/kernel.npy"))
    assert not [name for name in trial.tensor_names() if "Grad" in name]
