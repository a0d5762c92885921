"""Records a script that does not use smdebug.

`smdebug run` starts the script with the environment variable SMDEBUG_RUN. A `.pth` file then
imports this module in every process that the script starts. The module waits until a framework is
imported and then until a training begins (smdebug/<framework>/launch.py). A process where neither
happens has no further cost, and no failure here reaches the script.
"""

from __future__ import annotations

import os
import sys

# Not imported: `typing` costs milliseconds in every process. Type checkers know the name.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

VARIABLE = "SMDEBUG_RUN"
# module -> folder of its adapter
FRAMEWORKS = {
    "torch": "pytorch",
    "tensorflow": "tensorflow",
    "keras": "tensorflow",
    "xgboost": "xgboost",
    "mxnet": "mxnet",
}


def complain(reason: str) -> None:
    """Prints why the run is not recorded. Never raises, whatever state the process is in."""
    try:
        sys.stderr.write(f"smdebug: this run is not recorded: {reason}\n")
        sys.stderr.flush()
    except Exception:
        pass


class ImportWatcher:
    """A finder that is first on sys.meta_path until `framework` is imported."""

    def __init__(self, framework: str) -> None:
        self._framework = framework

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of the framework, which starts the launch once it is imported; None for any
        other module."""
        if name != self._framework:
            return None
        sys.meta_path.remove(self)
        import importlib.util

        spec = importlib.util.find_spec(name)
        try:
            if spec is not None and spec.loader is not None:
                self._follow(spec.loader)
        except Exception as error:
            complain(f"the import of {name} cannot be observed: {error!r}")
        return spec

    def _follow(self, loader: Loader) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _start(self._framework)

        loader.exec_module = exec_module


def _start(framework: str) -> None:
    try:
        import importlib
        import json

        launch = importlib.import_module(f"smdebug.{FRAMEWORKS[framework]}.launch")
        launch.watch(json.loads(os.environ[VARIABLE]))
    except Exception as error:
        complain(repr(error))


def _watch_imports() -> None:
    for framework in FRAMEWORKS:
        if framework in sys.modules:
            _start(framework)
        else:
            sys.meta_path.insert(0, ImportWatcher(framework))


if os.environ.get(VARIABLE):
    _watch_imports()
