#!/usr/bin/env python3
"""The overhead of `smdebug run`, without options, in the trainings of torch_jobs.py, and in one
whose steps take a millisecond.

    benchmarks/run_jobs.py [--rounds N] [--json FILE] [--jobs NAME ...]

Each round starts each training twice, one program after the other: with hooks that do nothing, and
under `smdebug run`, which records it, notes series and facts, and judges it in a process beside it.
The training takes one thread, and the judging process another core, as on a machine with an idle
core. A figure of a program is the lower quartile over its blocks of 10 steps, one of them saved;
the first 20 steps, of which `smdebug run` saves more, are left out. Figures are medians over the
programs, in milliseconds per step: of wall-clock time, and of the CPU time of the training thread,
to which the target applies because neighbors disturb it less.

With the arguments JOB and WAY it is such a program.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

from jobs_in_pairs import ROOT, memory_folder
from step_cost import at_most, report
from torch_jobs import JOBS as WITH_TARGET

JOBS = (*WITH_TARGET, "perceptron")
WAYS = ("empty hooks", "smdebug run")
BLOCKS = 24
UNTIMED = 2


def measure(job: str, rounds: int) -> dict[str, dict[str, float]]:
    """By way, its figures."""
    programs: dict[str, list[list[float]]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            with memory_folder("run_jobs") as folder:
                programs[way].append(figures(job, way, folder))
    return {
        way: dict(
            zip(("wall", "cpu"), map(statistics.median, zip(*taken, strict=True)), strict=True)
        )
        for way, taken in programs.items()
    }


def figures(job: str, way: str, folder: pathlib.Path) -> list[float]:
    """Milliseconds per step of one program, wall-clock and CPU."""
    python = ROOT / ".venv/torch/bin/python"
    run = folder / "run"
    launcher = [python, "-m", "smdebug", "run", "--out", run, "--"] if way == WAYS[1] else []
    command = [*launcher, python, __file__, job, way, folder]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    blocks = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    if len(blocks) != BLOCKS:
        raise SystemExit(f"{job}, {way}: ended too early:\n{done.stderr[-2000:]}")
    if launcher and not any(run.glob("index/*/*.json")):
        raise SystemExit(f"{job} was not recorded:\n{done.stderr[-2000:]}")
    return [statistics.quantiles(times)[0] for times in zip(*blocks, strict=True)]


def train(job: str, way: str, folder: str) -> None:
    """One program: prints a line per block."""
    import torch
    from torch_job_worker import BLOCK, EmptyHooks, Training, second_rank, timed

    rank = second_rank()[0] if job == "ddp" else 0
    torch.set_num_threads(1)
    if job == "ddp":
        place = f"file://{folder}/meeting_place"
        torch.distributed.init_process_group("gloo", init_method=place, rank=rank, world_size=2)
    training = EmptyHooks(job) if way == WAYS[0] else Training(job)
    for block in range(UNTIMED + BLOCKS):
        took = timed(training)
        if rank == 0 and block >= UNTIMED:
            print(json.dumps([1e3 * seconds / BLOCK for seconds in took]), flush=True)


def table(results: dict) -> str:
    lines = [
        "| training | empty hooks, ms per step | `smdebug run`, ms per step | ratio, wall / CPU |",
        "| --- | ---: | ---: | ---: |",
    ]
    for job, by_way in results.items():
        empty, run = (by_way[way] for way in WAYS)
        ratios = " / ".join(f"{run[clock] / empty[clock]:.3f}" for clock in ("wall", "cpu"))
        lines.append(f"| {job} | {empty['wall']:.2f} | {run['wall']:.2f} | {ratios} |")
    return "\n".join(lines)


def main() -> int:
    if len(sys.argv) == 4 and sys.argv[1] in JOBS:
        train(*sys.argv[1:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=JOBS)
    options = parser.parse_args()
    results = {job: measure(job, options.rounds) for job in options.jobs}
    rows = [
        at_most(
            f"T28 {job}, `smdebug run`, times empty hooks",
            1.02,
            results[job][WAYS[1]]["cpu"] / results[job][WAYS[0]]["cpu"],
        )
        for job in results
        if job in WITH_TARGET
    ]
    report(options.json, table(results), results, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
