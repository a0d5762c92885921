"""Trains a case of the zoo in the interpreter of another environment: this process provides the
data and settings, the other one the framework. The run is judged here, like all others."""

import json
import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Seconds; below the limit of a case, which would leave the interpreter running.
LIMIT = 600


def train(environment, script, description, arrays, out_dir):
    """Runs `script`, a file beside this one, with the interpreter of `.venv/<environment>`.

    Its arguments are the path of a JSON file with `description` (a dict), the path of a `.npz` file
    with `arrays` (name -> numpy array), and `out_dir`, where it writes the run. Returns the dict in
    its last line of output, which is JSON. Raises RuntimeError if it fails.
    """
    interpreter = ROOT / ".venv" / environment / "bin/python"
    if not interpreter.exists():
        raise RuntimeError(
            f"there is no {interpreter.relative_to(ROOT)}: make it with tools/venv {environment} "
            f"and tools/install_package {environment}"
        )
    said, data = pathlib.Path(f"{out_dir}.case.json"), pathlib.Path(f"{out_dir}.npz")
    said.write_text(json.dumps(description))
    np.savez(data, **arrays)
    command = [interpreter, pathlib.Path(__file__).with_name(script), said, data, out_dir]
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=LIMIT
    )
    if done.returncode:
        raise RuntimeError(f"{script} ended with {done.returncode}: {done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def given():
    """Returns the arguments that `train` passed to this script: the description, a dict of the
    arrays, and the folder for the run."""
    said, data, out_dir = sys.argv[1:]
    return json.loads(pathlib.Path(said).read_text()), dict(np.load(data)), out_dir
