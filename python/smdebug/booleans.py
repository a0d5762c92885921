"""Booleans as scripts and command lines give them: words, numbers, anything truthy."""

from __future__ import annotations

from typing import Any

from smdebug.exceptions import SMDebugTypeError

# The words of the configuration files, in any case.
_TRUE = ("true", "t", "yes", "y", "on", "1")
_FALSE = ("false", "f", "no", "n", "off", "0")


def find_boolean(text: str) -> bool | None:
    """The boolean that a word stands for, or None for any other text."""
    word = text.strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None


def as_flag(field: str, value: Any) -> bool:
    """The truth of `value`. Text is true unless it is empty or a word such as "false" or "no".

    Raises SMDebugTypeError for an object that has no truth, such as an array of several elements.
    """
    try:
        word = find_boolean(value) if isinstance(value, str) else None
        return bool(value) if word is None else word
    except Exception as error:
        raise SMDebugTypeError(
            f"{field} must be True or False, found {type(value).__name__}: {error}"
        ) from None
