#!/usr/bin/env python3
"""What watching adds to small trainings as they are: a transformer, a residual network, the
transformer compiled, and over two processes.

    benchmarks/torch_jobs.py [--rounds N] [--json FILE] [--jobs NAME ...]

Batches are small, one thread per process, SGD. Ways to watch: not at all, which shows how well two
times can be told apart; hooks that do nothing; a hook with nothing due; losses, what the default
rules of `smdebug run` look at, gradients and weights, or everything, every 10 steps. Figures are
lower quartiles over blocks of 10 steps, as ratios to the same job bare in the same program, on the
same tensors: of the wall clock, and of the time that the training thread had a core, by which the
targets go: neighbours disturb it less. (The least of a hundred blocks is now and then one that had
the whole processor, by a percent or two; targets are of half a percent.) Ways that no target is
about have fewer blocks.
"""

import argparse
import pathlib
import sys

from jobs_in_pairs import JobWorker, in_turn, ratio, table, work_folder
from step_cost import at_most, report

JOBS = ("transformer", "resnet", "compiled", "ddp")
WAYS = (
    "nothing",
    "empty hooks",
    "nothing due",
    "losses",
    "default rules",
    "gradients and weights",
    "everything",
)
STEPS = 10  # of a block
WITHOUT_TARGET = ("default rules", "gradients and weights", "everything")
FEW_ROUNDS = 12


def measure(job: str, rounds: int) -> dict[str, dict[str, float]]:
    """By way, its figures."""
    with work_folder("torch_jobs") as folder:
        workers = {}
        for way in WAYS:  # one after the other: compiling takes both cores
            workers[way] = JobWorker("torch", "torch_job_worker.py", job, way, folder)
            workers[way].answer()
        fewer = dict.fromkeys(WITHOUT_TARGET, FEW_ROUNDS)
        return in_turn(workers, rounds, STEPS, fewer, quantile=0.25)


def targets(job: str, figures: dict) -> list[dict]:
    idle = ratio(figures, "nothing due") / ratio(figures, "empty hooks")
    return [
        at_most(f"T18 {job}, nothing due, times empty hooks", 1.02, idle),
        at_most(f"T19 {job}, losses every 10 steps, times bare", 1.005, ratio(figures, "losses")),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=JOBS)
    options = parser.parse_args()
    results = {job: measure(job, options.rounds) for job in options.jobs}
    rows = [row for job, figures in results.items() for row in targets(job, figures)]
    report(options.json, table("job", "step", results), results, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
