"""Trains a case of the zoo in the interpreter of another environment: what is learned and how is
said here, the framework is there. The run is judged here, as every other."""

import json
import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Seconds; below the limit of a case, which would leave the interpreter behind.
LIMIT = 600


def train(environment, script, description, arrays, out_dir):
    """Runs `script`, a file beside this one, with the interpreter of `.venv/<environment>`.

    It is given the path of a JSON file with `description` (a dict), that of a `.npz` file with
    `arrays` (name -> numpy array) and `out_dir`, where it leaves the run. Returns the dict that
    its last line of output is, JSON. Raises RuntimeError where it fails.
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
    """What `train` gave the script that calls this: the description, a dict of the arrays, and
    where the run is to be left."""
    said, data, out_dir = sys.argv[1:]
    return json.loads(pathlib.Path(said).read_text()), dict(np.load(data)), out_dir
