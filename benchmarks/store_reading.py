#!/usr/bin/env python3
"""Reading runs in an object store: with and without statistics files, and by the original.

    benchmarks/store_reading.py [--steps N] [--rounds N] [--json FILE]

The store is benchmarks/folder_store.py on one core, which answers each request after 30 ms. A run
saves 100 tensors per step. The original reads a run of 90 steps: for 100 index files and more it
forks processes that share its connections, and reads answers to other requests. Figures are wall
seconds, minima over rounds, and numbers of requests.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import urllib.request

from paired_worker import Worker
from querying import WRITER
from step_cost import at_most, report, work_folder
from store_jobs import LATENCY_SECONDS, Server

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv/torch/bin/python"
TENSORS = 100
SHORT_STEPS = 90
READER = """
import os
import sys
import time

# The original logs to the standard output, from its import on.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
from smdebug.trials import create_trial

run, parts = sys.argv[1], sys.argv[2:]

def answer(start):
    print(time.perf_counter() - start, file=answers, flush=True)
    sys.stdin.readline()

start = time.perf_counter()
trial = create_trial(run)
steps = trial.steps()
answer(start)
tensor = trial.tensor("gradient/layer7.weight")
if "statistics" in parts:
    start = time.perf_counter()
    assert tensor.summary(steps[-1]) is not None
    answer(start)
start = time.perf_counter()
assert tensor.value(steps[7]).shape == (16,)
answer(start)
start = time.perf_counter()
values = {step: tensor.value(step) for step in steps[:90]} if "one by one" in parts else None
values = values or tensor.values()
assert len(values) in (90, len(steps))
answer(start)
"""

Figure = tuple[float, int]  # seconds, requests


def write_run(folder: pathlib.Path, steps: int) -> None:
    """Writes `folder`, and beside it the same run without statistics files."""
    made = folder.with_name(f"{folder.name}-made")
    command = [str(PYTHON), "-c", WRITER, str(made), "1", str(steps), str(TENSORS)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    (made / "00000").rename(folder)
    made.rmdir()
    unpacked = folder.with_name(f"{folder.name}-unpacked")
    shutil.copytree(folder, unpacked)
    shutil.rmtree(unpacked / "statistics", ignore_errors=True)


def requests_of(url: str) -> int:
    with urllib.request.urlopen(f"{url}/-/requests", timeout=10) as answer:
        return int(answer.read())


def read(
    environment: str, run: str, parts: dict[str, str], url: str, log: pathlib.Path
) -> dict[str, Figure]:
    """The figures of one process; `parts` are what it reads, in order."""
    python = ROOT / f".venv/{environment}/bin/python"
    requests_of(url)
    worker = Worker([python, "-c", READER, f"s3://bench/{run}", *parts.values()], log)
    figures = {}
    for position, part in enumerate(parts):
        seconds = worker.ask(position) if position else worker.answer()
        figures[part] = (seconds, requests_of(url))
    worker.close()
    return figures


OPENING = {"opening": "", "first statistics": "statistics", "a value": "", "all values": ""}
SHORT = {"opening": "", "a value": "", "90 values, one by one": "one by one"}


def least(figures: list[dict[str, Figure]]) -> dict[str, Figure]:
    return {part: min(each[part] for each in figures) for part in figures[0]}


def measure(options: argparse.Namespace, folder: pathlib.Path) -> dict[str, dict[str, Figure]]:
    write_run(folder / "long", options.steps)
    write_run(folder / "short", SHORT_STEPS)
    server = Server(
        [PYTHON, ROOT / "benchmarks/folder_store.py", folder, "--latency", LATENCY_SECONDS],
        "stdout",
    )
    os.environ |= {
        "AWS_ENDPOINT_URL": server.url,
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
    }
    programs = {
        "packed": ("torch", "long", OPENING),
        "unpacked": ("torch", "long-unpacked", OPENING),
        "short": ("torch", "short-unpacked", SHORT),
        "original": ("original", "short-unpacked", SHORT),
    }
    try:
        found: dict[str, list] = {name: [] for name in programs}
        for _ in range(options.rounds):
            for name, program in programs.items():
                found[name].append(read(*program, server.url, folder / f"{name}.stderr"))
    finally:
        server.close()
    return {name: least(figures) for name, figures in found.items()}


def table(options: argparse.Namespace, results: dict[str, dict[str, Figure]]) -> str:
    def lines(heads: list[str], columns: list[str], parts: dict[str, str]) -> list[str]:
        rows = [f"| {' | '.join(heads)} |", f"| --- |{' ---: |' * len(columns)}"]
        for part in parts:
            cells = (
                f"{seconds:.2f} s, {requests:,}"
                for seconds, requests in (results[column][part] for column in columns)
            )
            rows.append(f"| {part} | {' | '.join(cells)} |")
        return rows

    title = f"a store, 30 ms per request, {options.steps:,} steps of {TENSORS} tensors"
    short = f"the same, {SHORT_STEPS} steps, no statistics files"
    return "\n".join(
        [
            *lines([title, "packed", "unpacked"], ["packed", "unpacked"], OPENING),
            "",
            *lines([short, "smdebug", "original"], ["short", "original"], SHORT),
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    with work_folder("store_reading") as folder:
        results = measure(options, folder)
    what = "T32 opening 10,000 steps of 100 tensors in a store"
    rows = [
        at_most(f"{what}, packed, s", 3, results["packed"]["opening"][0]),
        at_most(f"{what}, unpacked, s", 8, results["unpacked"]["opening"][0]),
    ]
    report(options.json, table(options, results), results, rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
