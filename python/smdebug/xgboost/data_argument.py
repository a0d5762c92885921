"""`DataArgument`: the rows that a hook is given to explain and to predict."""

import os

import xgboost

from smdebug.exceptions import SMDebugTypeError, SMDebugValueError

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
    """A DMatrix (of any kind), or a pair (path, content type) that is read when it is first
    needed. `csv` has the label in its first column and no header; `libsvm` is that format.

    Raises SMDebugTypeError for anything else, SMDebugValueError for an unknown content type and a
    path where nothing is.
    """

    def __init__(self, name, value):
        self.given = value
        self._matrix = None
        self._uri = None
        if isinstance(value, xgboost.DMatrix):
            self._matrix = value
        elif isinstance(value, (tuple, list)) and len(value) == 2:
            self._uri = _uri(name, *value)
        else:
            raise SMDebugTypeError(
                f"{name} must be a DMatrix or a pair (path, content type), found {value!r}"
            )

    def matrix(self):
        """The DMatrix. Raises what reading the file raises."""
        if self._matrix is None:
            self._matrix = xgboost.DMatrix(self._uri)
        return self._matrix


def _uri(name, path, content_type):
    if not isinstance(path, (str, os.PathLike)) or not isinstance(content_type, str):
        raise SMDebugTypeError(
            f"{name} must be a DMatrix or a pair (path, content type), "
            f"found {(path, content_type)!r}"
        )
    kind = _CONTENT_TYPES.get(content_type.partition(";")[0].strip().lower())
    if kind is None:
        known = ", ".join(repr(each) for each in _CONTENT_TYPES)
        raise SMDebugValueError(
            f"the content type of {name} must be one of {known}, found {content_type!r}"
        )
    if not os.path.exists(path):
        raise SMDebugValueError(f"{name} is to be read from {os.fspath(path)!r}: nothing is there")
    return f"{os.fspath(path)}?{_FORMATS[kind]}"
