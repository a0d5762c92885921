#!/usr/bin/env python3
"""Two builds of the package: is the one of tools/wheel as fast as the one for this system?

    benchmarks/builds.py WHEEL WHEEL [--rounds N] [--json FILE]

A program passes numpy arrays to a session that saves their statistics (T4, T5 and T7 of
docs/performance.md) or their elements with statistics (T6), and times the calls. Programs of both
builds take turns. A figure is the ratio of the minima over all rounds, second build to first.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile

from step_cost import at_most, target_table

PYTHON = pathlib.Path(__file__).resolve().parent.parent / ".venv/torch/bin/python"
MOST = 1.05
# Bytes of an array, and arrays in a step.
SUMMARIES = {"256 bytes": (256, 400), "16 KiB": (16 << 10, 100), "4 MiB": (4 << 20, 4)}
COPIES = {"256 bytes": (256, 400), "256 KiB": (256 << 10, 20), "4 MiB": (4 << 20, 4)}
STEPS = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", nargs=2, type=pathlib.Path, metavar="WHEEL")
    parser.add_argument("--python", type=pathlib.Path, default=PYTHON)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        sites = [pathlib.Path(name) / str(number) for number in (0, 1)]
        for wheel, site in zip(options.wheels, sites, strict=True):
            zipfile.ZipFile(wheel).extractall(site)
        least: list[dict[str, float]] = [{}, {}]
        for number in range(2 * options.rounds):
            # First, second, second, first: what slows the machine meets both.
            which = (number // 2 + number) % 2
            for what, seconds in figures(options.python, sites[which]).items():
                least[which][what] = min(seconds, least[which].get(what, seconds))
    rows = [
        at_most(f"{what}, ratio of the second build to the first", MOST, least[1][what] / seconds)
        for what, seconds in least[0].items()
    ]
    print(target_table(rows))
    if options.json:
        options.json.write_text(json.dumps({"targets": rows}, indent=1) + "\n")
    return 0


def figures(python: pathlib.Path, site: pathlib.Path) -> dict[str, float]:
    """Seconds that each kind of call takes, in a new process: memory may lie well or badly."""
    command = [python, __file__, "--work", site]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def work(site: str) -> None:
    """Prints the seconds that each kind of call takes."""
    sys.path.insert(0, site)
    import numpy as np

    from smdebug import _core

    assert _core.__file__.startswith(site)
    random = np.random.default_rng(0)

    def seconds(size: int, count: int, *, raw: bool) -> float:
        arrays = [random.standard_normal(size // 4, dtype=np.float32) for _ in range(count)]
        return least_seconds(_core, arrays, raw)

    found = {f"statistics of {name}": seconds(*what, raw=False) for name, what in SUMMARIES.items()}
    found |= {
        f"copy with statistics of {name}": seconds(*what, raw=True) for name, what in COPIES.items()
    }
    print(json.dumps(found))


def least_seconds(core, arrays: list, raw: bool) -> float:
    """Seconds to put all arrays: the minimum over the steps of a run."""
    with tempfile.TemporaryDirectory() as name:
        reductions = core.ReductionConfig(reductions=["mean", "std"], norms=["l2"])
        session = open_session(core, f"{name}/run", None if raw else reductions)
        slots = session.tensors([f"tensor{i}" for i in range(len(arrays))], ["all"])
        best = float("inf")
        for _ in range(STEPS):
            session.begin_step()
            start = time.perf_counter()
            slots.put(arrays)
            best = min(best, time.perf_counter() - start)
            session.end_step()
        session.close()
    return best


def open_session(core, folder: str, reductions):
    config = core.HookConfig(
        folder,
        save_config=core.SaveConfig(save_interval=1),
        reduction_config=reductions,
        include_regex=[],
        include_collections=["all"],
        save_all=True,
        dry_run=False,
        all_workers=True,
        collections=[],
    )
    return core.Session.create(config, core.pytorch_framework(), [], {}, {})


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        work(*sys.argv[2:])
    else:
        sys.exit(main())
