"""The verdicts of every rule on a run, as documented and tuned: one call of `smdebug check`."""

import json
import os
import tempfile

from smdebug import _core

PRESETS = ("default", "tuned")
# Required parameters that have no default.
NEEDED = {
    "AllZero": {"tensor_regex": "_input_0$,(^|/)inputs$"},
    "TensorVariance": {
        "collection_names": "weights",
        "max_threshold": "10",
        "min_threshold": "1e-5",
    },
    "UnchangedTensor": {"collection_names": "weights"},
}
# Judged only if there is another run to compare with.
COMPARES_RUNS = "SimilarAcrossRuns"
# Writes a report and never fires.
WRITES_REPORT = "CreateXgboostReport"
# Judged only while a training runs.
NEEDS_TIME = "StalledTrainingRule"
# The rule's own threshold of half an hour would take too long here.
WATCHED_SECONDS = 20


def judged_rules(more=()):
    """The names of the rules that judge a finished run, sorted."""
    names = [rule["name"] for rule in _core.builtin_rules()]
    left_out = (COMPARES_RUNS, NEEDS_TIME, WRITES_REPORT)
    return [name for name in names if name not in left_out or name in more]


def judge(out_dir, more=None):
    """The verdicts on the run: (rule, preset) -> dict as printed by `smdebug check --json`. `more`
    are further parameters: rule -> name -> text."""
    more = more or {}
    words = ["check", "--json", str(out_dir)]
    for rule in judged_rules(more):
        for preset in PRESETS:
            given = {"preset": preset} | NEEDED.get(rule, {}) | more.get(rule, {})
            words += _rule_words(rule, given)
    return _verdicts(words)


def watch(out_dir):
    """The verdicts of the rule that watches time, on a running training: see `judge`."""
    words = ["watch", "--json", str(out_dir)]
    parameters = {"threshold": str(WATCHED_SECONDS)}
    for preset in PRESETS:
        words += _rule_words(NEEDS_TIME, {"preset": preset} | parameters)
    return _verdicts(words)


def _verdicts(words):
    [judged] = json.loads(_output_of(words))
    return {
        (verdict["rule"], verdict["parameters"]["preset"]): verdict
        for verdict in judged["verdicts"]
    }


def _rule_words(rule, parameters):
    words = ["--rule", rule]
    for name, value in parameters.items():
        words += ["--set", f"{name}={value}"]
    return words


def _output_of(words):
    """Returns the standard output of the command line."""
    with tempfile.TemporaryFile("w+") as file:
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            code = _core.run_command_line(words, lambda *_: None)
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        said = file.read()
    if not said:
        raise RuntimeError(f"smdebug {' '.join(words)} ended with {code}")
    return said
