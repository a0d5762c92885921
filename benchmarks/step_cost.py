#!/usr/bin/env python3
"""The overhead of recording in a training step: smdebug, the original from PyPI, and
the lower bound (a memcpy of the same bytes), on two models.

    benchmarks/step_cost.py [--rounds N] [--json FILE]

A = 50 x (Linear 64 + ReLU), B = 20 x Linear(256); batch 64, SGD, one thread.
Everything is saved every step; files are flushed and deleted between steps,
outside the time. Figures are minima and medians of "watched minus bare", in
the training thread, wall and CPU.
"""

import argparse
import contextlib
import json
import pathlib
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator

from paired_worker import PairedWorker

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKER = ROOT / "benchmarks/step_worker.py"

# name, environment, steps per round
VARIANTS = (
    ("empty hooks", "torch", 10),
    ("memcpy", "torch", 10),
    ("nothing due", "torch", 10),
    ("raw", "torch", 10),
    ("reductions", "torch", 10),
    ("original nothing due", "original", 5),
    ("original raw", "original", 3),
    ("original reductions", "original", 1),
)
# T11 of the design's targets: how many times faster than the original.
TIMES_LESS = {
    ("A", "raw"): 60,
    ("A", "reductions"): 400,
    ("B", "raw"): 20,
    ("B", "reductions"): 100,
}


class VariantWorker(PairedWorker):
    """One variant of one model, in a program of its own."""

    def __init__(self, variant: str, environment: str, model: str, folder: pathlib.Path):
        python = ROOT / f".venv/{environment}/bin/python"
        super().__init__([python, WORKER, variant, model, folder / "run"], folder / "stderr")

    def figures(self) -> dict[str, float]:
        """Milliseconds."""
        figures = {}
        for i, clock in enumerate(("wall", "cpu")):
            bare, watched = ([1e3 * t[i] for t in ts] for ts in (self.bare, self.watched))
            figures[f"{clock} min"] = min(watched) - min(bare)
            figures[f"{clock} median"] = statistics.median(watched) - statistics.median(bare)
        figures["step min"] = 1e3 * min(t[0] for t in self.bare)
        return figures


def measure(model: str, rounds: int, folder: pathlib.Path) -> dict:
    workers = {}
    for name, environment, steps in VARIANTS:
        own = folder / f"{model} {name}"
        own.mkdir()
        workers[name] = VariantWorker(name, environment, model, own), steps
    sizes = [worker.answer() for worker, _ in workers.values()][0]
    for _ in range(rounds):
        for worker, steps in workers.values():
            worker.run(steps)
    for worker, _ in workers.values():
        worker.close()
    return {"sizes": sizes, **{name: worker.figures() for name, (worker, _) in workers.items()}}


def targets(model: str, figures: dict) -> list[dict]:
    """T1, T2, T3 and T11 with the measured values, in milliseconds or as ratios."""
    sizes, floor = figures["sizes"], figures["memcpy"]["wall min"]
    tensors = sizes["hooked"] + sizes["listed"]
    raw, reduced = figures["raw"]["wall min"], figures["reductions"]["wall min"]
    idle = (figures["nothing due"]["wall min"] - figures["empty hooks"]["wall min"]) * 1e3
    rows = [
        at_most(
            f"T1 {model} raw, ms",
            2 * floor + 1.5e-3 * sizes["hooked"] + 0.3e-3 * sizes["listed"],
            raw,
        ),
        at_most(f"T2 {model} reductions, ms", floor / 0.6 + 3e-3 * tensors, reduced),
        at_most(
            f"T3 {model} nothing due, µs per module over empty hooks", 0.2, idle / sizes["modules"]
        ),
    ]
    for variant in ("raw", "reductions"):
        ours, theirs = (figures[f"{who}{variant}"]["wall min"] for who in ("", "original "))
        rows.append(
            at_least(
                f"T11 {model} {variant}, times faster than the original",
                TIMES_LESS[model, variant],
                theirs / max(ours, 1e-6),
            )
        )
    return rows


def at_most(name: str, target: float, reached: float) -> dict:
    return {
        "name": name,
        "target": f"≤ {target:.4g}",
        "reached": f"{reached:.4g}",
        "met": reached <= target,
    }


def at_least(name: str, target: float, reached: float) -> dict:
    return {
        "name": name,
        "target": f"≥ {target:.4g}",
        "reached": f"{reached:.3g}",
        "met": reached >= target,
    }


@contextlib.contextmanager
def work_folder(name: str, place: pathlib.Path = ROOT / "build") -> Iterator[pathlib.Path]:
    """A folder in `place`, removed afterwards."""
    place.mkdir(exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def table(results: dict) -> str:
    lines = [
        "| model | mode | added wall, ms, min / median "
        "| added CPU of the training thread, ms, min / median |",
        "| --- | --- | ---: | ---: |",
    ]
    for model, figures in results.items():
        sizes = figures["sizes"]
        lines.append(
            f"| {model} | *bare step {figures['raw']['step min']:.2f} ms; a saved step holds "
            f"{sizes['hooked'] + sizes['listed']} tensors, {sizes['bytes'] / 1e6:.2f} MB* | | |"
        )
        for name, _, _ in VARIANTS:
            f = figures[name]
            lines.append(
                f"| {model} | {name} | {f['wall min']:.3f} / {f['wall median']:.3f} "
                f"| {f['cpu min']:.3f} / {f['cpu median']:.3f} |"
            )
    return "\n".join(lines)


def target_table(rows: list[dict]) -> str:
    lines = ["| target | limit | measured | met |", "| --- | ---: | ---: | --- |"]
    lines += [
        f"| {r['name']} | {r['target']} | {r['reached']} | {'yes' if r['met'] else 'no'} |"
        for r in rows
    ]
    return "\n".join(lines)


def report(path: pathlib.Path | None, table: str, figures: dict, rows: list[dict]) -> None:
    """Prints the figures, and writes them as JSON if `path` is given."""
    print(table, target_table(rows), sep="\n\n")
    if path:
        written = {"table": table, "figures": figures, "targets": rows}
        path.write_text(json.dumps(written, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    with work_folder("step_cost") as folder:
        results = {model: measure(model, options.rounds, folder) for model in ("A", "B")}
    rows = [row for model, figures in results.items() for row in targets(model, figures)]
    report(options.json, table(results), results, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
