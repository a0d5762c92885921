"""Checks the arguments of trials and tensors: modes, steps, ranges of steps, names."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Sequence
from typing import Any

from smdebug._core import ModeKeys
from smdebug.exceptions import InvalidWorker, SMDebugTypeError, SMDebugValueError
from smdebug.hook_arguments import pattern_hint, shown, wrong_mode

_LARGEST_STEP = 2**63 - 1


class InvalidRange(SMDebugValueError, AssertionError):
    """`range_steps` is no range. Also an AssertionError, which the original raises."""


def checked_path(path: Any) -> str:
    """`path`, of a run, as text without blanks around it. Raises SMDebugTypeError if it is not a
    path of text and SMDebugValueError if it is empty."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise SMDebugTypeError(
            f"path must be the path of a run, as text or a pathlib.Path, found {shown(path)}"
        )
    if not text.strip():
        raise SMDebugValueError("create_trial needs the path of a run, found an empty one")
    return text.strip()


def checked_mode(mode: Any) -> ModeKeys:
    """`mode`, or GLOBAL for None. Raises SMDebugValueError if it is not one of `smdebug.modes`."""
    if mode is None:
        return ModeKeys.GLOBAL
    if not isinstance(mode, ModeKeys):
        raise SMDebugValueError(wrong_mode(mode))
    return mode


def checked_step(step: Any, field: str = "a step") -> int:
    """`step`, a whole number of any library, as an int. Raises SMDebugTypeError for other types
    and SMDebugValueError for a number of more than 63 bits; `field` names it in the message."""
    try:
        number = operator.index(step)
    except TypeError:
        raise SMDebugTypeError(f"{field} is a whole number, found {shown(step)}") from None
    if abs(number) > _LARGEST_STEP:
        raise SMDebugValueError(f"{field} has at most 63 bits, found {number}")
    return number


def checked_steps(steps: Any) -> list[int]:
    """`steps` as a list. Raises as `checked_step`, and SMDebugTypeError for a single step."""
    try:
        all_steps = list(steps)
    except TypeError:
        raise SMDebugTypeError(f"required_steps is a list of steps, found {steps!r}") from None
    return [checked_step(step) for step in all_steps]


def checked_timeout(timeout: Any) -> float | None:
    """`timeout`, a number of seconds. Raises SMDebugTypeError for anything but a number or None,
    and SMDebugValueError for a negative number or NaN."""
    if timeout is None:
        return None
    try:
        seconds = float(timeout) if not isinstance(timeout, (str, bytes)) else None
    except (TypeError, ValueError):
        seconds = None
    if seconds is None:
        raise SMDebugTypeError(f"timeout is a number of seconds or None, found {timeout!r}")
    if not seconds >= 0:
        raise SMDebugValueError(f"timeout is a number of seconds from 0, found {timeout!r}")
    return seconds


def checked_query(step: Any, mode: Any, worker: Any) -> tuple[int, ModeKeys, str | None]:
    """(step, mode, worker), each checked. Raises InvalidWorker for a worker that is not text."""
    if worker is not None and not isinstance(worker, str):
        error = InvalidWorker(worker)
        error.full_message = (
            f"worker is the name of a worker such as 'worker_0', found {shown(worker)}"
        )
        raise error
    if isinstance(step, ModeKeys):
        raise SMDebugTypeError(
            f"the step comes first, then the mode, found ({step}, {shown(mode)}); use "
            f"({shown(mode)}, modes.{step.name})"
        )
    return checked_step(step), checked_mode(mode), worker


def checked_mode_of_all(mode: Any, method: str, of_one_step: str) -> ModeKeys:
    """`checked_mode(mode)` of a method that takes no step, and `of_one_step`, which does. Raises
    SMDebugValueError for a step too."""
    if isinstance(mode, int) and not isinstance(mode, ModeKeys):
        raise SMDebugValueError(
            f"{wrong_mode(mode)}; {method}() takes no step: use {of_one_step}({mode})"
        )
    return checked_mode(mode)


def checked_range(range_steps: Any) -> tuple[int | None, int | None]:
    """(first, end) of `range_steps`; either may be None. Raises SMDebugTypeError for text and
    InvalidRange for an invalid range."""
    if range_steps is None:
        return None, None
    if isinstance(range_steps, (str, bytes)):
        raise SMDebugTypeError(
            f"range_steps must be a pair of steps such as (0, 100), found {range_steps!r}"
        )
    if not isinstance(range_steps, (tuple, list)) or len(range_steps) != 2:
        raise InvalidRange(
            f"range_steps is a pair (first, end) such as (0, 100), found {range_steps!r}"
        )
    first, end = range_steps
    for bound in (first, end):
        if bound is not None and (not isinstance(bound, int) or bound < 0):
            raise InvalidRange(
                f"range_steps takes whole numbers of 0 or more, found {range_steps!r}"
            )
    if end is not None and end <= (first or 0):
        raise InvalidRange(f"range_steps must not be empty, found {range_steps!r}")
    return first, end


def checked_name(name: Any) -> str:
    """`name`, of a tensor. Raises SMDebugTypeError if it is not text."""
    if not isinstance(name, str):
        raise SMDebugTypeError(f"a tensor's name is text, found {name!r}")
    return name


def checked_patterns(regex: str | Sequence[str] | None) -> list[str]:
    """`regex` as a list of patterns. Raises SMDebugTypeError for one that is not text."""
    if regex is not None and not isinstance(regex, Iterable):
        raise SMDebugTypeError(
            f"a regex is text or a list of texts, found {shown(regex)}{pattern_hint(regex)}"
        )
    patterns = [regex] if isinstance(regex, str) else list(regex or ())
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise SMDebugTypeError(
                f"a regex is text, found {shown(pattern)}{pattern_hint(pattern)}"
            )
    return patterns
