"""The command line of the scripts in this folder: `python wiring.py no_zero_grad --faulty`.

A training is a function `train(faulty)` that returns its errors, such as the loss of each step,
which fall if the model learns. The last line of the output is JSON with the mean of the first and
of the last tenth of them; under torchrun, only the first worker prints it.
"""

import argparse
import inspect
import json
import math
import os


def run_named(functions):
    """Runs the training that the command line names; `functions` is the caller's `globals()`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    twin = parser.add_mutually_exclusive_group()
    twin.add_argument("--faulty", action="store_true")
    twin.add_argument("--repaired", action="store_true")
    options = parser.parse_args()
    train = functions[options.name]
    takes_fault = bool(inspect.signature(train).parameters)
    errors = train(options.faulty) if takes_fault else train()
    tenth = max(1, len(errors) // 10)
    if os.environ.get("RANK", "0") == "0":
        print(json.dumps({"before": _mean(errors[:tenth]), "after": _mean(errors[-tenth:])}))


def _mean(errors):
    """None if the mean is no number."""
    mean = sum(float(error) for error in errors) / len(errors)
    return mean if math.isfinite(mean) else None
