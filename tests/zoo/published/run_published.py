#!/usr/bin/env python3
"""Runs the published faults, their repaired twins and the healthy trainings under `smdebug run`,
with nothing but its defaults, and prints what the user was told.

    run_published.py [--case NAME]... [--part tune] [--part choose] [--out FILE]
    run_published.py --train-only     trains without smdebug: do the twins learn?
    run_published.py --page           all parts; writes docs/published-faults.json

A fault is *found* if a rule fired whose finding is more than advice, and *named* if one of the
rules that name its cause fired; it *leads* if that rule is the first of the summary. Without
`--part`, the part `report` is left out.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import table

ROOT = table.HERE.parents[2]
sys.path.append(str(table.HERE.parent))
import published_figures  # noqa: E402

LIMIT_SECONDS = 240
# The share of its first errors by which a healthy training must get better.
CLEARLY = 0.2
FOUND_LINE = re.compile(r"^  (?:found)? +(\w+): ", re.MULTILINE)
# One core for each training, and no messages of a framework among those that are counted.
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "",
}


@dataclasses.dataclass
class Result:
    """What `smdebug run` told of one training.

    `fired` and `advice` map rules to [global step, message]; `first` is the rule that the summary
    names first; `lines` are those that smdebug printed. `is_named` if a rule fired, or gave advice,
    that names the cause, `is_named_first` if the summary begins with it. `before` and `after` are
    errors of the model, None if they are no numbers.
    """

    case: str
    part: str
    is_faulty: bool
    exit_code: int
    seconds: float
    lines: int = 0
    fired: dict = dataclasses.field(default_factory=dict)
    advice: dict = dataclasses.field(default_factory=dict)
    first: str | None = None
    is_named: bool = False
    is_named_first: bool = False
    before: float | None = None
    after: float | None = None
    problem: str = ""

    @property
    def learned(self):
        """Whether the error got clearly smaller."""
        if self.before is None or self.after is None:
            return False
        return self.after <= self.before - CLEARLY * abs(self.before)

    @property
    def step(self):
        """The step of the first finding that is more than advice, or None."""
        return min((step for step, _ in self.fired.values()), default=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", action="append", metavar="NAME")
    parser.add_argument("--script", action="append", metavar="FILE", help="all cases of a file")
    parser.add_argument("--part", action="append", choices=table.PARTS)
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE", help="JSON of all results")
    parser.add_argument("--train-only", action="store_true")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    parts = options.part or ([*table.PARTS] if options.page else [table.TUNE, table.CHOOSE])
    cases = [
        case
        for case in [*table.faults(), *table.healthy()]
        if (options.train_only or case.part in parts)
        and (not options.case or case.name in options.case)
        and (not options.script or case.script in options.script)
    ]
    if not cases:
        parser.error("no such case in this part")
    run = train_alone if options.train_only else run_under_smdebug
    results = []
    for case in cases:
        for is_faulty in (True, False) if isinstance(case, table.Case) else (False,):
            results.append(run(case, is_faulty))
            print(line_of(results[-1]), flush=True)
    counts = {} if options.train_only else totals(results)
    for name, count in counts.items():
        print(f"{name}: {'-' if count is None else count}")
    if options.page:
        write_figures(results)
    if options.out:
        rows = [dataclasses.asdict(result) for result in results]
        options.out.write_text(json.dumps({"totals": counts, "results": rows}, indent=1) + "\n")
    return any(not result.is_faulty and not result.learned for result in results)


def write_figures(results):
    """Writes the figures of all parts, and the cases of the others than `report` that are not as
    they should be."""
    shown = [each for each in results if each.part != table.REPORT]
    of_part = {part: [each for each in results if each.part == part] for part in table.PARTS}
    published_figures.write(
        {part: totals(each) for part, each in of_part.items()} | {"all": totals(results)},
        [_row(each) for each in shown if each.is_faulty and not each.is_named_first],
        [_row(each) for each in shown if not each.is_faulty and each.fired],
    )


def _row(result):
    return {"case": result.case, "part": result.part, "fired": list(result.fired)}


def command_of(case, is_faulty):
    """The words that start the training."""
    python = ROOT / ".venv" / table.ENVIRONMENTS[case.framework] / "bin/python"
    twin = "--faulty" if is_faulty else "--repaired"
    return [str(python), *case.launcher, str(table.HERE / case.script), case.name, twin]


def train_alone(case, is_faulty):
    """The result of the training without smdebug: only its errors."""
    started = time.monotonic()
    done = _run(command_of(case, is_faulty), None)
    return _result(case, is_faulty, done, started)


def run_under_smdebug(case, is_faulty):
    """The result of `smdebug run -- python SCRIPT NAME`, from an empty folder."""
    command = command_of(case, is_faulty)
    smdebug = str(pathlib.Path(command[0]).parent / "smdebug")
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        done = _run([smdebug, "run", "--", *command], folder)
        result = _result(case, is_faulty, done, started)
        for path in sorted(pathlib.Path(folder).glob("smdebug-runs/*/rules/*.json")):
            _add_verdict(result, json.loads(path.read_text()).get("verdict") or {})
    lines = done.stderr.splitlines()
    result.lines = sum(line.startswith(("smdebug: ", "  ")) for line in lines)
    told = result.fired | result.advice
    result.first = next((rule for rule in FOUND_LINE.findall(done.stderr) if rule in told), None)
    if is_faulty:
        result.is_named = not told.keys().isdisjoint(case.rules_that_name_it)
        result.is_named_first = result.first in case.rules_that_name_it
    return result


def _run(command, folder):
    """The finished command. After the time limit, it ends with all of its processes."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=os.environ | SETTINGS,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, err = process.communicate()
        return subprocess.CompletedProcess(
            command, 124, "", f"{err}\nlonger than {LIMIT_SECONDS} s"
        )
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _result(case, is_faulty, done, started):
    result = Result(case.name, case.part, is_faulty, done.returncode, time.monotonic() - started)
    last = (done.stdout.splitlines() or [""])[-1]
    if last.startswith("{"):
        errors = json.loads(last)
        result.before, result.after = errors["before"], errors["after"]
    elif not is_faulty or done.returncode not in (0, 3):
        result.problem = done.stderr[-2000:]
    return result


def _add_verdict(result, verdict):
    if verdict.get("status") != "IssuesFound":
        return
    kind = result.advice if verdict.get("severity") == "advice" else result.fired
    kind[verdict["rule"]] = [verdict["step"]["global"], verdict["message"]]


def line_of(result):
    """A row of the printed table."""
    twin = "fault" if result.is_faulty else "healthy"
    errors = " -> ".join("-" if e is None else f"{e:.3g}" for e in (result.before, result.after))
    row = f"{result.case:28} {twin:7} {errors:20} {result.lines:3} lines {result.seconds:5.1f} s"
    for kind, findings in (("", result.fired), ("advice ", result.advice)):
        for rule, (step, message) in findings.items():
            leads = " (first)" if rule == result.first and len(result.fired) > 1 else ""
            row += f"\n    {kind}{rule}{leads} at step {step}: {first_sentence(message)}"
    if not result.is_faulty and not result.learned:
        row += "\n    the error did not get clearly smaller"
    if result.problem:
        row += f"\n    problem: {result.problem}"
    return row


def first_sentence(message):
    """The part of a message before its details."""
    return message.split("; ")[0]


def totals(results):
    """Name -> number, over all results."""
    faulty = [result for result in results if result.is_faulty]
    found = [result for result in faulty if result.fired]
    good = [result for result in results if not result.is_faulty]
    return {
        "faults": len(faulty),
        "found": len(found),
        "named": sum(result.is_named for result in faulty),
        "named first": sum(result.is_named_first for result in faulty),
        "healthy": len(good),
        "with a false alarm": sum(bool(result.fired) for result in good),
        "with advice": sum(bool(result.advice) for result in good),
        "median step of the first finding": _median(result.step for result in found),
        "median of lines": _median(result.lines for result in results),
        "most lines": max(result.lines for result in results),
    }


def _median(values):
    values = list(values)
    return statistics.median(values) if values else None


if __name__ == "__main__":
    sys.exit(main())
