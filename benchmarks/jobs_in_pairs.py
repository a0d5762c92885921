"""Shared code of the programs that measure whole trainings, with and without a hook in turn.

A worker program trains a job in a separate environment and alternates blocks of steps: bare, and
watched in one way. Figures are in milliseconds per step: minima over blocks, or the requested
quantile. Ratios compare with the same job, bare, in the same program.
"""

import contextlib
import os
import pathlib

from paired_worker import PairedWorker
from step_cost import work_folder

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLOCKS = ("wall", "cpu")

Figures = dict[str, float]  # "bare cpu" -> milliseconds of a step


class JobWorker(PairedWorker):
    """One job watched in one way: `program` in an environment of tools/venv."""

    def __init__(self, environment: str, program: str, job: str, way: str, folder: pathlib.Path):
        python = ROOT / ".venv" / environment / "bin/python"
        run = folder / f"{environment} {way}".replace(" ", "_")
        command = [python, ROOT / "benchmarks" / program, job, way, run]
        super().__init__(command, run.with_suffix(".stderr"))

    def figures(self, steps: int, quantile: float = 0) -> Figures:
        """Returns the figures of blocks of so many steps."""
        return {
            f"{name} {clock}": 1e3
            / steps
            * sorted(block[i] for block in blocks)[int(quantile * len(blocks))]
            for name, blocks in (("bare", self.bare), ("watched", self.watched))
            for i, clock in enumerate(CLOCKS)
        }


def in_turn(
    workers: dict[str, JobWorker],
    rounds: int,
    steps: int,
    fewer: dict[str, int] | None = None,
    quantile: float = 0,
) -> dict[str, Figures]:
    """Returns the figures of workers that are ready, by heading, after `rounds` blocks of each.
    `fewer` limits the number of blocks of the workers that it names."""
    limits = fewer or {}
    for done in range(rounds):
        for heading, worker in workers.items():
            if done < limits.get(heading, rounds):
                worker.run(1)
    for worker in workers.values():
        worker.close()
    return {heading: worker.figures(steps, quantile) for heading, worker in workers.items()}


def memory_folder(name: str) -> contextlib.AbstractContextManager[pathlib.Path]:
    """A folder in memory if possible, removed afterwards. Files of a block are deleted after it,
    and the time that a disk's file system needs for that is not part of a training."""
    memory = pathlib.Path("/dev/shm")
    return work_folder(name, memory if os.access(memory, os.W_OK) else ROOT / "build")


def ratio(figures: dict[str, Figures], way: str, clock: str = "cpu") -> float:
    return figures[way][f"watched {clock}"] / figures[way][f"bare {clock}"]


def table(title: str, unit: str, results: dict[str, dict[str, Figures]]) -> str:
    """A row per job, a column per way; in Markdown."""
    headings = list(next(iter(results.values())))
    lines = [
        f"| {title}, times bare: wall / CPU | {unit}, ms | {' | '.join(headings)} |",
        f"| --- | ---: |{' ---: |' * len(headings)}",
    ]
    for job, figures in results.items():
        bare = min(figure["bare wall"] for figure in figures.values())
        ratios = " | ".join(
            " / ".join(f"{ratio(figures, way, clock):.3f}" for clock in CLOCKS) for way in headings
        )
        lines.append(f"| {job} | {bare:.2f} | {ratios} |")
    return "\n".join(lines)
