"""Shared by the tests of the TensorFlow adapter. Each file runs on Keras 2 and on Keras 3, some on
Keras 2 in `make long` only (tools/pytest_groups.py)."""

import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np  # noqa: E402
import pytest  # noqa: E402

tf = pytest.importorskip("tensorflow")

from smdebug import _core  # noqa: E402
from smdebug.trials import create_trial  # noqa: E402

_core.set_leak_warnings(True)
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)

KERAS_3 = not hasattr(tf.keras, "__internal__") and tf.keras.__version__.startswith("3")
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def read(out_dir):
    """Opens the run at `out_dir`, which must exist."""
    return create_trial(out_dir, timeout=5)


def digits(count=64):
    """The first `count` of scikit-learn's digits: (count, 64) float32 in 0..1, and labels."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return (images[:count] / 16).astype(np.float32), labels[:count]


def split_cpu():
    """Splits the CPU into CPU:0 and CPU:1. Call it before TensorFlow computes anything."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, two)
