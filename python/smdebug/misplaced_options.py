"""Options of a hook that hold what another one takes, as after a forgotten keyword:
`Hook("runs/1", ["weights"])`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from smdebug._core import ModeKeys
from smdebug.booleans import as_flag, find_boolean
from smdebug.collection import Collection
from smdebug.exceptions import SMDebugTypeError
from smdebug.hook_arguments import shown
from smdebug.log import get_logger
from smdebug.reduction_config import ReductionConfig
from smdebug.save_config import SaveConfig, SaveConfigMode

if TYPE_CHECKING:
    from smdebug.hook_options import HookOptions

_logger = get_logger()
_LISTS = (list, tuple, set, frozenset)
_REGISTER = "register a model with the hook after you have made it"


def refuse_misplaced_options(options: HookOptions) -> None:
    """Raises SMDebugTypeError for the first option whose value is certainly meant for another
    one. `checked_flag` does so for flags."""
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if _is_config(value) and field.name != _owner_of(value):
            kind = type(value).__name__
            raise SMDebugTypeError(f"{field.name} takes no {kind}; {_remedy(value)}")
        elif field.name == "reduction_config" and _is_text(value):
            names = [value] if isinstance(value, str) else list(value)
            raise SMDebugTypeError(
                f"reduction_config must be a ReductionConfig, found {shown(value)}; did you mean "
                f"reduction_config=ReductionConfig(reductions={names!r})?"
            )
        elif field.name == "include_collections" and isinstance(value, _LISTS):
            for each in value:
                if isinstance(each, Collection):
                    raise SMDebugTypeError(f"include_collections takes names; {_remedy(each)}")
        elif field.name == "include_collections" and isinstance(value, dict):
            remedy = _remedy(value) or f"did you mean include_collections={list(value)!r}?"
            raise SMDebugTypeError(
                f"include_collections must be a list of names, found {shown(value)}; {remedy}"
            )
        elif field.name == "out_dir" and _is_model(value):
            raise SMDebugTypeError(f"out_dir must be a path, found {shown(value)}; {_REGISTER}")
        elif field.name in ("include_collections", "include_regex") and value is True:
            raise SMDebugTypeError(
                f"{field.name} must be a list of text, found True; did you mean save_all=True?"
            )


def checked_flag(field: str, value: Any) -> bool:
    """Returns the truth of an option. Raises SMDebugTypeError for a value that is certainly meant
    for another option, and for an object that has no truth. Text that is no word for a truth counts
    as true, with a warning."""
    if _is_no_flag(value):
        remedy = _remedy(value)
        hint = f"; {remedy}" if remedy else ""
        raise SMDebugTypeError(f"{field} must be True or False, found {shown(value)}{hint}")
    if isinstance(value, str) and value.strip() and find_boolean(value) is None:
        meant = "tensorboard_dir" if "/" in value else "include_collections"
        given = f"[{value!r}]" if meant == "include_collections" else repr(value)
        _logger.warning("%s=%r counts as True; did you mean %s=%s?", field, value, meant, given)
    return as_flag(field, value)


def _is_no_flag(value: Any) -> bool:
    """Whether a value is certainly meant for another option. Scripts pass flags as lists of words,
    such as ["true"]."""
    if isinstance(value, _LISTS):
        return any(isinstance(each, str) and find_boolean(each) is None for each in value)
    return isinstance(value, dict) or _is_config(value) or callable(value)


def _is_text(value: Any) -> bool:
    """Whether `value` is text or a list of texts."""
    names = [value] if isinstance(value, str) else value if isinstance(value, _LISTS) else []
    return bool(names) and all(isinstance(each, str) for each in names)


def _is_config(value: object) -> bool:
    return isinstance(value, (SaveConfig, SaveConfigMode, ReductionConfig, Collection))


def _owner_of(value: object) -> str:
    """The option that takes a configuration object; "" for a collection."""
    if isinstance(value, (SaveConfig, SaveConfigMode)):
        return "save_config"
    return "reduction_config" if isinstance(value, ReductionConfig) else ""


def _remedy(value: Any) -> str:
    """What to do with a value that is not meant for the option that has it; "" if unknown."""
    if isinstance(value, Collection):
        return (
            f"call hook.add_collection with it, and name it in include_collections=[{value.name!r}]"
        )
    if _is_config(value):
        return f"did you mean {_owner_of(value)}={type(value).__name__}(...)?"
    if isinstance(value, dict):
        is_of_modes = any(isinstance(key, ModeKeys) for key in value)
        return f"did you mean save_config={shown(value)}?" if is_of_modes else ""
    if isinstance(value, _LISTS):
        options = f"include_collections={shown(value)}, or include_regex for patterns"
        return f"did you mean {options}?" if _is_text(value) else ""
    return _REGISTER if _is_model(value) else ""


def _is_model(value: Any) -> bool:
    names = ("parameters", "collect_params", "trainable_weights")
    return any(hasattr(value, name) for name in names)
