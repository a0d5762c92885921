"""`KerasHook` and its parts, which record models that Keras trains.

The hook is imported on first use, because modules of this package are also imported one by
one.
"""

import importlib
from typing import Any

from smdebug.required_framework import required_framework

__all__ = ["KerasHook"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    with required_framework("smdebug.tensorflow", "keras"):
        hook_module = importlib.import_module(f"{__name__}.hook")
    return getattr(hook_module, name)
