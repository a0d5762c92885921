#!/usr/bin/env python3
"""The cost of importing a torch tensor (T4), and of computing the statistics of a
numpy array compared with numpy's own functions (T7).

    PYTHONPATH=build/bench/benchmarks .venv/torch/bin/python benchmarks/input_route.py [--json FILE]
"""

import argparse
import json
import pathlib
import time

import numpy as np
import torch
from input_route_bench import borrow, borrow_list, empty, statistics, target
from step_cost import at_least, at_most, target_table

# T7: wanted at every size, and up to 16 KB.
TIMES_NUMPY, TIMES_NUMPY_SMALL = 8, 25


def seconds_per_call(function, argument, calls: int, rounds: int = 15) -> float:
    """The minimum over `rounds`."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            function(argument)
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def numpys_eight(a: np.ndarray) -> tuple:
    magnitude = np.abs(a)
    flat = a.ravel()
    return (
        a.min(), a.max(), a.mean(), a.std(),
        np.linalg.norm(flat, 1), np.linalg.norm(flat, 2), magnitude.max(), magnitude.mean(),
    )  # fmt: skip


def input_rows() -> list[dict]:
    tensor = torch.ones(512)
    listed = [torch.nn.Parameter(torch.ones(512)) for _ in range(400)]
    nothing = seconds_per_call(empty, tensor, 20000)
    one = seconds_per_call(borrow, tensor, 20000) - nothing
    each = seconds_per_call(borrow_list, listed, 100) / len(listed)
    return [
        at_most("T4 importing a tensor, ns on top of an empty call", 60, one * 1e9),
        at_most("T4 importing a tensor in a list, ns", 50, each * 1e9),
    ]


def statistics_rows() -> list[dict]:
    rows = []
    for size in (1 << 10, 16 << 10, 256 << 10, 4 << 20, 100 << 20):
        array = np.random.default_rng(0).standard_normal(size // 4, dtype=np.float32)
        calls = max(1, (4 << 20) // size)
        rounds = 15 if size < 50 << 20 else 5
        ours = seconds_per_call(statistics, array, calls, rounds)
        theirs = seconds_per_call(numpys_eight, array, calls, rounds)
        wanted = TIMES_NUMPY_SMALL if size <= 16 << 10 else TIMES_NUMPY
        name = (
            f"T7 statistics of {size >> 10} KiB ({target()}), times faster than numpy's eight calls"
        )
        rows.append(at_least(name, wanted, theirs / ours))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = input_rows() + statistics_rows()
    print(target_table(rows))
    if options.json:
        options.json.write_text(json.dumps({"targets": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
