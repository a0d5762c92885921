"""smdebug records tensors while a model trains and reports what goes wrong.

Start with `smdebug.pytorch.Hook` to record a run and `smdebug.trials.create_trial` to read one.
Names load on first use, so that a process that only inherits the environment of `smdebug run`
starts as fast as without it.
"""

from __future__ import annotations

import importlib
import sys

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


_HOOKS = (
    "smdebug.pytorch.Hook, smdebug.tensorflow.KerasHook, smdebug.tensorflow.SessionHook, "
    "smdebug.mxnet.Hook or smdebug.xgboost.Hook"
)
# Names that are looked for here, and where they are.
_ELSEWHERE = {
    "Hook": _HOOKS,
    "get_hook": "get_hook of smdebug.pytorch, smdebug.tensorflow, smdebug.mxnet or smdebug.xgboost",
    "KerasHook": "smdebug.tensorflow.KerasHook",
    "SessionHook": "smdebug.tensorflow.SessionHook",
    "EstimatorHook": "smdebug.tensorflow.EstimatorHook",
    "Collection": "hook.get_collection(name), or Collection of smdebug.pytorch, "
    "smdebug.tensorflow, smdebug.mxnet or smdebug.xgboost",
    "create_trial": "from smdebug.trials import create_trial",
    "Trial": "from smdebug.trials import create_trial",
    "Rule": "from smdebug.rules import Rule",
    "builtin": "from smdebug.rules import builtin",
    "invoke_rule": "from smdebug.rules import invoke_rule",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        hint = f"; use {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
        # Asked by `from smdebug import name`, which drops the text of an AttributeError.
        is_import = sys._getframe(1).f_globals.get("__name__", "").endswith("importlib._bootstrap")
        if hint and is_import:
            raise ImportError(f"cannot import '{name}' from 'smdebug'{hint}", name="smdebug")
        raise AttributeError(f"module 'smdebug' has no attribute '{name}'{hint}")
    module, attribute = _WHERE[name]
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
