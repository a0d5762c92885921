"""The backend of Keras, as far as the steps of a model depend on it: their tensors and graphs.

`backend` is one of two modules with the same functions: tensorflow_steps.py or eager_steps.py.
TensorFlow is not imported for Keras on another backend.
"""

import importlib
import sys
from types import ModuleType
from typing import Any

import keras

NAME = keras.backend.backend()
# A script may have loops of TensorFlow beside Keras on another backend.
HAS_TENSORFLOW = NAME == "tensorflow" or "tensorflow" in sys.modules


def _module() -> ModuleType:
    name = "tensorflow_steps" if NAME == "tensorflow" else "eager_steps"
    return importlib.import_module(f"{__package__}.{name}")


backend: ModuleType = _module()


def why_closed(model: Any) -> str | None:
    """Returns why no tensor inside a step of `model` can be captured without changing the results;
    None if tensors can be captured."""
    if NAME == "jax":
        return "Keras on JAX does not expose them"
    if NAME == "torch" and model.jit_compile:
        return "torch.compile compiles the step and hides them"
    return None
