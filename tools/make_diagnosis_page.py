#!/usr/bin/env python3
"""Writes the generated blocks of docs/diagnosis.md: the table of causes and the examples.

    tools/make_diagnosis_page.py            all of it; trains for a minute or two
    tools/make_diagnosis_page.py --table    only the table
    tools/make_diagnosis_page.py --check    prints the difference of the table instead

The table is that of the core. The examples are what `smdebug run` prints on the trainings of
tests/e2e/one_bug.py, and what `smdebug check` prints on the runs of tests/diff for rules whose
trainings need more than PyTorch and one process. Uses the package in .venv/torch.
"""

import argparse
import concurrent.futures
import difflib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv/torch/bin/python"
SMDEBUG = ROOT / ".venv/torch/bin/smdebug"
PAGE = ROOT / "docs/diagnosis.md"
WIDTH = 100
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/diff")]
# Rules whose example is a run of tests/diff: the run and the settings.
RECORDED = {
    "DeadRelu": ("sick", []),
    "ExplodingTensor": ("sick", []),
    "FeatureImportanceOverweight": ("sick", ["--set", "nfeatures=1"]),
    "NLPSequenceRatio": ("sick", ["--set", "tensor_regex=^tokens$"]),
    "ReplicasDiffer": ("workers_two", []),
    "SaturatedActivation": ("sick", ["--set", "threshold_inactivity=50"]),
    "TreeDepth": ("sick", ["--set", "depth=3"]),
    "VanishingGradient": ("sick", []),
}
# A training that hangs for half an hour.
LEFT_OUT = {"StalledTrainingRule"}
FINDING_TITLES = ("found", "cause", "try", "advice")


def main() -> int:
    if pathlib.Path(sys.executable) != PYTHON:
        os.execv(PYTHON, [PYTHON, __file__, *sys.argv[1:]])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    old = PAGE.read_text()
    new = with_block(old, "table", table())
    if options.check:
        difference = difflib.unified_diff(
            old.splitlines(), new.splitlines(), "docs/diagnosis.md", "generated", lineterm=""
        )
        print("\n".join(difference))
        return old != new
    if not options.table:
        new = with_block(new, "examples", examples())
    PAGE.write_text(new)
    return 0


def with_block(page: str, name: str, text: str) -> str:
    """`page` with a new block of this name."""
    start, end = f"<!-- generated: {name} -->\n", "\n<!-- end -->"
    before, rest = page.split(start)
    return before + start + text + rest[rest.index(end) :]


def table() -> str:
    """The table of causes, a row per kind of finding."""
    from smdebug import _core

    rows = ["| stage | finding | explains |", "| --- | --- | --- |"]
    groups: dict[str, list] = {}
    for row in json.loads(_core.cause_table()):
        effects = [effect["name"] for effect in row["explains"]]
        groups |= {effect["name"]: effect["findings"] for effect in row["explains"]}
        if row["explains_all_later"]:
            effects = ["everything of a later stage"]
        if row["must_precede"] and effects:
            effects[-1] += ", from its step on"
        rows.append(f"| {row['stage']} | {finding(row)} | {'; '.join(effects) or 'nothing'} |")
    rows += ["", "| explained | findings |", "| --- | --- |"]
    rows += [f"| {name} | {'; '.join(map(finding, found))} |" for name, found in groups.items()]
    return "\n".join(rows)


def finding(row: dict) -> str:
    """A rule, with the kinds of its findings if only some are meant."""
    kinds = ", ".join(f'"{kind}"' for kind in row["kinds"])
    return f"{row['rule']}: {kinds}" if kinds else row["rule"]


def examples() -> str:
    """A section for each default rule."""
    from smdebug import _core

    rules = sorted({rule for rule, _ in _core.default_rules()} - LEFT_OUT)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return "\n\n".join(pool.map(section, rules))


def section(rule: str) -> str:
    """The bug and the findings of one rule."""
    import one_bug

    if rule in RECORDED:
        run, settings = RECORDED[rule]
        said = checked(rule, run, settings)
        command = " ".join(["smdebug check", run, "--rule", rule, *settings])
        about = "A recorded run of the tests."
    else:
        bug, _ = one_bug.BUGS[rule]
        said = findings(trained(one_bug.script_of(rule)))
        command = "smdebug run -- python train.py"
        about = f"The bug: {bug}."
    print(f"{rule}\n{said}\n", file=sys.stderr)
    return f"### {rule}\n\n{about}\n\n```\n$ {command}\n{said}\n```"


def trained(script: str) -> str:
    """The summary of `smdebug run` on the script."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "train.py"
        path.write_text(script)
        command = [SMDEBUG, "run", "--out", "run", "--", PYTHON, path]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    return done.stderr[done.stderr.rindex("smdebug: ") :]


def checked(rule: str, run: str, settings: list[str]) -> str:
    """The answer of `smdebug check` on a run of tests/diff."""
    import sessions

    with tempfile.TemporaryDirectory() as folder:
        sessions.provide_run(run, pathlib.Path(folder))
        command = [SMDEBUG, "check", run, "--rule", rule, *settings]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    return "\n".join(wrapped(line) for line in done.stdout.splitlines())


def findings(summary: str) -> str:
    """The outcome and the lines of the findings, without those that depend on the machine."""
    outcome, *lines = summary.splitlines()
    kept, is_finding = [outcome], False
    for line in lines:
        title = line[2:].split(" ", 1)[0]
        is_finding = title in FINDING_TITLES or (not title and is_finding)
        if is_finding:
            kept.append(wrapped(line))
    return "\n".join(kept)


def wrapped(line: str) -> str:
    """A line of a table in lines of the page, indented to the column of its text."""
    indent = re.match(r"( *)(\S+(?: \S+)* {2,})?", line).end()
    return textwrap.fill(
        line,
        WIDTH,
        subsequent_indent=" " * min(indent, 20),
        break_long_words=False,
        break_on_hyphens=False,
    )


if __name__ == "__main__":
    sys.exit(main())
