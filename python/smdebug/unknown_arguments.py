"""The message for a keyword argument that does not exist."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from smdebug.exceptions import SMDebugTypeError

SAVE_CONFIG_ARGUMENTS = ("save_interval", "start_step", "end_step", "save_steps")

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)


def refuse_unknown_arguments(taker: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises SMDebugTypeError for the first of `given` that is not in `known`, the arguments of
    `taker`, with the nearest ones, or with all of them if none is near."""
    names = list(known)
    for name in given:
        if name in names:
            continue
        of_config = difflib.get_close_matches(name, SAVE_CONFIG_ARGUMENTS, n=1, cutoff=0.8)
        if of_config and "save_config" in names:
            raise SMDebugTypeError(
                f"{taker} has no argument '{name}'; "
                f"did you mean 'save_config=SaveConfig({of_config[0]}=...)'?"
            )
        nearest = difflib.get_close_matches(name, names, n=1) or [
            each for each in names if name in each.split("_")
        ]
        hint = f"did you mean '{nearest[0]}'?" if nearest else f"it takes {', '.join(names)}"
        raise SMDebugTypeError(f"{taker} has no argument '{name}'; {hint}")


# What to pass for an argument that is missing.
_REMEDIES = {
    "step_num": ", one of those that steps() returns; values() returns the values at all steps",
    "step": ", one of those that steps() returns",
    "tname": ", one of those that tensor_names() returns",
}


def with_known_arguments(function: Function) -> Function:
    """Decorates a function that users call: a keyword argument that it does not have raises as in
    `refuse_unknown_arguments`, and one that it needs and does not get raises SMDebugTypeError."""
    parameters = inspect.signature(function).parameters
    known = [name for name in parameters if name != "self"]
    needed = [
        name
        for name, each in parameters.items()
        if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
    ]

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if kwargs and not parameters.keys() >= kwargs.keys():
            refuse_unknown_arguments(function.__name__, kwargs, known)
        if len(args) < len(needed):
            _refuse_missing(function.__name__, needed[len(args) :], kwargs)
        return function(*args, **kwargs)

    return cast(Function, checked)


def _refuse_missing(taker: str, needed: Iterable[str], given: Iterable[str]) -> None:
    """Raises SMDebugTypeError for the first of `needed` that is not in `given`."""
    for name in needed:
        if name not in given:
            remedy = _REMEDIES.get(name, "")
            raise SMDebugTypeError(f"{taker} needs the argument '{name}'{remedy}")


def methods_with_known_arguments(cls: Class) -> Class:
    """Decorates the public methods of a class with `with_known_arguments`."""
    for name, member in list(vars(cls).items()):
        if inspect.isfunction(member) and not name.startswith("_"):
            setattr(cls, name, with_known_arguments(member))
    return cls
