"""The imports that the test files share; `tools/run_forked.py` makes them once."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras  # noqa: E402, F401
import sklearn.datasets  # noqa: E402, F401
import tensorflow  # noqa: E402, F401

import smdebug.tensorflow  # noqa: E402, F401
