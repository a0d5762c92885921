"""`required_framework`: explains the import of an adapter whose framework is not installed."""

from __future__ import annotations

from types import TracebackType
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


class required_framework:
    """A context for the imports of `adapter`. If one of them needs a framework that is not
    installed, raises a ModuleNotFoundError that names the package to install."""

    def __init__(self, adapter: str) -> None:
        self._adapter = adapter

    def __enter__(self) -> None:
        """Starts to watch the imports."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Raises ModuleNotFoundError in place of one for a framework."""
        if not isinstance(error, ModuleNotFoundError) or error.name not in _FRAMEWORKS:
            return
        name, package = _FRAMEWORKS[error.name]
        others = ", ".join(each for each in _ADAPTERS if each != self._adapter)
        raise ModuleNotFoundError(
            f"{self._adapter} records trainings with {name}, which is not installed: run "
            f"pip install {package}, or import the adapter of the framework that you use "
            f"({others}). To read a run, no framework is needed: import smdebug.trials",
            name=error.name,
        ) from error
