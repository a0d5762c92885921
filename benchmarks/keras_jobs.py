#!/usr/bin/env python3
"""What watching adds to small trainings with Keras `fit`, on Keras 2 and on Keras 3.

    benchmarks/keras_jobs.py [--rounds N] [--json FILE] [--jobs NAME ...]
                             [--environments NAME ...]

An MLP and a CNN on digits, batches of 32, one thread, a warm function. Ways to watch: a hook with
nothing due; the default collections every 10 steps; everything every step; reductions of everything
every step. Figures are minima over blocks of 40 steps, as ratios to the same job bare in the same
program: of the wall clock, and of the time that the process had cores, by which the targets go.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile

from paired_worker import PairedWorker
from step_cost import at_most, report

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKER = ROOT / "benchmarks/keras_job_worker.py"
JOBS = ("mlp", "cnn")
ENVIRONMENTS = ("tensorflow-2.15", "tensorflow")
WAYS = ("nothing", "default", "everything", "reductions")
CLOCKS = ("wall", "cpu")
STEPS = 40  # of a block


class JobWorker(PairedWorker):
    """One job watched in one way, in a program of its own."""

    def __init__(self, environment: str, job: str, way: str, folder: pathlib.Path):
        python = ROOT / ".venv" / environment / "bin/python"
        super().__init__([python, WORKER, job, way, folder / way], folder / f"{way}.stderr")

    def figures(self) -> dict[str, float]:
        """Milliseconds of a step."""
        return {
            f"{name} {clock}": 1e3 / STEPS * min(block[i] for block in blocks)
            for name, blocks in (("bare", self.bare), ("watched", self.watched))
            for i, clock in enumerate(CLOCKS)
        }


def measure(environment: str, job: str, rounds: int) -> dict[str, dict[str, float]]:
    """By way, its figures."""
    (ROOT / "build").mkdir(exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="keras_jobs-", dir=ROOT / "build"))
    try:
        workers = {way: JobWorker(environment, job, way, folder) for way in WAYS}
        for worker in workers.values():
            worker.answer()
        for _ in range(rounds):
            for worker in workers.values():
                worker.run(1)
        for worker in workers.values():
            worker.close()
        return {way: worker.figures() for way, worker in workers.items()}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ratio(figures: dict, way: str, clock: str = "cpu") -> float:
    return figures[way][f"watched {clock}"] / figures[way][f"bare {clock}"]


def targets(name: str, figures: dict) -> list[dict]:
    return [
        at_most(f"T26 {name}, nothing due, times bare", 1.03, ratio(figures, "nothing")),
        at_most(f"T27 {name}, default every 10 steps, times bare", 1.03, ratio(figures, "default")),
    ]


def table(results: dict) -> str:
    lines = [
        f"| Keras job, times bare: wall / CPU | step, ms | {' | '.join(WAYS)} |",
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
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=JOBS)
    parser.add_argument("--environments", nargs="+", choices=ENVIRONMENTS, default=ENVIRONMENTS)
    options = parser.parse_args()
    results = {
        f"{job}, {environment}": measure(environment, job, options.rounds)
        for environment in options.environments
        for job in options.jobs
    }
    rows = [row for name, figures in results.items() for row in targets(name, figures)]
    report(options.json, table(results), results, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
