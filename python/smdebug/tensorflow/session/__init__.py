"""`SessionHook`, `EstimatorHook` and their parts, which record graphs of TensorFlow 1.

The hooks are imported on first use, because modules of this package are also imported one by
one.
"""

import importlib
from typing import Any

from smdebug.required_framework import required_framework

__all__ = ["EstimatorHook", "SessionHook"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    with required_framework("smdebug.tensorflow", "tensorflow"):
        hook_module = importlib.import_module(f"{__name__}.hook")
    return getattr(hook_module, name)
