"""smdebug for TensorFlow and Keras: `KerasHook` records `fit`, `evaluate`, `predict` and loops with
a GradientTape, `SessionHook` and `EstimatorHook` record graphs of TensorFlow 1.

The hooks are imported on first use: a session does not need Keras, and Keras on another backend
does not need TensorFlow.
"""

import importlib
from typing import Any

from smdebug._core import ModeKeys as modes
from smdebug.collection import CollectionKeys
from smdebug.near_names import refuse_name
from smdebug.reduction_config import ReductionConfig
from smdebug.required_framework import required_framework
from smdebug.save_config import SaveConfig, SaveConfigMode
from smdebug.tensorflow.collection import Collection
from smdebug.tensorflow.singleton_utils import del_hook, get_hook, set_hook
from smdebug.trials import create_trial

# hook -> (its module, the framework that it needs)
_HOOKS = {
    "KerasHook": ("smdebug.tensorflow.keras.hook", "keras"),
    "SessionHook": ("smdebug.tensorflow.session.hook", "tensorflow"),
    "EstimatorHook": ("smdebug.tensorflow.session.hook", "tensorflow"),
}

__all__ = [
    "Collection",
    "CollectionKeys",
    "EstimatorHook",
    "KerasHook",
    "ReductionConfig",
    "SaveConfig",
    "SaveConfigMode",
    "SessionHook",
    "create_trial",
    "del_hook",
    "get_hook",
    "modes",
    "set_hook",
]


def __getattr__(name: str) -> Any:
    if name not in _HOOKS:
        hint = "use KerasHook, SessionHook or EstimatorHook" if name == "Hook" else ""
        refuse_name(__name__, name, __all__, hint)
    module, framework = _HOOKS[name]
    with required_framework("smdebug.tensorflow", framework):
        hook_module = importlib.import_module(module)
    value = getattr(hook_module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOOKS})
