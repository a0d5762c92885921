"""smdebug records tensors while a model trains, and tells you when something goes wrong.

Start with `smdebug.pytorch.Hook` to record a run and `smdebug.trials.create_trial` to read one.
Nothing is loaded before it is asked for: a process that only inherits the environment of
`smdebug run` pays nothing.
"""

import importlib

_WHERE = {
    "modes": ("smdebug._core", "ModeKeys"),
    "CollectionKeys": ("smdebug.collection", "CollectionKeys"),
    "ReductionConfig": ("smdebug.reduction_config", "ReductionConfig"),
    "SaveConfig": ("smdebug.save_config", "SaveConfig"),
    "SaveConfigMode": ("smdebug.save_config", "SaveConfigMode"),
    "__version__": ("smdebug._core", "version"),
}

__all__ = ["CollectionKeys", "ReductionConfig", "SaveConfig", "SaveConfigMode", "modes"]


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module 'smdebug' has no attribute '{name}'")
    module, attribute = _WHERE[name]
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_WHERE})
