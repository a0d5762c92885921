"""`KerasHook` and what it is made of: models that Keras trains.

The hooks are imported when they are first used, because modules of this package are also
imported one by one.
"""

import importlib

__all__ = ["KerasHook"]


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(f"{__name__}.hook"), name)
