#!/usr/bin/env python3
"""The cost of a histogram for TensorBoard: smdebug and the original from PyPI.

    benchmarks/tensorboard.py [--rounds N] [--json FILE]

Programs that take turns write the same float32 values step by step, one file per step. A figure is
the CPU time of the whole program per histogram, writing included. For smdebug it is the time with
TensorBoard minus the time without, when only statistics of the tensors are kept; for the original
it is the time of its TensorBoard writer. Figures are minima over all steps.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from step_cost import at_least, target_table

ROOT = pathlib.Path(__file__).resolve().parent.parent

# elements of a tensor -> tensors per step: ours, the original's
SIZES = {1000: (500, 20), 1_000_000: (4, 1)}
TIMES_LESS = 50
NAME = "layer4.1.conv2.weight"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--show", choices=SHOW, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.show:
        print(json.dumps({size: SHOW[options.show](size, options.rounds) for size in SIZES}))
        return 0
    ours, without, theirs = (seconds(who, options.rounds) for who in SHOW)
    rows = []
    for size in map(str, SIZES):
        added = ours[size] - without[size]
        print(
            f"{size} elements: ours {added * 1e6:.1f} µs "
            f"({ours[size] * 1e6:.1f} with, {without[size] * 1e6:.1f} without), "
            f"the original {theirs[size] * 1e6:.1f} µs"
        )
        rows.append(
            at_least(
                f"T17 histogram of {size} elements, times faster than the original",
                TIMES_LESS,
                theirs[size] / added,
            )
        )
    print(target_table(rows))
    if options.json:
        options.json.write_text(json.dumps({"targets": rows}, indent=1) + "\n")
    return 0


def seconds(who: str, rounds: int) -> dict[str, float]:
    """CPU seconds per histogram by size, in the environment that `who` needs."""
    environment = "original" if who == "original" else "torch"
    command = [ROOT / f".venv/{environment}/bin/python", __file__, "--show", who]
    done = subprocess.run(
        [*map(str, command), "--rounds", str(rounds)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "SMDEBUG_LOG_LEVEL": "off"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def values(size: int):
    import numpy as np

    return np.random.default_rng(0).normal(0, 0.05, size).astype(np.float32)


def least_cpu_per_item(step, rounds: int, items: int) -> float:
    step(0)
    best = float("inf")
    for i in range(1, rounds + 1):
        start = time.process_time()
        step(i)
        best = min(best, time.process_time() - start)
    return best / items


def folder():
    """Where files cost no disk."""
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return tempfile.TemporaryDirectory(dir=in_memory)


def show_ours(size: int, rounds: int, tensorboard: bool = True) -> float:
    import torch

    from smdebug import _core
    from smdebug.pytorch import ReductionConfig, SaveConfig

    tensor, items = torch.from_numpy(values(size)), SIZES[size][0]
    with folder() as run:
        config = _core.HookConfig(
            f"{run}/run",
            save_config=SaveConfig(save_interval=1),
            reduction_config=ReductionConfig(),
            include_regex=[],
            include_collections=[],
            save_all=True,
            dry_run=False,
            all_workers=False,
            collections=[],
            tensorboard_dir=f"{run}/tensorboard" if tensorboard else None,
        )
        session = _core.Session.create(config, _core.pytorch_framework(), [], {}, {})
        sites = [session.tensor(f"{NAME}{i}") for i in range(items)]

        def step(i: int) -> None:
            session.begin_step()
            for site in sites:
                site.put(tensor)
            session.end_step()
            session.flush()

        best = least_cpu_per_item(step, rounds, items)
        session.close()
    return best


def show_without(size: int, rounds: int) -> float:
    return show_ours(size, rounds, tensorboard=False)


def show_original(size: int, rounds: int) -> float:
    from smdebug.core.writer import FileWriter

    array, items = values(size), SIZES[size][1]
    with folder() as run:

        def step(i: int) -> None:
            writer = FileWriter(run, worker="worker_0", step=i, wtype="tensorboard")
            for item in range(items):
                writer.write_histogram_summary(array, f"{NAME}{item}", i)
            writer.close()

        return least_cpu_per_item(step, rounds, items)


SHOW = {"ours": show_ours, "without": show_without, "original": show_original}

if __name__ == "__main__":
    sys.exit(main())
