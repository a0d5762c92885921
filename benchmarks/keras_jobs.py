#!/usr/bin/env python3
"""The overhead of recording in small trainings with Keras `fit`, on Keras 2 and on Keras 3.

    benchmarks/keras_jobs.py [--rounds N] [--json FILE] [--jobs NAME ...]
                             [--environments NAME ...]

An MLP and a CNN on digits, batches of 32, one thread, a warm function. Ways to watch: a hook with
nothing due; the default collections every 10 steps; everything every step; reductions of everything
every step. Figures are minima over blocks of 40 steps, as ratios to the same job, bare, in the same
program: of wall-clock time, and of the CPU time of the process, to which the targets apply.
"""

import argparse
import pathlib
import sys

from jobs_in_pairs import JobWorker, in_turn, memory_folder, ratio, table
from step_cost import at_most, report

JOBS = ("mlp", "cnn")
ENVIRONMENTS = ("tensorflow-2.15", "tensorflow")
WAYS = ("nothing", "default", "everything", "reductions")
STEPS = 40  # of a block


def measure(environment: str, job: str, rounds: int) -> dict[str, dict[str, float]]:
    """By way, its figures."""
    with memory_folder("keras_jobs") as folder:
        workers = {
            way: JobWorker(environment, "keras_job_worker.py", job, way, folder) for way in WAYS
        }
        for worker in workers.values():
            worker.answer()
        return in_turn(workers, rounds, STEPS)


def targets(name: str, figures: dict) -> list[dict]:
    return [
        at_most(f"T26 {name}, nothing due, times bare", 1.03, ratio(figures, "nothing")),
        at_most(f"T27 {name}, default every 10 steps, times bare", 1.03, ratio(figures, "default")),
    ]


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
    report(options.json, table("Keras job", "step", results), results, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
