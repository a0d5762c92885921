"""`required_framework`: explains the import of an adapter whose framework is not installed."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class _Framework(NamedTuple):
    name: str
    package: str  # what to install


_FRAMEWORKS = {
    "torch": _Framework("PyTorch", "torch"),
    "tensorflow": _Framework("TensorFlow", "tensorflow"),
    "keras": _Framework("Keras", "tensorflow"),
    "mxnet": _Framework("MXNet", "mxnet==1.9.1"),
    "xgboost": _Framework("XGBoost", "xgboost"),
}
_ADAPTERS = ("smdebug.pytorch", "smdebug.tensorflow", "smdebug.mxnet", "smdebug.xgboost")


@contextmanager
def required_framework(adapter: str, framework: str) -> Iterator[None]:
    """A context for the imports of `adapter`, entered when `framework` is imported: the recording
    of `smdebug run` begins at that moment and imports modules of the adapter, of which none may be
    half imported. If a framework is not installed, raises a ModuleNotFoundError that names the
    package to install."""
    try:
        importlib.import_module(framework)
        yield
    except ModuleNotFoundError as error:
        if error.name not in _FRAMEWORKS:
            raise
        name, package = _FRAMEWORKS[error.name]
        others = ", ".join(each for each in _ADAPTERS if each != adapter)
        raise ModuleNotFoundError(
            f"{adapter} records trainings with {name}, which is not installed: run "
            f"pip install {package}, or import the adapter of the framework that you use "
            f"({others}). To read a run, no framework is needed: import smdebug.trials",
            name=error.name,
        ) from error
