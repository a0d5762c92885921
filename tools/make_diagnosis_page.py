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
# Rules whose example is a recorded run: the run and the settings, as in tests/diff/rules.
RECORDED = {
    "AllZero": ("sick", "collection_names=zeros"),
    "ClassImbalance": (
        "sick",
        *("samples=16", "labels_regex=^labels$", "predictions_regex=^predictions$"),
    ),
    "Confusion": ("sick", "labels_collection=none", "predictions_collection=none"),
    "CreateXgboostReport": ("sick",),
    "DeadRelu": ("sick",),
    "ExplodingTensor": ("sick",),
    "FeatureImportanceOverweight": ("sick", "nfeatures=1"),
    "NLPSequenceRatio": ("sick", "tensor_regex=^tokens$"),
    "Overtraining": ("sick", "patience_train=2", "patience_validation=2"),
    "ReplicasDiffer": ("workers_two",),
    "SaturatedActivation": ("sick", "threshold_inactivity=50"),
    "SimilarAcrossRuns": ("sick", "other_trials=healthy", "collection_names=weights"),
    "TensorVariance": ("sick", "collection_names=zeros", "min_threshold=1e-9"),
    "TreeDepth": ("sick", "depth=3"),
    "UnchangedTensor": ("sick", "tensor_regex=^Perceptron_fc3.weight$", "num_steps=2"),
    "VanishingGradient": ("sick",),
    "WeightUpdateRatio": ("sick",),
}
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
    """A section for each rule."""
    from smdebug import _core

    rules = sorted(rule["name"] for rule in _core.builtin_rules())
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return "\n\n".join(pool.map(section, rules))


def section(rule: str) -> str:
    """The bug and the findings of one rule."""
    import one_bug

    if rule in RECORDED:
        run, *settings = RECORDED[rule]
        options = "".join(f" --set {setting}" for setting in settings)
        command = f"check {run} --rule {rule}{options}"
        said = checked(command)
        about = "A recorded run of the tests."
    else:
        bug, _ = one_bug.BUGS[rule]
        options = one_bug.OPTIONS.get(rule, [])
        said = findings(trained(one_bug.script_of(rule), options))
        command = " ".join(["run", *options, "-- python train.py"])
        about = f"The bug: {bug}."
    print(f"{rule}\n{said}\n", file=sys.stderr)
    return f"### {rule}\n\n{about}\n\n```\n$ smdebug {command}\n{said}\n```"


def trained(script: str, options: list[str]) -> str:
    """The summary of `smdebug run` with `options` on the script."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "train.py"
        path.write_text(script)
        command = [SMDEBUG, "run", *options, "--out", "run", "--", PYTHON, path]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    return done.stderr[done.stderr.rindex("smdebug: ") :]


def checked(command: str) -> str:
    """The answer to a command on a recorded run."""
    import sessions

    _, *lines = sessions.replay([command]).splitlines()
    return "\n".join(wrapped(line) for line in lines if not line.startswith("[exit "))


def findings(summary: str) -> str:
    """The outcome and the lines of the findings, without those that depend on the machine, and with
    a column of titles that is as wide as they are without those."""
    outcome, *lines = summary.splitlines()
    kept, is_finding, column = [], False, 0
    for line in lines:
        title = line[2:].split(" ", 1)[0]
        is_finding = title in FINDING_TITLES or (not title and is_finding)
        if is_finding:
            column = column or re.match(r"  \S+ +", line).end()
            kept.append((title, line[column:]))
    width = max((len(title) for title, _ in kept), default=0)
    rows = [wrapped(f"  {title:{width}}  {text}") for title, text in kept]
    return "\n".join([outcome, *rows])


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
