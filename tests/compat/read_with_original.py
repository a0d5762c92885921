"""Prints the answers of the original's Trial about a run, as JSON.

Run by test_original_reader.py in an environment that has the PyPI package `smdebug` and
not ours.
"""

import json
import sys

import numpy as np

from smdebug.core.modes import ModeKeys
from smdebug.trials import create_trial


def array(value):
    value = np.asarray(value)
    return {"dtype": str(value.dtype), "shape": value.shape, "hex": value.tobytes().hex()}


def steps_of(trial, tensor, mode):
    answers = {}
    for step in tensor.steps(mode=mode):
        answer = {"workers": tensor.workers(step, mode=mode)}
        try:
            answer["value"] = array(tensor.value(step, mode=mode))
        except Exception as error:
            answer["raises"] = type(error).__name__
        reductions = tensor.reduction_values(step, mode=mode) or {}
        answer["reductions"] = {
            ("abs_" if is_abs else "") + name: float(np.asarray(value).reshape(()))
            for (name, is_abs), value in reductions.items()
        }
        answers[step] = answer
    return answers


def main():
    trial = create_trial(sys.argv[1])
    answers = {
        "steps": {mode.name: trial.steps(mode=mode) for mode in ModeKeys},
        "workers": trial.workers(),
        "collections": {
            name: sorted(collection.tensor_names)
            for name, collection in trial.collections().items()
        },
        "tensors": {
            name: {mode.name: steps_of(trial, trial.tensor(name), mode) for mode in ModeKeys}
            for name in trial.tensor_names()
        },
    }
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
