"""Records a script that does not use smdebug.

`smdebug run` starts the script with the environment variable SMDEBUG_RUN. A `.pth` file then
imports this module in every process that the script starts. The module waits until a framework is
imported and then until a training begins (smdebug/<framework>/launch.py). A process where neither
happens has no further cost, and no failure here reaches the script.
"""

from __future__ import annotations

import os
import sys

from smdebug_ng import conflict

VARIABLE = "SMDEBUG_RUN"
REASON_FILE = "not_recorded.txt"
# module -> folder of its adapter
FRAMEWORKS = {
    "torch": "pytorch",
    "tensorflow": "tensorflow",
    "keras": "tensorflow",
    "xgboost": "xgboost",
    "mxnet": "mxnet",
}


def complain(reason: str) -> None:
    """Prints why the run is not recorded, and leaves the reason for the summary of `smdebug run`,
    which may come much later. Never raises, whatever state the process is in."""
    try:
        sys.stderr.write(f"smdebug: this run is not recorded: {reason}\n")
        sys.stderr.flush()
        _leave_reason(reason)
    except Exception:
        pass


def _leave_reason(reason: str) -> None:
    """Writes the first reason into the folder of the run; apps/cli/nothing_recorded.cc reads it."""
    import json

    folder = json.loads(os.environ[VARIABLE])["out_dir"]
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    file = os.open(os.path.join(folder, REASON_FILE), flags, 0o600)
    try:
        os.write(file, (" ".join(reason.split()) + "\n").encode("utf-8", "replace"))
    finally:
        os.close(file)


def complain_of(error: Exception) -> None:
    """Prints the error that keeps the run from being recorded. Never raises."""
    complain(f"{type(error).__name__}: {error}")


def _start(framework: str) -> None:
    try:
        import importlib
        import json

        launch = importlib.import_module(f"smdebug.{FRAMEWORKS[framework]}.launch")
        launch.watch(json.loads(os.environ[VARIABLE]))
    except Exception as error:
        complain_of(error)


def _watch_imports() -> None:
    from smdebug.import_watch import after_import

    for framework in FRAMEWORKS:
        after_import(framework, lambda name=framework: _start(name), complain)


if os.environ.get(VARIABLE):
    if _conflict := conflict():
        complain(_conflict)
    else:
        _watch_imports()
