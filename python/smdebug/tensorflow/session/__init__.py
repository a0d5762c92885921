"""`SessionHook`, `EstimatorHook` and what they are made of: graphs of TensorFlow 1.

The hooks are imported when they are first used, because modules of this package are also
imported one by one.
"""

import importlib

__all__ = ["EstimatorHook", "SessionHook"]


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(f"{__name__}.hook"), name)
