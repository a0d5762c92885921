"""Names that a script may have meant by one that does not exist."""

from __future__ import annotations

import difflib
import importlib.util
import sys
from collections.abc import Iterable
from typing import NoReturn

_HOOKS = (
    "smdebug.pytorch.Hook, smdebug.tensorflow.KerasHook, smdebug.tensorflow.SessionHook, "
    "smdebug.mxnet.Hook or smdebug.xgboost.Hook"
)
# Names that are looked for in a module that does not have them, and where they are.
_ELSEWHERE = {
    "Hook": _HOOKS,
    "get_hook": "get_hook of smdebug.pytorch, smdebug.tensorflow, smdebug.mxnet or smdebug.xgboost",
    "KerasHook": "smdebug.tensorflow.KerasHook",
    "SessionHook": "smdebug.tensorflow.SessionHook",
    "EstimatorHook": "smdebug.tensorflow.EstimatorHook",
    "Collection": "hook.get_collection(name), or Collection of smdebug.pytorch, "
    "smdebug.tensorflow, smdebug.mxnet or smdebug.xgboost",
    "CollectionManager": "hook.get_collection(name), or from smdebug.core.collection_manager "
    "import CollectionManager for a file",
    "create_trial": "from smdebug.trials import create_trial",
    "Trial": "from smdebug.trials import create_trial",
    "Rule": "from smdebug.rules import Rule",
    "builtin": "from smdebug.rules import builtin",
    "invoke_rule": "from smdebug.rules import invoke_rule",
}


def nearest_of(name: object, known: Iterable[str], nothing: str) -> str:
    """The end of a message about `name`: the names in `known` that are near to it, or all of them
    if none is; `nothing` if there are none."""
    names = list(known)
    nearest = difflib.get_close_matches(name, names, n=3) if isinstance(name, str) else []
    if nearest:
        return "the nearest names are " + ", ".join(map(repr, nearest))
    return "there are " + ", ".join(map(repr, names)) if names else nothing


def refuse_name(module: str, name: str, known: Iterable[str], hint: str = "") -> NoReturn:
    """Raises the error for a `name` that `module` does not have, from its `__getattr__`, with
    where the name is or the nearest of the `known` ones; `hint` replaces that."""
    hint = hint or (f"use {_ELSEWHERE[name]}" if name in _ELSEWHERE else _meant(name, known))
    # Asked by `from module import name`, which drops the text of an AttributeError and then looks
    # for a module of that name.
    asker = sys._getframe(2).f_globals.get("__name__", "")
    is_import = asker.endswith("importlib._bootstrap")
    if hint and is_import and not importlib.util.find_spec(f"{module}.{name}"):
        raise ImportError(f"cannot import '{name}' from '{module}'; {hint}", name=module)
    end = f"; {hint}" if hint else ""
    text = f"module '{module}' has no attribute '{name}'{end}"
    # Without a name, Python does not add a suggestion of its own.
    raise AttributeError(text, name=None if hint else name, obj=sys.modules.get(module))


def refuse_attribute_of(owner: object, name: str, hint: str = "") -> NoReturn:
    """Raises AttributeError for a `name` that `owner` does not have, with `hint`, or with the
    nearest public name that its class has."""
    hint = hint or _meant(name, (each for each in dir(type(owner)) if each[0] != "_"))
    end = f"; {hint}" if hint else ""
    text = f"'{type(owner).__name__}' object has no attribute '{name}'{end}"
    raise AttributeError(text, name=None if hint else name, obj=owner)


def _meant(name: str, known: Iterable[str]) -> str:
    """The nearest public name, as the end of a message; "" if none is near. Frameworks ask for
    private names to learn what a module or an object can do."""
    nearest = [] if name.startswith("_") else difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean '{nearest[0]}'?" if nearest else ""
