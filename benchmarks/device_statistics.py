#!/usr/bin/env python3
"""From which size on a tensor on an accelerator is better reduced there than copied.

    benchmarks/device_statistics.py [--device TYPE] [--rounds N]

Each way keeps only the statistics of a float32 tensor: one kernel computes them
(`smdebug.pytorch.device.cuda_statistics`), operations of torch do (`device_statistics`), or the
elements are copied to pinned memory and the core reduces them. Figures are microseconds per step of
one tensor, the lower quartile over blocks of ten steps: the training's thread starts the work, and
waits for it when the next step begins. Runs in the interpreter that runs it.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time

import torch

import smdebug.pytorch as smd
from smdebug.pytorch.device import device_statistics
from smdebug.pytorch.device.device_copies import TorchAccelerator

BLOCK = 10  # steps
SIZES = tuple(1 << shift for shift in range(14, 28, 2))  # bytes


class Given(torch.nn.Module):
    """Returns the tensor that it holds."""

    def __init__(self, tensor):
        super().__init__()
        self.tensor = tensor

    def forward(self):
        return self.tensor


WAYS = ("kernel", "torch", "copy")


def microseconds(device: str, nbytes: int, way: str, rounds: int) -> float:
    """Of one step that saves the statistics of one tensor."""
    device_statistics._LEAST_BYTES = 0 if way == "torch" else 1 << 62
    if way != "kernel":
        TorchAccelerator.has_kernel_for = lambda self, tensor: False
    with tempfile.TemporaryDirectory() as folder:
        hook = smd.Hook(
            f"{folder}/run",
            include_collections=[],
            include_regex=["_output_"],
            reduction_config=smd.ReductionConfig(summary=True),
            save_config=smd.SaveConfig(save_interval=1),
        )
        model = Given(torch.randn(nbytes // 4, device=device))
        hook.register_module(model)
        hook.set_mode(smd.modes.TRAIN)
        blocks = []
        for _ in range(rounds):
            start = time.perf_counter()
            for _ in range(BLOCK):
                model()
            torch.accelerator.synchronize()
            blocks.append(time.perf_counter() - start)
        hook.close()
    return 1e6 / BLOCK * statistics.quantiles(blocks)[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    os.environ.setdefault("SMDEBUG_LOG_LEVEL", "error")
    figures = {
        way: [microseconds(options.device, size, way, options.rounds) for size in SIZES]
        for way in WAYS
    }
    print("| bytes | " + " | ".join(f"{way}, µs" for way in WAYS) + " |")
    print("| ---: |" + " ---: |" * len(WAYS))
    for size, *row in zip(SIZES, *figures.values(), strict=True):
        print(f"| {size} | " + " | ".join(f"{figure:.0f}" for figure in row) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
