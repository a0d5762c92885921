"""smdebug records tensors while a model trains and reports what goes wrong.

Start with `smdebug.pytorch.Hook` to record a run and `smdebug.trials.create_trial` to read one.
Names load on first use, so that a process that only inherits the environment of `smdebug run`
starts as fast as without it.
"""

from __future__ import annotations

import importlib
import os
import sys

from smdebug_ng import conflict

# Not imported: every process that inherits the environment of `smdebug run` loads this file, and
# `typing` costs milliseconds. Type checkers know the name.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from smdebug._core import ModeKeys as modes
    from smdebug.collection import CollectionKeys
    from smdebug.reduction_config import ReductionConfig
    from smdebug.save_config import SaveConfig, SaveConfigMode

    __version__: str

_WHERE = {
    "modes": ("smdebug._core", "ModeKeys"),
    "CollectionKeys": ("smdebug.collection", "CollectionKeys"),
    "ReductionConfig": ("smdebug.reduction_config", "ReductionConfig"),
    "SaveConfig": ("smdebug.save_config", "SaveConfig"),
    "SaveConfigMode": ("smdebug.save_config", "SaveConfigMode"),
    "__version__": ("smdebug._core", "version"),
}

__all__ = ["CollectionKeys", "ReductionConfig", "SaveConfig", "SaveConfigMode", "modes"]


# In a process of `smdebug run`, autostart.py reports it.
if "SMDEBUG_RUN" not in os.environ and (_conflict := conflict()):
    print("smdebug: warning:", _conflict, file=sys.stderr)


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        from smdebug.near_names import refuse_name

        refuse_name(__name__, name, __all__)
    module, attribute = _WHERE[name]
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
