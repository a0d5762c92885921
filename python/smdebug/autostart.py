"""Recording a script that does not know of smdebug.

`smdebug run` starts the script with the environment variable SMDEBUG_RUN; a `.pth` file imports
this module then, in every process that the script starts. It waits for a framework to be imported
and for a training with it (smdebug/<framework>/launch.py); a process where neither happens pays for
nothing, and no failure here ever reaches the script.
"""

import os
import sys

VARIABLE = "SMDEBUG_RUN"
# module -> folder of its adapter
FRAMEWORKS = {
    "torch": "pytorch",
    "tensorflow": "tensorflow",
    "keras": "tensorflow",
    "xgboost": "xgboost",
    "mxnet": "mxnet",
}


def complain(what):
    """One line to the user, whatever state the process is in."""
    try:
        sys.stderr.write(f"smdebug: this run is not recorded: {what}\n")
        sys.stderr.flush()
    except Exception:
        pass


class ImportWatcher:
    """Stands first on sys.meta_path until a framework is imported."""

    def __init__(self, framework):
        self._framework = framework

    def find_spec(self, name, path=None, target=None):
        if name != self._framework:
            return None
        sys.meta_path.remove(self)
        import importlib.util

        spec = importlib.util.find_spec(name)
        try:
            if spec is not None:
                self._follow(spec.loader)
        except Exception as error:
            complain(f"{name} cannot be followed: {error!r}")
        return spec

    def _follow(self, loader):
        execute = loader.exec_module

        def exec_module(module):
            execute(module)
            _start(self._framework)

        loader.exec_module = exec_module


def _start(framework):
    try:
        import importlib
        import json

        launch = importlib.import_module(f"smdebug.{FRAMEWORKS[framework]}.launch")
        launch.watch(json.loads(os.environ[VARIABLE]))
    except Exception as error:
        complain(repr(error))


if os.environ.get(VARIABLE):
    for each in FRAMEWORKS:
        if each in sys.modules:
            _start(each)
        else:
            sys.meta_path.insert(0, ImportWatcher(each))
