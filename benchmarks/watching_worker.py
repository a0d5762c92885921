"""Trains for benchmarks/watching.py: begins a run, and corrupts it on request.

    python watching_worker.py FOLDER

It reads a number per line. 0 begins a new run in FOLDER, with one healthy step; 1 publishes a step
with NaN. It answers each with one line of JSON: the run, and when its newest step was published,
in seconds since the epoch.
"""

import json
import math
import pathlib
import sys

import torch
from torch import nn

import smdebug.pytorch as smd


class Training:
    def __init__(self, run):
        self.run = run
        self._net = nn.Linear(4, 4)
        self._hook = smd.Hook(
            run, save_config=smd.SaveConfig(save_interval=1), include_collections=["weights"]
        )
        self._hook.register_module(self._net)

    def step(self, x):
        with torch.no_grad():
            self._net(torch.full((1, 4), x))
        self._hook.set_mode(smd.modes.TRAIN)
        with torch.no_grad():
            self._net(torch.full((1, 4), x))  # a step is over when the next one begins
        self._hook.flush()

    def spoil(self):
        with torch.no_grad():
            self._net.weight.fill_(math.nan)

    def published(self):
        """When the newest index file was written."""
        files = pathlib.Path(self.run).glob("index/**/*.json")
        return max(file.stat().st_mtime_ns for file in files) / 1e9

    def close(self):
        self._hook.close()


def main():
    folder, training, runs = pathlib.Path(sys.argv[1]), None, 0
    for line in sys.stdin:
        if int(line) == 0:
            if training:
                training.close()
            training, runs = Training(str(folder / f"run_{runs}")), runs + 1
        else:
            training.spoil()
        training.step(1.0)
        answer = {"run": training.run, "published": training.published()}
        print(json.dumps(answer), flush=True)
    if training:
        training.close()


if __name__ == "__main__":
    main()
