#!/usr/bin/env python3
"""What watching adds to small trainings as they are: a transformer, a residual network, the
transformer compiled, and over two processes.

    benchmarks/torch_jobs.py [--rounds N] [--json FILE] [--jobs NAME ...]

Batches are small, one thread per process, SGD. Ways to watch: not at all, which shows how well two
times can be told apart; hooks that do nothing; a hook with nothing due; losses, gradients and
weights, or everything, every 10 steps. Figures are minima over blocks of 10 steps, as ratios to the
same job bare in the same program, on the same tensors: of the wall clock, and of the time that the
training thread had a core, by which the targets go: neighbours disturb it less.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile

from paired_worker import PairedWorker
from step_cost import at_most, report

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKER = ROOT / "benchmarks/torch_job_worker.py"
JOBS = ("transformer", "resnet", "compiled", "ddp")
WAYS = ("nothing", "empty hooks", "nothing due", "losses", "gradients and weights", "everything")
CLOCKS = ("wall", "cpu")
STEPS = 10  # of a block


class JobWorker(PairedWorker):
    """One job watched in one way, in a program of its own."""

    def __init__(self, job: str, way: str, folder: pathlib.Path):
        python = ROOT / ".venv/torch/bin/python"
        run = folder / way.replace(" ", "_")
        super().__init__([python, WORKER, job, way, run], folder / f"{way}.stderr")

    def figures(self) -> dict[str, float]:
        """Milliseconds of a step."""
        return {
            f"{name} {clock}": 1e3 / STEPS * min(block[i] for block in blocks)
            for name, blocks in (("bare", self.bare), ("watched", self.watched))
            for i, clock in enumerate(CLOCKS)
        }


def measure(job: str, rounds: int, folder: pathlib.Path) -> dict[str, dict[str, float]]:
    """By way, its figures."""
    workers = {}
    for way in WAYS:  # one after the other: compiling takes both cores
        workers[way] = JobWorker(job, way, folder)
        workers[way].answer()
    for _ in range(rounds):
        for worker in workers.values():
            worker.run(1)
    for worker in workers.values():
        worker.close()
    return {way: worker.figures() for way, worker in workers.items()}


def ratio(figures: dict, way: str, clock: str = "cpu") -> float:
    return figures[way][f"watched {clock}"] / figures[way][f"bare {clock}"]


def targets(job: str, figures: dict) -> list[dict]:
    idle = ratio(figures, "nothing due") / ratio(figures, "empty hooks")
    return [
        at_most(f"T18 {job}, nothing due, times empty hooks", 1.02, idle),
        at_most(f"T19 {job}, losses every 10 steps, times bare", 1.005, ratio(figures, "losses")),
    ]


def table(results: dict) -> str:
    lines = [
        f"| job, times bare: wall / CPU | step, ms | {' | '.join(WAYS)} |",
        f"| --- | ---: |{' ---: |' * len(WAYS)}",
    ]
    for job, figures in results.items():
        bare = min(figure["bare wall"] for figure in figures.values())
        ratios = " | ".join(
            " / ".join(f"{ratio(figures, way, clock):.3f}" for clock in CLOCKS) for way in WAYS
        )
        lines.append(f"| {job} | {bare:.2f} | {ratios} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=JOBS)
    options = parser.parse_args()
    (ROOT / "build").mkdir(exist_ok=True)
    results = {}
    for job in options.jobs:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="torch_jobs-", dir=ROOT / "build"))
        try:
            results[job] = measure(job, options.rounds, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    rows = [row for job, figures in results.items() for row in targets(job, figures)]
    report(options.json, table(results), results, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
