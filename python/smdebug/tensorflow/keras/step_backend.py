"""What a step of Keras is made of on the backend that runs it: its tensors, and perhaps a graph.

`backend` is a module, tensorflow_steps.py or eager_steps.py, which have the same functions.
TensorFlow is not imported for Keras on another backend.
"""

import importlib
import sys

import keras

NAME = keras.backend.backend()
# Also where a script of another backend has loops of TensorFlow's own.
HAS_TENSORFLOW = NAME == "tensorflow" or "tensorflow" in sys.modules


def _module():
    name = "tensorflow_steps" if NAME == "tensorflow" else "eager_steps"
    return importlib.import_module(f"{__package__}.{name}")


backend = _module()


def why_closed(model):
    """Why no tensor inside a step of `model` can be had without changing what it computes, or
    None."""
    if NAME == "jax":
        return "they cannot be had from Keras on JAX"
    if NAME == "torch" and model.jit_compile:
        return "they cannot be had from a step of Keras that torch.compile compiles"
    return None
