#!/usr/bin/env python3
"""The overhead of recording in small, unmodified trainings: a transformer, a residual network, the
transformer compiled, and the transformer over two processes.

    benchmarks/torch_jobs.py [--rounds N] [--json FILE] [--jobs NAME ...]

Batches are small; each process trains with SGD on one thread. Ways to watch: none, which shows how
well two times can be distinguished; hooks that do nothing; a hook with nothing due; and, every 10
steps, losses, the tensors that the default rules of `smdebug run` need, gradients and weights, or
everything. Figures are lower quartiles over blocks of 10 steps, as ratios to the same job, bare, in
the same program and on the same tensors: of wall-clock time, and of the CPU time of the training
thread. Targets apply to the latter because neighbors disturb it less. (The minimum of a hundred
blocks is occasionally one that had the whole processor, which makes a percent or two; targets are
half a percent.) Ways without a target have fewer blocks.
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
