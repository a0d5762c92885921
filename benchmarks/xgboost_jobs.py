#!/usr/bin/env python3
"""What watching adds to XGBoost trainings: 100,000 generated rows of 50 features, the breast
cancer and the diabetes data of scikit-learn.

    benchmarks/xgboost_jobs.py [--rounds N] [--json FILE] [--jobs NAME ...]

One thread, trainings of 20 boosting rounds, metrics of the training rows and of others. Ways to
watch: a callback that does nothing, the default collections (metrics every 10 rounds), everything
every 10 rounds, and the same two with the original where its environment can train with XGBoost.
Figures are minima over trainings, as ratios to the same training bare in the same program: of
the wall clock, and of the time that the training thread had a core, by which the target goes. What
the first round of a hook costs, once, is left out.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

from paired_worker import PairedWorker
from step_cost import at_most, report

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKER = ROOT / "benchmarks/xgboost_job_worker.py"
JOBS = ("generated", "breast cancer", "diabetes")
WAYS = ("empty callback", "default", "everything")
ORIGINAL_WAYS = ("default", "everything")
CLOCKS = ("wall", "cpu")
STEPS = 20  # rounds of a training


class JobWorker(PairedWorker):
    """One job watched in one way, in a program of its own."""

    def __init__(self, environment: str, job: str, way: str, folder: pathlib.Path):
        python = ROOT / ".venv" / environment / "bin/python"
        run = folder / f"{environment} {way}".replace(" ", "_")
        super().__init__([python, WORKER, job, way, run], run.with_suffix(".stderr"))

    def figures(self) -> dict[str, float]:
        """Milliseconds of a boosting round."""
        return {
            f"{name} {clock}": 1e3 / STEPS * min(block[i] for block in blocks)
            for name, blocks in (("bare", self.bare), ("watched", self.watched))
            for i, clock in enumerate(CLOCKS)
        }


def original_trains() -> bool:
    python = ROOT / ".venv/original/bin/python"
    command = [python, "-c", "import pkg_resources, smdebug, sklearn, xgboost"]
    return python.exists() and subprocess.run(command, capture_output=True).returncode == 0


def columns() -> dict[str, tuple[str, str]]:
    """By heading, the environment and the way."""
    ours = {way: ("torch", way) for way in WAYS}
    if not original_trains():
        return ours
    return ours | {f"original, {way}": ("original", way) for way in ORIGINAL_WAYS}


def measure(job: str, rounds: int, folder: pathlib.Path) -> dict[str, dict[str, float]]:
    """By heading, its figures."""
    workers = {
        heading: JobWorker(environment, job, way, folder)
        for heading, (environment, way) in columns().items()
    }
    for worker in workers.values():
        worker.answer()
    for _ in range(rounds):
        for worker in workers.values():
            worker.run(1)
    for worker in workers.values():
        worker.close()
    return {heading: worker.figures() for heading, worker in workers.items()}


def ratio(figures: dict, way: str, clock: str = "cpu") -> float:
    return figures[way][f"watched {clock}"] / figures[way][f"bare {clock}"]


def targets(job: str, figures: dict) -> list[dict]:
    name = f"T25 XGBoost, {job}, default collections, times bare"
    return [at_most(name, 1.01, ratio(figures, "default"))]


def table(results: dict) -> str:
    headings = list(next(iter(results.values())))
    lines = [
        f"| XGBoost, times bare: wall / CPU | round, ms | {' | '.join(headings)} |",
        f"| --- | ---: |{' ---: |' * len(headings)}",
    ]
    for job, figures in results.items():
        bare = min(figure["bare wall"] for figure in figures.values())
        ratios = " | ".join(
            " / ".join(f"{ratio(figures, way, clock):.3f}" for clock in CLOCKS) for way in headings
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
        folder = pathlib.Path(tempfile.mkdtemp(prefix="xgboost_jobs-", dir=ROOT / "build"))
        try:
            results[job] = measure(job, options.rounds, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    rows = [row for job, figures in results.items() for row in targets(job, figures)]
    report(options.json, table(results), results, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
