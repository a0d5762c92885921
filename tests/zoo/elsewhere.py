"""Trains cases of the zoo in the interpreter of another environment: this process provides the data
and settings, the other one the framework.

Importing a framework takes longer than any case, so an interpreter is started once and forks for
each training.
"""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Seconds; below the limit of a case, which would leave the process running.
LIMIT = 600
_sockets = {}  # environment -> path of the socket of its interpreter


@contextlib.contextmanager
def interpreters(scripts):
    """Within the context, interpreters run `scripts` (environment -> file beside this one), which
    call `serve`. Raises RuntimeError if an environment is missing."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        for environment, script in scripts.items():
            interpreter = ROOT / ".venv" / environment / "bin/python"
            if not interpreter.exists():
                raise RuntimeError(
                    f"there is no {interpreter.relative_to(ROOT)}: make it with tools/venv "
                    f"{environment} and tools/install_package {environment}"
                )
            _sockets[environment] = f"{folder}/{environment}"
            # It listens before it imports anything, and serves until its input ends.
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(_sockets[environment])
                listening.listen(16)
                process = subprocess.Popen(
                    [
                        interpreter,
                        pathlib.Path(__file__).with_name(script),
                        str(listening.fileno()),
                    ],
                    pass_fds=[listening.fileno()],
                )
            stack.callback(_end, process)
        yield


def _end(process):
    process.terminate()
    process.wait()


def train(environment, description, arrays, request):
    """Trains in the interpreter of `.venv/<environment>`, recorded by the `smdebug run` of
    `request`. Its `train` gets `description`, a dict, and `arrays`: name -> numpy array. Returns
    what that returns. Raises RuntimeError if it fails."""
    with tempfile.NamedTemporaryFile(suffix=".npz") as data:
        np.savez(data, **arrays)
        data.flush()
        with socket.socket(socket.AF_UNIX) as talking:
            talking.settimeout(LIMIT)
            talking.connect(_sockets[environment])
            with talking.makefile("rw") as lines:
                lines.write(json.dumps([description, data.name, request]) + "\n")
                lines.flush()
                said = lines.readline()
    answer, error = json.loads(said) if said else (None, "its process ended")
    if error:
        raise RuntimeError(f"{environment}: {error}")
    return answer


def serve(function):
    """Serves the socket that is this script's argument: for each request, a fork of this process
    returns what `function(description, arrays)` returns."""
    listening = socket.socket(fileno=int(sys.argv[1]))
    while True:
        talking, _ = listening.accept()
        if os.fork():
            talking.close()
            _reap()
        else:
            listening.close()
            _answer(talking, function)


def _reap():
    """Forgets the forks that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _answer(talking, function):
    import traceback

    import recording

    with talking.makefile("rw") as lines:
        try:
            description, data, request = json.loads(lines.readline())
            recording.start(request)
            with np.load(data) as arrays:
                answer = [function(description, dict(arrays)), None]
        except Exception:
            answer = [None, traceback.format_exc()]
        recording.end()
        lines.write(json.dumps(answer) + "\n")
    os._exit(0)
