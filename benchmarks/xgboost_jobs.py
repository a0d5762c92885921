#!/usr/bin/env python3
"""The overhead of recording in XGBoost trainings: 100,000 generated rows of 50 features, and the
breast cancer and diabetes data of scikit-learn.

    benchmarks/xgboost_jobs.py [--rounds N] [--json FILE] [--jobs NAME ...]

Each training has one thread, 20 boosting rounds, and metrics of the training and of other rows.
Ways to watch: a callback that does nothing, the default collections (metrics every 10 rounds),
everything every 10 rounds, and the last two with the original, in its own environment. Figures are
minima over trainings, as ratios to the same training, bare, in the same program: of wall-clock
time, and of the CPU time of the training thread, to which the target applies. The one-time cost of
a hook's first round is excluded. Saving everything for the generated rows takes more than ten
seconds per training because of their SHAP values, so there are fewer of those trainings.
"""

import argparse
import functools
import pathlib
import subprocess
import sys

from jobs_in_pairs import ROOT, JobWorker, in_turn, memory_folder, ratio, table
from step_cost import at_most, report

JOBS = ("generated", "breast cancer", "diabetes")
WAYS = ("empty callback", "default", "everything")
ORIGINAL_WAYS = ("default", "everything")
STEPS = 20  # rounds of a training
SLOW_TRAININGS = 3
NO_ORIGINAL = (
    "The original is not in the table: no environment of it trains with XGBoost here "
    "(`tools/venv original` makes it)."
)


@functools.cache
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


def slow_headings(job: str) -> dict[str, int]:
    """The number of trainings for slow ways, by heading."""
    if job != "generated":
        return {}
    return {heading: SLOW_TRAININGS for heading in columns() if heading.endswith("everything")}


def measure(job: str, rounds: int) -> dict[str, dict[str, float]]:
    """By heading, its figures."""
    with memory_folder("xgboost_jobs") as folder:
        workers = {
            heading: JobWorker(environment, "xgboost_job_worker.py", job, way, folder)
            for heading, (environment, way) in columns().items()
        }
        for worker in workers.values():
            worker.answer()
        return in_turn(workers, rounds, STEPS, fewer=slow_headings(job))


def targets(job: str, figures: dict) -> list[dict]:
    name = f"T25 XGBoost, {job}, default collections, times bare"
    return [at_most(name, 1.01, ratio(figures, "default"))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=JOBS)
    options = parser.parse_args()
    results = {job: measure(job, options.rounds) for job in options.jobs}
    rows = [row for job, figures in results.items() for row in targets(job, figures)]
    told = table("XGBoost", "round", results)
    if not original_trains():
        told += f"\n\n{NO_ORIGINAL}"
    report(options.json, told, results, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
