#!/usr/bin/env python3
"""Trains every case of the zoo under `smdebug run`, and writes docs/rule-quality.md.

    make zoo
    .venv/torch/bin/python tests/zoo/run_zoo.py [--only TEXT] [--keep FOLDER] [--jobs N]

Each case is trained twice: with the default rules, and with every rule. With --only, cases whose
name contains TEXT are run and printed, and no file is written. Runs are removed at the end, unless
--keep names a folder.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time
import traceback
from multiprocessing import connection

import cases
import elsewhere
import judging
import page
import torch

FORK = multiprocessing.get_context("fork")
# Time limit of a case in seconds, so that none blocks the whole run.
CASE_LIMIT = 900


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--keep")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    wanted = [case for case in cases.all_cases() if options.only in case.name]
    if options.keep:
        return report(run_cases(wanted, pathlib.Path(options.keep), options.jobs), options.only)
    with tempfile.TemporaryDirectory() as folder:  # its removal takes minutes
        return report(run_cases(wanted, pathlib.Path(folder), options.jobs), options.only)


def report(results, only):
    """Writes the page, or prints what --only selected. Returns whether a case failed."""
    failed = [result for result in results if "error" in result]
    for result in failed:
        print(f"failed: {result['case']}: {result['error']}")
    if only:
        for result in results:
            print(json.dumps(result))
    elif not failed:
        page.write(results)
    return bool(failed)


def run_cases(wanted, folder, jobs):
    """Runs the cases, `jobs` at a time; returns their results in the order of `wanted`."""
    torch.set_num_threads(1)
    os.environ.setdefault("SMDEBUG_LOG_LEVEL", "error")
    folder.mkdir(parents=True, exist_ok=True)
    preload()
    needed = {case.framework for case in wanted}
    scripts = {
        twins.environment: twins.script for twins in cases.TWINS if twins.framework in needed
    }
    with elsewhere.interpreters(scripts):
        return _run_all(wanted, folder, jobs)


def preload():
    """Imports what the first step of a training imports, so that forks need not."""
    import torch._dynamo  # noqa: F401

    import smdebug.pytorch  # noqa: F401
    import smdebug.xgboost  # noqa: F401


def _run_all(wanted, folder, jobs):
    waiting, running, results = list(enumerate(wanted)), {}, {}
    while waiting or running:
        while waiting and len(running) < jobs:
            number, case = waiting.pop(0)
            out_dir = folder / str(number)
            process = FORK.Process(target=_run_in_child, args=(case, out_dir))
            process.start()
            running[process.sentinel] = (number, case, out_dir, process, time.monotonic())
        for sentinel in connection.wait(list(running), timeout=1):
            number, case, out_dir, process, _ = running.pop(sentinel)
            process.join()
            results[number] = _result(case, out_dir, process)
            print(f"{len(results)}/{len(wanted)} {case.name}", file=sys.stderr, flush=True)
        for _, _, _, process, since in running.values():
            if time.monotonic() - since > CASE_LIMIT:
                process.kill()
    return [results[number] for number in sorted(results)]


def _run_in_child(case, out_dir):
    try:
        result = _examined(case, out_dir)
    except Exception:
        result = {"error": traceback.format_exc()}
    pathlib.Path(f"{out_dir}.json").write_text(json.dumps(result))


def _examined(case, out_dir):
    result = {}
    if case.fault is None or case.fault.shows_by_default:
        result["quality"], result["told"] = judging.default_rules(case.train, f"{out_dir}-default")
    more = case.more(f"{out_dir}-other") if case.more else {}
    result["verdicts"] = _short(judging.every_rule(case.train, out_dir, more))
    return result


def _short(verdicts):
    """rule -> preset -> [status, step of the first finding or None, message]."""
    short = {}
    for (rule, preset), verdict in verdicts.items():
        found = verdict["status"] == "IssuesFound"
        step = verdict["step"]["global"] if found else None
        short.setdefault(rule, {})[preset] = [verdict["status"], step, verdict["message"]]
    return short


def _result(case, out_dir, process):
    path = pathlib.Path(f"{out_dir}.json")
    result = {
        "case": case.name,
        "framework": case.framework,
        "half": case.half,
        "fault": case.fault.name if case.fault else None,
        "meant": case.meant,
    }
    if not path.exists():
        return result | {"error": f"the process ended with {process.exitcode}"}
    return result | json.loads(path.read_text())


if __name__ == "__main__":
    sys.exit(main())
