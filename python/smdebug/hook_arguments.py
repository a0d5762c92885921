"""Checks of the arguments of hooks: each function returns its argument as the core takes it.

They raise SMDebugTypeError for a wrong type, SMDebugValueError for an invalid value and
SMDebugRuntimeError for a missing `out_dir`, as the original does. The message names what was
expected and what was found.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterable
from typing import Any

from smdebug.collection import Collection
from smdebug.exceptions import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError
from smdebug.log import get_logger

_logger = get_logger()


def checked_path(out_dir: str | os.PathLike[str] | None) -> str:
    """Returns the path of a run as text; it must not be empty."""
    if out_dir is None:
        raise SMDebugRuntimeError("out_dir is missing: name the folder to write the run to")
    if not isinstance(out_dir, (str, os.PathLike)):
        raise SMDebugTypeError(f"out_dir must be a path, found {shown(out_dir)}")
    if not os.fspath(out_dir):
        raise SMDebugValueError("out_dir is empty: name the folder to write the run to")
    path = os.fspath(out_dir)
    if os.path.expandvars(path) != path:
        text = "out_dir %r: variables are not replaced; pass os.path.expandvars(out_dir)"
        _logger.warning(text, path)
    return path


def checked_tensorboard_dir(tensorboard_dir: str | os.PathLike[str] | None) -> str | None:
    """Returns the path as text; None for the default folder."""
    if tensorboard_dir is None:
        return None
    if not isinstance(tensorboard_dir, (str, os.PathLike)):
        raise SMDebugTypeError(f"tensorboard_dir must be a path, found {shown(tensorboard_dir)}")
    path = os.fspath(tensorboard_dir)
    if not isinstance(path, str) or not path:
        raise SMDebugValueError(
            f"tensorboard_dir names no folder, found {path!r}; leave it out for the default"
        )
    return path


def checked_choice(field: str, value: str, choices: tuple[str, ...]) -> str:
    """Returns `value` if it is one of `choices`."""
    if value not in choices:
        known = " or ".join(map(repr, choices))
        raise SMDebugValueError(f"{field} must be {known}, found {shown(value)}")
    return value


def wrong_mode(mode: object) -> str:
    """Returns the message for a mode that is not one of smdebug.modes."""
    known = "modes.TRAIN, modes.EVAL, modes.PREDICT or modes.GLOBAL"
    return f"mode must be one of smdebug.modes, {known}, found {shown(mode)}"


def checked_count(field: str, value: int, least: int, unit: str = "") -> int:
    """Returns a whole number of at least `least` that fits into 64 bits. `unit` is for messages,
    such as " of bytes"."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise SMDebugTypeError(f"{field} must be a whole number{unit}, found {shown(value)}")
    if not least <= value < 2**63:
        raise SMDebugValueError(f"{field} must be {least} or more, found {value}")
    return value


def checked_name(field: str, value: str) -> str:
    """Returns `value`, which must be text, as `encodable` writes it."""
    if not isinstance(value, str):
        raise SMDebugTypeError(f"{field} must be text, found {shown(value)}")
    return encodable(value)


def encodable(name: str) -> str:
    r"""Returns `name` as files can hold it: half of a surrogate pair becomes text, such as
    "\udc80"."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()


def checked_names(field: str, value: str | Iterable[Any] | None) -> list[str]:
    """Returns a flat list of names from one name or from lists of names at any depth."""
    if value is not None and not isinstance(value, Iterable):
        raise SMDebugTypeError(f"{field} must be a list of names, found {shown(value)}")
    names: list[str] = []
    for item in [value] if isinstance(value, str) else value or []:
        if isinstance(item, (list, tuple, set)):
            names.extend(checked_names(field, item))
        elif isinstance(item, str):
            names.append(item)
        else:
            raise SMDebugTypeError(f"{field} must be a list of names, found {shown(item)} in it")
    return names


def checked_collection_names(
    collections: str | Collection | Iterable[str | Collection],
) -> list[str]:
    """Returns the names of one collection, or of a list, tuple or set of them."""
    names: list[str] = []
    for each in collections if isinstance(collections, (list, tuple, set)) else [collections]:
        if not isinstance(each, (str, Collection)):
            raise SMDebugTypeError(
                f"collections_to_write must be collections or their names, found {shown(each)}"
            )
        names.append(encodable(each) if isinstance(each, str) else each.name)
    return names


def pattern_hint(patterns: object) -> str:
    """The text to pass in place of a compiled pattern, one or one in a list; "" if there is
    none."""
    given = patterns if isinstance(patterns, (list, tuple, set)) else [patterns]
    for each in given:
        if isinstance(each, re.Pattern) and isinstance(each.pattern, str):
            letters = "".join(
                letter for letter in "imsx" if each.flags & getattr(re, letter.upper())
            )
            text = f"(?{letters}){each.pattern}" if letters else each.pattern
            return f"; pass the text of a compiled pattern: {text!r}"
    return ""


def shown(value: object) -> str:
    """Returns `value` for a message: its repr if that is one short line, else its type. Of a
    framework's tensor it is the type and the shape: the elements may be on a device or freed, and
    a process that reads freed ones ends. Never raises."""
    kind = type(value)
    try:
        text = "" if _may_have_tensors(value) else repr(value)
        shape = f" and shape {tuple(value.shape)}" if _is_tensor(value) else ""  # type: ignore[attr-defined]
    except Exception:
        text = shape = ""
    if text and "\n" not in text and len(text) <= 100:
        return text
    return f"an object of type {kind.__module__}.{kind.__qualname__}{shape}"


def name_hint(value: object, part: str, wanted: type = object) -> str:
    """Returns the end of a message that refused `value`, if it is the name of the `part` that is
    meant, in which `{}` stands for it; otherwise as `class_hint`."""
    if isinstance(value, str):
        return f"; pass {part.format(repr(value))}"
    return class_hint(value, wanted)


def class_hint(value: object, wanted: type = object) -> str:
    """Returns the end of a message that refused `value`, if it is a class whose objects are
    `wanted`; empty for anything else."""
    if inspect.isclass(value) and issubclass(value, wanted):
        return f"; pass an object of it, {value.__name__}(...)"
    return ""


def class_of(value: object) -> type:
    """Returns `value` if it is a class, otherwise its class."""
    return value if inspect.isclass(value) else type(value)


def _may_have_tensors(value: object, depth: int = 0) -> bool:
    """Whether a tensor is in `value`, a container or a single object."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple, set)):
        return depth == 8 or any(_may_have_tensors(each, depth + 1) for each in value)
    return _is_tensor(value)


def _is_tensor(value: object) -> bool:
    """Whether `value` is an array of another library than numpy, whose elements can be read."""
    kind = type(value)
    has_elements = hasattr(kind, "__dlpack__") or hasattr(kind, "__array__")
    return has_elements and kind.__module__.partition(".")[0] != "numpy"
