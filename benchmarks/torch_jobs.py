#!/usr/bin/env python3
"""The overhead of recording in small, unmodified trainings: a transformer, a residual network, the
transformer compiled, and the transformer over two processes.

    benchmarks/torch_jobs.py [--starts N] [--rounds N] [--json FILE] [--jobs NAME ...]

Batches are small; each process trains with SGD on one thread. Ways to watch: none, which shows how
well two times can be distinguished; hooks that do nothing; a hook with nothing due; and, every 10
steps, losses, the tensors that the default rules of `smdebug run` need, gradients and weights, or
everything. Figures are lower quartiles over blocks of 10 steps, as ratios to the same job, bare, in
the same program and on the same tensors: of wall-clock time, and of the CPU time of the training
thread. Targets apply to the latter because neighbors disturb it less. (The minimum of a hundred
blocks is occasionally one that had the whole processor, which makes a percent or two; targets are
half a percent.)

Two trainings in one program can differ by percents for as long as it runs, because of where they
lie in memory. So each program is started several times, and the figures are of the start with the
median ratio. Ways without a target are started once.
"""

import argparse
import pathlib
import sys
from collections.abc import Sequence

from jobs_in_pairs import Figures, JobWorker, in_turn, memory_folder, ratio, table
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
STARTED_ONCE = ("default rules", "gradients and weights", "everything")


def measure(job: str, starts: int, rounds: int) -> dict[str, Figures]:
    """By way, the figures of its start with the median ratio of CPU times."""
    taken = [figures_of_start(job, WAYS, rounds)]
    again = [way for way in WAYS if way not in STARTED_ONCE]
    taken += [figures_of_start(job, again, rounds) for _ in range(starts - 1)]
    by_way = {way: [figures for figures in taken if way in figures] for way in WAYS}
    return {
        way: sorted(of_starts, key=lambda figures: ratio(figures, way))[len(of_starts) // 2][way]
        for way, of_starts in by_way.items()
    }


def figures_of_start(job: str, ways: Sequence[str], rounds: int) -> dict[str, Figures]:
    """By way, the figures of one program."""
    with memory_folder("torch_jobs") as folder:
        workers = {}
        for way in ways:  # one after the other: compiling takes both cores
            workers[way] = JobWorker("torch", "torch_job_worker.py", job, way, folder)
            workers[way].answer()
        return in_turn(workers, rounds, STEPS, quantile=0.25)


def targets(job: str, figures: dict) -> list[dict]:
    idle = ratio(figures, "nothing due") / ratio(figures, "empty hooks")
    return [
        at_most(f"T18 {job}, nothing due, times empty hooks", 1.02, idle),
        at_most(f"T19 {job}, losses every 10 steps, times bare", 1.005, ratio(figures, "losses")),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=12, help="blocks of each program")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=JOBS)
    options = parser.parse_args()
    results = {job: measure(job, options.starts, options.rounds) for job in options.jobs}
    rows = [row for job, figures in results.items() for row in targets(job, figures)]
    report(options.json, table("job", "step", results), results, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
