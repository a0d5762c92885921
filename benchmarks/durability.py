#!/usr/bin/env python3
"""The overhead of `durability="step"`: the time of a training step, and how many saved steps per
second the disk takes in.

    benchmarks/durability.py [--rounds N] [--folder FOLDER]

10 x (Linear 256 + ReLU), batch 64, SGD, one thread. Each step is saved: the loss, or everything.
Blocks of steps without a hook, with "process" and with "step" take turns; each begins with an empty
queue. The figures are those of the best block. The folder must be on the disk to be measured.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import statistics
import tempfile
import time

import torch

import smdebug.pytorch as smd

WAYS = ("bare", "process", "step")
STEPS = 50


class Training:
    """One way to record it: `bare` not at all."""

    def __init__(self, way: str, save_all: bool, folder: pathlib.Path) -> None:
        layers = [
            layer for _ in range(10) for layer in (torch.nn.Linear(256, 256), torch.nn.ReLU())
        ]
        self.model = torch.nn.Sequential(*layers)
        self.loss = torch.nn.MSELoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.001)
        self.hook = None
        if way != "bare":
            every_step = smd.SaveConfig(save_interval=1)
            self.hook = smd.Hook(folder, save_config=every_step, save_all=save_all, durability=way)
            self.hook.register_module(self.model)
            self.hook.register_loss(self.loss)
        self.inputs, self.targets = torch.randn(64, 256), torch.randn(64, 256)
        self.step_seconds: list[float] = []
        self.block_seconds: list[float] = []

    def train_block(self) -> None:
        begun = time.perf_counter()
        for _ in range(STEPS):
            self.optimizer.zero_grad()
            self.loss(self.model(self.inputs), self.targets).backward()
            self.optimizer.step()
        self.step_seconds.append((time.perf_counter() - begun) / STEPS)
        if self.hook is not None:
            self.hook.flush()
        self.block_seconds.append(time.perf_counter() - begun)


def sync_seconds(folder: pathlib.Path | None) -> float:
    """The median time of the sync of 4 KiB."""
    seconds = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(100):
            os.write(file.fileno(), bytes(4096))
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--folder", type=pathlib.Path, default=None)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"The sync of 4 KiB takes {1e3 * sync_seconds(options.folder):.2f} ms.\n")
    print(
        "| saved in each step | recording | training step | times bare | saved steps per second |"
    )
    print("| --- | --- | --- | --- | --- |")
    for name, save_all in (("the loss", False), ("everything", True)):
        folder = pathlib.Path(tempfile.mkdtemp(dir=options.folder))
        trainings = {way: Training(way, save_all, folder / way) for way in WAYS}
        for _ in range(options.rounds):
            for training in trainings.values():
                training.train_block()
        bare = min(trainings["bare"].step_seconds)
        for way, training in trainings.items():
            step = min(training.step_seconds)
            rate = STEPS / min(training.block_seconds)
            print(f"| {name} | {way} | {1e3 * step:.2f} ms | {step / bare:.2f} | {rate:.0f} |")
            if training.hook is not None:
                training.hook.close()
                assert training.hook.status().error is None
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
