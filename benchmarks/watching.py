#!/usr/bin/env python3
"""The cost of `smdebug watch` at rest, and its delay after a step is published.

    benchmarks/watching.py [--rounds N] [--seconds S] [--program FILE] [--json FILE]

ExplodingTensor finds the NaN in a published step. The delay is the time from the modification time
of its index file to the first line that the watch prints. At rest, a training keeps its run open
and publishes nothing; meanwhile the kernel counts the CPU time of the watch.
"""

import argparse
import pathlib
import random
import statistics
import subprocess
import time

from paired_worker import Worker
from step_cost import at_most, report, work_folder

ROOT = pathlib.Path(__file__).resolve().parent.parent
RULE = ["--rule", "ExplodingTensor"]


class Watch:
    """A running `smdebug watch`."""

    def __init__(self, program: pathlib.Path, run: str, rules: list[str]):
        self._watch = subprocess.Popen(
            [str(program), "watch", run, *rules],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def first_verdict(self) -> float:
        """Waits for the first verdict, and returns the time."""
        for line in self._watch.stderr:
            if "IssuesFound" in line:
                return time.time()
        raise SystemExit("the watch ended without a verdict")

    def cpu_seconds(self) -> float:
        """Returns the CPU time of its threads so far."""
        tasks = pathlib.Path(f"/proc/{self._watch.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def stop(self) -> None:
        self._watch.terminate()
        self._watch.wait(60)


def seen_after(training: Worker, program: pathlib.Path) -> float:
    """Seconds from the publishing of a step to the verdict about it."""
    run = training.ask(0)["run"]
    watch = Watch(program, run, RULE)
    # The moment at which the step comes between two looks is chance.
    time.sleep(0.5 + random.random() / 5)
    published = training.ask(1)["published"]
    seen = watch.first_verdict()
    watch.stop()
    return seen - published


def share_at_rest(training: Worker, program: pathlib.Path, seconds: float) -> float:
    """Percent of a core that a watch uses while no step arrives."""
    watch = Watch(program, training.ask(0)["run"], [])
    time.sleep(1)  # what it reads first is not rest
    began, before = time.monotonic(), watch.cpu_seconds()
    time.sleep(seconds)
    share = (watch.cpu_seconds() - before) / (time.monotonic() - began)
    watch.stop()
    return 100 * share


def measure(options, folder: pathlib.Path) -> dict[str, float]:
    python = ROOT / ".venv/torch/bin/python"
    worker = ROOT / "benchmarks/watching_worker.py"
    training = Worker([python, worker, folder], folder / "training.stderr")
    delays = [seen_after(training, options.program) for _ in range(options.rounds)]
    share = share_at_rest(training, options.program, options.seconds)
    training.close()
    return {
        "least delay": min(delays),
        "median delay": statistics.median(delays),
        "longest delay": max(delays),
        "percent of a core at rest": share,
    }


def table(figures: dict[str, float]) -> str:
    least, median, longest = (
        1e3 * figures[f"{which} delay"] for which in ("least", "median", "longest")
    )
    return "\n".join(
        [
            "| `smdebug watch` | least | median | longest |",
            "| --- | ---: | ---: | ---: |",
            f"| delay of a published step, ms | {least:.3g} | {median:.3g} | {longest:.3g} |",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument(
        "--program", type=pathlib.Path, default=ROOT / "build/bench/apps/cli/smdebug"
    )
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    with work_folder("watching") as folder:
        figures = measure(options, folder)
    rows = [
        at_most("T23 watch detects a published step, ms", 100, 1e3 * figures["median delay"]),
        at_most("T24 watch at rest, percent of a core", 1, figures["percent of a core at rest"]),
    ]
    report(options.json, table(figures), figures, rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
