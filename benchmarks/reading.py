#!/usr/bin/env python3
"""The cost of reading: smdebug and the original from PyPI, on the same two runs.

    benchmarks/reading.py [--rounds N] [--json FILE]

The wide run has 250 steps of 400 tensors, the long one 10,000 steps of one; neither has ended.
Figures are minima over rounds in which the two libraries take turns.
"""

import argparse
import pathlib
import subprocess

from paired_worker import Worker
from step_cost import at_least, at_most, report, work_folder

ROOT = pathlib.Path(__file__).resolve().parent.parent
READER = ROOT / "benchmarks/reading_worker.py"
WIDE_STEPS, WIDE_LAYERS = 250, 200
LONG_STEPS = 10_000
ENTRIES = WIDE_STEPS * WIDE_LAYERS * 2
# Name of a figure, its description with the unit, and the number of those units in a second.
ROWS = (
    ("open", "opening 250 steps of 400 tensors, ms", 1e3),
    ("open long", "opening 10,000 steps of one tensor, ms", 1e3),
    ("refresh", "refreshing with nothing new, 250 steps, µs", 1e6),
    ("steps", "`trial.steps()` of 10,000 steps, refreshing, ms", 1e3),
    ("names", "`trial.tensor_names()` of 400 tensors, refreshing, µs", 1e6),
    ("value", "`value()` of 16 elements, cached, µs", 1e6),
    ("values", "`values()` of 10,000 steps, ms", 1e3),
)
WRITER = """
import sys
import torch
from torch import nn
import smdebug.pytorch as smd

folder, steps, layers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
config = smd.SaveConfig(save_interval=1)
if layers:
    net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(layers)])
    hook = smd.Hook(folder, save_config=config, include_collections=["weights", "biases"])
else:
    net = nn.Linear(4, 4, bias=False)
    hook = smd.Hook(folder, save_config=config, include_collections=["weights"])
hook.register_module(net)
x = torch.zeros(1, 4)
with torch.no_grad():
    for _ in range(steps):
        net(x)
hook.close()
"""


def write_run(folder: pathlib.Path, steps: int, layers: int) -> None:
    """Writes a run as an unfinished training leaves it."""
    command = [ROOT / ".venv/torch/bin/python", "-c", WRITER, folder, steps, layers]
    subprocess.run([str(word) for word in command], check=True)
    (folder / "training_job_end.ts").unlink()


class Reader(Worker):
    def __init__(self, environment: str, folder: pathlib.Path):
        python = ROOT / f".venv/{environment}/bin/python"
        runs = [folder / "wide", folder / "long"]
        super().__init__([python, READER, *runs], folder / f"{environment}.stderr")
        self.best: dict[str, float] = {}

    def run(self, rounds: int) -> None:
        for name, figure in self.ask(rounds).items():
            # Later rounds reuse the memory that the first one allocated.
            better = max if name == "memory" else min
            self.best[name] = better(figure, self.best.get(name, figure))


def measure(rounds: int, folder: pathlib.Path) -> dict[str, dict]:
    write_run(folder / "wide", WIDE_STEPS, WIDE_LAYERS)
    write_run(folder / "long", LONG_STEPS, 0)
    readers = {"ours": Reader("torch", folder), "original": Reader("original", folder)}
    for _ in range(rounds):
        readers["ours"].run(3)
        readers["original"].run(1)
    for reader in readers.values():
        reader.close()
    return {name: reader.best for name, reader in readers.items()}


def targets(results: dict) -> list[dict]:
    ours, original = results["ours"], results["original"]
    return [
        at_most("T13 a cached value, in Python, µs", 6, 1e6 * ours["value"]),
        at_least(
            "T14 values of 10,000 steps, times faster than the original",
            20,
            original["values"] / ours["values"],
        ),
    ]


def table(results: dict) -> str:
    lines = ["| reading | smdebug | original | ratio |", "| --- | ---: | ---: | ---: |"]
    for name, what, unit in ROWS:
        ours, original = (results[who][name] for who in ("ours", "original"))
        lines.append(
            f"| {what} | {unit * ours:.3g} | {unit * original:.3g} | {original / ours:.3g} |"
        )
    ours, original = (results[who]["memory"] / ENTRIES for who in ("ours", "original"))
    lines.append(
        f"| memory of the process for an index entry, bytes | {ours:.3g} | {original:.3g} "
        f"| {original / max(ours, 1):.3g} |"
    )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    with work_folder("reading") as folder:
        results = measure(options.rounds, folder)
    rows = targets(results)
    report(options.json, table(results), results, rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
