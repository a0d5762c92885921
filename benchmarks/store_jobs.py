#!/usr/bin/env python3
"""A training whose hook writes to an object store, compared with the same hook on a disk.

    benchmarks/store_jobs.py [--starts N] [--rounds N] [--json FILE] [--jobs NAME ...]

The store is a server on this machine behind a proxy that delays each answer by 30 ms and answers
one request in a hundred with the status 500. Hooks save the losses every 10 steps. Blocks of 10
steps alternate between both hooks, in the same program and on the same tensors; between them, the
uploads end. A figure is the ratio of a block to the block before it, which has the hook on the
disk: the median over all blocks and starts, with the interval in which it lies with a probability
of 95 % (bootstrap).
"""

import argparse
import os
import pathlib
import random
import statistics
import subprocess
import sys

from jobs_in_pairs import CLOCKS, ROOT, memory_folder
from paired_worker import PairedWorker
from step_cost import at_most, report

JOBS = ("transformer", "resnet")
PYTHON = ROOT / ".venv/torch/bin/python"
LATENCY_SECONDS = 0.03
FAULT = "500:0.01"
DRAWS = 2000  # of the bootstrap

Figures = dict[str, list[float]]  # "cpu" -> median, lower and upper end of its interval

CREATE_BUCKET = """
import sys
import boto3
boto3.client("s3", endpoint_url=sys.argv[1], region_name="us-east-1").create_bucket(Bucket="bench")
"""


class Server:
    """A program that prints its address, on one core, so that the training has the other one."""

    def __init__(self, command: list, stream: str):
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(
            [str(word) for word in command], text=True, **(pipes | {stream: subprocess.PIPE})
        )
        os.sched_setaffinity(self._process.pid, {max(os.sched_getaffinity(0))})
        lines = getattr(self._process, stream)
        self.url = next(
            word for line in lines for word in line.split() if word.startswith("http://")
        )
        # It logs its requests, and would wait for a reader of the log.
        subprocess.Popen(["cat"], stdin=lines, stdout=subprocess.DEVNULL)

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(60)


def measure(job: str, starts: int, rounds: int) -> Figures:
    ratios: dict[str, list[float]] = {clock: [] for clock in CLOCKS}
    for start in range(starts):
        with memory_folder("store_jobs") as folder:
            arguments = [job, folder / "run", f"s3://bench/{job}-{start}"]
            command = [PYTHON, ROOT / "benchmarks/store_job_worker.py", *arguments]
            worker = PairedWorker(command, folder / "stderr")
            worker.answer()
            worker.run(rounds)
            worker.close()
        for i, clock in enumerate(CLOCKS):
            blocks = zip(worker.bare, worker.watched, strict=True)
            ratios[clock] += [store[i] / disk[i] for disk, store in blocks]
    return {clock: [statistics.median(found), *interval(found)] for clock, found in ratios.items()}


def interval(ratios: list[float]) -> tuple[float, float]:
    """Of the median, by the bootstrap."""
    draw = random.Random(0).choices
    medians = sorted(statistics.median(draw(ratios, k=len(ratios))) for _ in range(DRAWS))
    return medians[DRAWS // 40], medians[-DRAWS // 40]


def table(results: dict[str, Figures]) -> str:
    lines = [
        "| job, losses in a store, times the same on a disk | wall | CPU of the training thread |",
        "| --- | ---: | ---: |",
    ]
    for job, figures in results.items():
        cells = (
            f"{median:.4f} ({low:.4f} to {high:.4f})" for median, low, high in figures.values()
        )
        lines.append(f"| {job} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=60, help="blocks of each program")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=JOBS)
    options = parser.parse_args()
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
    }
    store = Server([PYTHON, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"], "stderr")
    proxy = Server(
        [
            *(PYTHON, ROOT / "tests/support/fault_proxy.py", store.url),
            *("--latency", LATENCY_SECONDS, "--fault", FAULT),
        ],
        "stdout",
    )
    try:
        subprocess.run([PYTHON, "-c", CREATE_BUCKET, store.url], check=True)
        os.environ["AWS_ENDPOINT_URL"] = proxy.url
        results = {job: measure(job, options.starts, options.rounds) for job in options.jobs}
    finally:
        proxy.close()
        store.close()
    rows = [
        at_most(f"T30 {job}, losses in a store, times a disk", 1.005, figures["cpu"][0])
        for job, figures in results.items()
    ]
    report(options.json, table(results), results, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
