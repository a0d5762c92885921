#!/usr/bin/env python3
"""One question about many runs: `smdebug sql`, and DuckDB over the same files.

    benchmarks/querying.py [--runs N] [--steps N] [--rounds N] [--json FILE]

Which runs had a gradient above ten times its median, and when? Each run saves 100 gradients per
step; in one of 50 runs, a gradient grows a hundredfold after three quarters of the steps. Figures
are wall seconds, minima over rounds in which both take turns. That of `smdebug sql` is a whole
program. That of DuckDB begins with the names of the files, in a program that has imported it, and
has no checksum of them.
"""

import argparse
import csv
import io
import pathlib
import subprocess
import time

from paired_worker import Worker
from step_cost import at_most, report, work_folder

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv/torch/bin/python"
SMDEBUG = ROOT / ".venv/torch/bin/smdebug"
TENSORS = 100
QUESTIONS = {
    "above ten times its median": """
        select run, tensor, min(step) as first, count(*) as steps from statistics
        where collection = 'gradients' and l2_over_median > 10 group by run, tensor""",
    "above a limit": """
        select run, tensor, min(step) as first, count(*) as steps from statistics
        where collection = 'gradients' and l2 > 50 group by run, tensor""",
    "number of rows": "select count(*) as rows from statistics",
}
WRITER = """
import sys
import numpy as np
from smdebug import SaveConfig, _core
from smdebug.hook import BaseHook

class Hook(BaseHook):
    @classmethod
    def make_framework(cls):
        return _core.pytorch_framework()

    def save(self, arrays):
        self._begin_step()
        for name, array in arrays.items():
            self.save_tensor(name, array, collections_to_write="gradients")

folder, runs, steps, tensors = sys.argv[1], *map(int, sys.argv[2:])
for run in range(runs):
    random = np.random.default_rng(run)
    hook = Hook(f"{folder}/{run:05d}", save_config=SaveConfig(save_interval=1),
                include_collections=["gradients"])
    arrays = {f"gradient/layer{i}.weight": random.standard_normal(16).astype(np.float32)
              for i in range(tensors)}
    for step in range(steps):
        if run % 50 == 7 and step == steps * 3 // 4:
            arrays["gradient/layer3.weight"] *= 100
        hook.save(arrays)
    hook.close()
"""
DUCKDB = """
import json
import pathlib
import sys
import time
import duckdb
import pyarrow as pa

QUESTIONS = {
    "above ten times its median": '''
        with norms as (select run, tensor, mode, worker, step, sqrt(sum_squares) as l2 from files),
        medians as (select run, tensor, mode, worker, median(l2) as usual from norms group by all)
        select run, tensor, min(step), count(*) from norms
        join medians using (run, tensor, mode, worker) where l2 > 10 * usual
        group by run, tensor order by run, tensor''',
    "above a limit": '''
        select run, tensor, min(step), count(*) from files where sqrt(sum_squares) > 50
        group by run, tensor order by run, tensor''',
    "number of rows": "select count(*) from files",
}
COLUMNS = ["step", "mode", "worker", "tensor", "sum_squares"]
paths = sorted(pathlib.Path(sys.argv[1]).glob("*/statistics/*/*.arrow"))

def opened(path):
    batch = pa.ipc.open_file(pa.memory_map(str(path))).read_all().select(COLUMNS)
    run = pa.DictionaryArray.from_arrays(pa.repeat(0, len(batch)).cast(pa.int32()),
                                         [str(path.parents[2])])
    return batch.append_column("run", run)

# A line is the position of a question.
for line in sys.stdin:
    start = time.perf_counter()
    question = list(QUESTIONS.values())[int(line)]
    files = pa.concat_tables([opened(path) for path in paths])
    database = duckdb.connect()
    database.execute("set enable_progress_bar = false")  # of the standard output
    rows = [list(row) for row in database.execute(question).fetchall()]
    print(json.dumps({"seconds": time.perf_counter() - start, "rows": rows}), flush=True)
"""


def ask_smdebug(question: str, folder: pathlib.Path) -> tuple[float, list]:
    command = [str(SMDEBUG), "sql", QUESTIONS[question], str(folder), "--csv"]
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    rows = list(csv.reader(io.StringIO(done.stdout)))[1:]
    return seconds, [[int(cell) if cell.isdigit() else cell for cell in row] for row in rows]


def measure(options: argparse.Namespace, folder: pathlib.Path) -> dict[str, dict[str, float]]:
    counts = [str(count) for count in (options.runs, options.steps, TENSORS)]
    command = [str(PYTHON), "-c", WRITER, str(folder), *counts]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    found: dict[str, dict[str, float]] = {}
    duckdb = Worker([PYTHON, "-c", DUCKDB, folder], folder / "duckdb.stderr")
    for position, question in enumerate(QUESTIONS):
        seconds: dict[str, list[float]] = {"smdebug": [], "duckdb": []}
        for _ in range(options.rounds):
            ours, rows = ask_smdebug(question, folder)
            theirs = duckdb.ask(position)
            assert rows == theirs["rows"], (question, rows[:3], theirs["rows"][:3])
            seconds["smdebug"].append(ours)
            seconds["duckdb"].append(theirs["seconds"])
        found[question] = {who: min(all_rounds) for who, all_rounds in seconds.items()}
    duckdb.close()
    return found


def table(options: argparse.Namespace, results: dict[str, dict[str, float]]) -> str:
    rows = options.runs * options.steps * TENSORS
    lines = [
        f"| {rows:,} rows of {options.runs:,} runs on a disk, s | `smdebug sql` | DuckDB |",
        "| --- | ---: | ---: |",
    ]
    lines += [
        f"| {question} | {found['smdebug']:.2f} | {found['duckdb']:.2f} |"
        for question, found in results.items()
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    with work_folder("querying") as folder:
        results = measure(options, folder)
    seconds = results["above ten times its median"]["smdebug"]
    limit = max(1, options.runs * options.steps * TENSORS / 1e7)
    rows = [at_most("T31 a question about 10,000,000 rows of 1,000 runs, s", limit, seconds)]
    report(options.json, table(options, results), results, rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
