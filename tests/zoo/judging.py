"""What `smdebug run` tells of a training: once with its default rules, as users run it, and once
with every rule, as documented and tuned."""

import recording

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
# Judged only where its threshold does not depend on the speed of the machine.
NEEDS_TIME = "StalledTrainingRule"
# The rule's own threshold of half an hour would take too long here.
WATCHED_SECONDS = 20


def every_rule(train, out_dir, more=None):
    """The verdicts of every rule on the training `train(request)`: (rule, preset) -> dict as
    printed by `smdebug run --json`. `more` are further parameters: rule -> name -> text."""
    more = more or {}
    words = []
    for rule in judged_rules(more):
        for preset in PRESETS:
            given = {"preset": preset} | NEEDED.get(rule, {}) | more.get(rule, {})
            words += _rule_words(rule, given)
    with recording.smdebug_run(out_dir, words) as launched:
        train(launched.request)
    return {
        (verdict["rule"], verdict["parameters"]["preset"]): verdict
        for verdict in launched.summary["verdicts"]
    }


def judged_rules(more=()):
    """The names of the rules that judge a training, sorted."""
    names = [rule["name"] for rule in _core.builtin_rules()]
    left_out = (COMPARES_RUNS, NEEDS_TIME, WRITES_REPORT)
    return [name for name in names if name not in left_out or name in more]


def default_rules(train, out_dir):
    """Trains with `smdebug run` and no option. Returns (what `train(request)` returns, what
    smdebug reports).

    The latter is a dict: `findings` are all rules that fired, as [rule, kind, severity, step];
    `causes` those that a diagnosis is about, in its order; `notes` the facts that are no finding;
    `lines` the number of lines printed.
    """
    with recording.smdebug_run(out_dir) as launched:
        answer = train(launched.request)
    summary = launched.summary
    if summary["problem"]:
        raise RuntimeError(f"smdebug run: {summary['problem']}")
    fired = [each for each in summary["verdicts"] if each["status"] == "IssuesFound"]
    return answer, {
        "findings": [_finding(each) for each in fired],
        "causes": [_finding(each["cause"]) for each in summary["diagnosis"]],
        "notes": [each["note"] for each in summary["verdicts"] if each["note"]],
        "lines": launched.lines,
    }


def _finding(told):
    return [told["rule"], told["kind"], told["severity"], told["step"]["global"]]


def _rule_words(rule, parameters):
    words = ["--rule", rule]
    for name, value in parameters.items():
        words += ["--set", f"{name}={value}"]
    return words
