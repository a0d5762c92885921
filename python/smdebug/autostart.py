"""Recording a script that does not know of smdebug.

`smdebug run` starts the script with the environment variable SMDEBUG_RUN; a `.pth` file imports
this module then, in every process that the script starts. It waits for torch to be imported and
for a model to be called (smdebug/pytorch/launch.py); a process where neither happens pays for
nothing, and no failure here ever reaches the script.
"""

import os
import sys

VARIABLE = "SMDEBUG_RUN"


def complain(what):
    """One line to the user, whatever state the process is in."""
    try:
        sys.stderr.write(f"smdebug: this run is not recorded: {what}\n")
        sys.stderr.flush()
    except Exception:
        pass


class TorchWatcher:
    """Stands first on sys.meta_path until torch is imported."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        import importlib.util

        spec = importlib.util.find_spec("torch")
        try:
            if spec is not None:
                self._follow(spec.loader)
        except Exception as error:
            complain(f"torch cannot be followed: {error!r}")
        return spec

    def _follow(self, loader):
        execute = loader.exec_module

        def exec_module(module):
            execute(module)
            _start()

        loader.exec_module = exec_module


def _start():
    try:
        import json

        from smdebug.pytorch import launch

        launch.watch(json.loads(os.environ[VARIABLE]))
    except Exception as error:
        complain(repr(error))


if os.environ.get(VARIABLE):
    if "torch" in sys.modules:
        _start()
    else:
        sys.meta_path.insert(0, TorchWatcher())
