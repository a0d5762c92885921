"""`DataArgument`: the rows of a hook's `train_data` or `validation_data`."""

from __future__ import annotations

import os
from typing import Any

import xgboost

from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.hook_arguments import shown

_FORMATS = {
    "csv": "format=csv&label_column=0",
    "libsvm": "format=libsvm",
}
_CONTENT_TYPES = {
    "csv": "csv",
    "text/csv": "csv",
    "libsvm": "libsvm",
    "text/libsvm": "libsvm",
    "text/x-libsvm": "libsvm",
}


class DataArgument:
    """A DMatrix of any type, or a pair (path, content type).

    A file is read when its rows are first needed. `csv` has the label in its first column and no
    header; `libsvm` is the format of that name. `given` is the value as the user passed it.

    Raises SMDebugTypeError for any other value, SMDebugValueError for an unknown content type or a
    path that does not exist. `name` is the argument's name in messages.
    """

    def __init__(self, name: str, value: Any) -> None:
        self.given = value
        self._matrix: xgboost.DMatrix | None = None
        self._uri: str | None = None
        if isinstance(value, xgboost.DMatrix):
            self._matrix = value
        elif isinstance(value, (tuple, list)) and len(value) == 2:
            self._uri = _uri(name, *value)
        else:
            raise SMDebugTypeError(
                f"{name} must be a DMatrix or a pair (path, content type), found {_shown(value)}; "
                "use xgboost.DMatrix(X, label=y)"
            )

    def matrix(self) -> xgboost.DMatrix:
        """Returns the rows. The first call reads the file and raises XGBoost's errors."""
        if self._matrix is None:
            self._matrix = xgboost.DMatrix(self._uri)
        return self._matrix


def _shown(value: object) -> str:
    shape = getattr(value, "shape", None)
    return (
        shown(value)
        if shape is None
        else f"an object of type {type(value).__name__} and shape {tuple(shape)}"
    )


def _uri(name: str, path: Any, content_type: Any) -> str:
    """Returns the address by which XGBoost reads a file of that type."""
    if not isinstance(path, (str, os.PathLike)) or not isinstance(content_type, str):
        raise SMDebugTypeError(
            f"{name} must be a DMatrix or a pair (path, content type), "
            f"found {shown((path, content_type))}"
        )
    kind = _CONTENT_TYPES.get(content_type.partition(";")[0].strip().lower())
    if kind is None:
        known = ", ".join(repr(each) for each in _CONTENT_TYPES)
        raise SMDebugValueError(
            f"the content type of {name} must be one of {known}, found {shown(content_type)}"
        )
    if not os.path.exists(path):
        raise SMDebugValueError(f"{name} names the file {os.fspath(path)!r}, which does not exist")
    return f"{os.fspath(path)}?{_FORMATS[kind]}"
