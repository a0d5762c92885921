"""docs/rule-quality.md and docs/rule-quality.json, from the results of all cases."""

import collections
import json
import os
import pathlib
import platform
import textwrap

import cases
import judging
import published_figures
import recipes
import scores
import told
import torch
import xgboost

from smdebug import _core

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "rule-quality.md"
RESULTS = DOCS / "rule-quality.json"
GOAL = 0.95
PAGE_WIDTH = 96
# Reasons why a rule may miss the goal; the page lists those of rules that do.
REASONS = {
    "CheckInputImages": (
        "it judges after 500 images; under `smdebug run`, images are saved in the first steps of "
        "each mode and every 50th step, and small batches do not reach that number"
    ),
    "ClassImbalance": (
        "it counts 2000 labels before it judges, and short trainings on small sets have fewer; "
        "with two classes, no class of shuffled labels is mispredicted nine times in ten; and "
        "large batches reach that count before the model ever predicts some classes"
    ),
    "Confusion": (
        "a class that the model learns late is wrong for a while, and batches contain few "
        "samples of it; until then, the matrix of a healthy training may not improve"
    ),
    "FeatureImportanceOverweight": (
        "it fires if one feature has nine tenths of the gain; a feature that encodes one of "
        "three classes takes more than one split and has less than seven tenths"
    ),
    "LabelsAndInputs": (
        "labels of a batch count as sorted if 80 % are of one class; batches that hold the end of "
        "one class and the beginning of the next do not"
    ),
    "LearningRate": (
        "it judges the first updates, and losses that hardly fall; a learning rate that spoils a "
        "training later is found by LossNotDecreasing, WeightUpdateRatio or DeadRelu; MXNet does "
        "not report the kind of its optimizer"
    ),
    "LossInput": (
        "it does not notice a softmax before a loss of MXNet; Keras repairs its own, because its "
        "loss takes the scores from before the softmax"
    ),
    "LossNotDecreasing": (
        "a loss that falls, if only a little, passes, and so does one that crosses zero; losses "
        "that are minimized in turn, and those of models that a step calls several times, may "
        "rise up to a thousandfold; trees memorize shuffled labels"
    ),
    "NoGeneralization": (
        "it compares the validation loss with that of a guess; a network that memorizes a small "
        "training set, or shuffled labels, often stays near a guess or was better before; MXNet "
        "reports no losses that it can use"
    ),
    "Overfit": (
        "it fires if the training loss continues toward 0 after the validation loss has reached "
        "its minimum, even though the accuracy stays good on both sets"
    ),
    "Overtraining": ("it fires if the training continues after both losses are close to 0"),
    "PoorWeightInitialization": (
        "as documented, it fires on healthy trainings: biases before a normalization and "
        "embeddings of rare words have zero gradients, and a third hidden layer makes variances "
        "differ; with `preset=tuned`, it judges the initial weights themselves"
    ),
    "TensorVariance": "its bounds are those of the sample in the documentation",
    "VanishingGradient": (
        "with `preset=tuned`, three in ten gradients must be below the threshold; those of the "
        "same layers are larger with the initialization of Keras, and in MXNet they are sums over "
        "the batch"
    ),
    "WeightUpdateRatio": (
        "a learning rate that is a hundred times too low moves the weights like one that has "
        "decayed; and the first steps of RMSprop change small weights by more than their norm, "
        "for which the documented threshold works better"
    ),
}


def write(results):
    """Writes both files."""
    RESULTS.write_text(_lines_of_json(summary(results)))
    PAGE.write_text(text(results))


def summary(results):
    """The figures that tests compare with the core's default set."""
    return {
        "cases": len(results),
        "healthy": sum(result["fault"] is None for result in results),
        "default_set": _default_rules(),
        "admitted": scores.admitted(results),
        "told": {half: told.summary(_told(results, half)) for half in recipes.HALVES},
        "rules": {rule: _rule_summary(results, rule) for rule in _rules(results)},
    }


def text(results):
    """The page."""
    return (
        "\n\n".join(
            [
                "# Quality of the rules",
                _introduction(results),
                "## What a user sees",
                _told_text(results),
                "## Published faults",
                _published_text(),
                "## Report half: not used for tuning",
                _rule_table(results, recipes.REPORT),
                _goal(results),
                "## Tuning half",
                _rule_table(results, recipes.TUNE),
                "## By framework",
                _framework_table(results),
                "## Tuned parameters",
                _tuned_table(),
                "## The default set",
                _default_set(results),
                "## Results by fault",
                _fault_table(results),
                "## Missed faults and false alarms",
                _misses(results),
                "",
            ]
        ).rstrip()
        + "\n"
    )


def _introduction(results):
    healthy = sum(result["fault"] is None for result in results)
    return _paragraphs(
        f"""`make zoo` generates this page by running `tests/zoo/run_zoo.py`: {len(results)}
        small real trainings on data sets of scikit-learn, {healthy} of them healthy, the others
        each with one planted fault. Each runs under `smdebug run` twice: without options, and with
        every rule, both with the documented defaults (`preset=default`) and with tuned parameters
        (`preset=tuned`). Names of cases show the framework if it is not PyTorch: the prefix
        `keras_` or `mxnet_`, or the suffix `_trees` for XGBoost, whose steps are boosting rounds.
        Generated with PyTorch {torch.__version__} and XGBoost {xgboost.__version__} on
        {platform.machine()}, {os.cpu_count()} cores, no GPU.""",
        """The trainings form two halves that share neither size nor optimizer nor seed. The tuned
        values were chosen on the tuning half; the report half shows how well they generalize.
        *Recall* is the share of faulty trainings on which a rule meant for the fault (below)
        fired. A *false alarm* is any firing on a healthy training, out of those that contain
        the data the rule needs. *Steps* is the median global step of the first firing.""",
        f"""Rules that need arguments received: {_needed_text()}. SimilarAcrossRuns compares
        a training with its repetition. StalledTrainingRule judges only its own
        cases, with a `threshold` of {judging.WATCHED_SECONDS} seconds instead of half an hour.
        {judging.WRITES_REPORT} never fires and is not measured.""",
    )


def _told(results, half):
    return told.count([result for result in results if result["half"] == half], _faults())


def _faults():
    return {fault.name: fault for fault in cases.all_faults()}


def _told_text(results):
    left_out = [fault.name for fault in cases.all_faults() if not fault.shows_by_default]
    introduction = _paragraphs(
        f"""`smdebug run` without options, so with the default rules of this version, and in the
        words of its [diagnosis](diagnosis.md). A fault is *found* if anything above advice fired,
        or advice or a note that names it. The *right cause leads* if the first diagnosis names the
        planted cause: it is one of at most two that the finding lists, or the advice leads to it.
        *Half right* is a first diagnosis that lists it among more causes, or a right finding that
        does not lead. Anything else that is found is *wrong*. Left out, because they need an option
        or half an hour: {_names(left_out)}.""",
        """The report half was not used for tuning. But a rule is in the default set only if it is
        silent on the healthy trainings of both halves, or only advises and is nearly silent on
        them, so the false alarms of this page are what
        the set was chosen by, not an estimate for other trainings; and the faults are those that
        the rules were written for. `tests/zoo/published` has published faults and healthy
        trainings; their figures [follow](#published-faults).""",
    )
    columns = [_told(results, half) for half in (recipes.REPORT, recipes.TUNE)]
    rows = [[name, *map(cell, columns)] for name, cell in _TOLD_ROWS]
    return f"{introduction}\n\n" + _table(["", "report half", "tuning half"], rows)


def _published_text():
    results = published_figures.read()
    head = ["", *published_figures.columns(results)]
    return "\n\n".join(
        [
            _paragraphs(published_figures.INTRODUCTION),
            _table(head, published_figures.rows(results)),
            published_figures.lists(results),
        ]
    )


def _share(count, total):
    return f"{count} of {total} ({count / total:.2f})" if total else "-"


def _by_rule(counter):
    return ", ".join(f"{rule} {count}" for rule, count in sorted(counter.items())) or "none"


_TOLD_ROWS = (
    ("faults found", lambda counts: _share(counts.found, counts.faulty)),
    *(
        (each.value, lambda counts, each=each: _share(counts.outcomes[each], counts.faulty))
        for each in told.Outcome
    ),
    (
        "of those not found, as good as a healthy training",
        lambda counts: _share(counts.harmless, counts.outcomes[told.Outcome.silent]),
    ),
    ("healthy with a false alarm", lambda counts: _share(counts.alarmed, counts.healthy)),
    ("false alarms by rule", lambda counts: _by_rule(counts.alarms)),
    (
        "advice per healthy training",
        lambda counts: f"{counts.advice.total() / max(counts.healthy, 1):.2f}",
    ),
    ("advice by rule", lambda counts: _by_rule(counts.advice)),
    ("steps until the first finding, median", lambda counts: _number(told.median(counts.steps))),
    ("lines printed, median", lambda counts: _number(told.median(counts.lines))),
    ("lines printed, most", lambda counts: _number(max(counts.lines, default=None))),
)


def _number(value):
    return "-" if value is None else f"{value:g}"


def _paragraphs(*texts):
    return "\n\n".join(
        textwrap.fill(" ".join(text.split()), PAGE_WIDTH, break_long_words=False,
                      break_on_hyphens=False)
        for text in texts
    )  # fmt: skip


def _needed_text():
    return "; ".join(
        f"{rule} " + ", ".join(f"`{name}={value}`" for name, value in given.items())
        for rule, given in judging.NEEDED.items()
    )


def _rules(results):
    return sorted({rule for result in results for rule in result["verdicts"]})


def _rule_summary(results, rule):
    return {half: _half_summary(results, rule, half) for half in recipes.HALVES}


def _half_summary(results, rule, half):
    return {
        preset: _score_summary(scores.score(results, rule, preset, half))
        for preset in judging.PRESETS
    }


def _score_summary(score):
    return {
        "meant": score.meant,
        "found": score.found,
        "healthy_judged": score.judged,
        "false_alarms": len(score.alarms),
        "median_step": score.median_step,
    }


def _measured(results, half):
    for rule in _rules(results):
        documented, tuned = (
            scores.score(results, rule, preset, half) for preset in judging.PRESETS
        )
        if documented.meant or documented.judged:
            yield rule, documented, tuned


def _rule_table(results, half):
    rows = [
        [
            rule,
            _recall(documented),
            _recall(tuned),
            _alarms(documented),
            _alarms(tuned),
            _step(documented),
            _step(tuned),
        ]
        for rule, documented, tuned in _measured(results, half)
    ]
    return _table(
        ["rule", "recall, documented", "recall, tuned", "false alarms, documented", "tuned",
         "steps, documented", "tuned"],
        rows,
    )  # fmt: skip


def _recall(score):
    return f"{score.recall:.2f} ({score.found} of {score.meant})" if score.meant else "-"


def _alarms(score):
    return f"{len(score.alarms)} of {score.judged}"


def _step(score):
    return _number(score.median_step)


def _framework_table(results):
    """Each rule's recall and false alarms, by framework."""
    names = {result["framework"] for result in results}
    names = sorted(names, key=lambda name: (name != "PyTorch", name))
    introduction = _paragraphs(
        """Recall and false alarms with `preset=tuned`, over both halves. The trainings with Keras
        and MXNet are twins of those with PyTorch: they have the same data, sizes and faults,
        but their own names and loops; nothing was tuned on them. A dash means that a rule
        judged nothing of a framework."""
    )
    by_framework = {
        name: [result for result in results if result["framework"] == name] for name in names
    }
    counts = [f"{len(own)} cases" for own in by_framework.values()]
    rows = [
        [rule, *(_framework_cell(own, rule) for own in by_framework.values())]
        for rule in _rules(results)
    ]
    head = ["rule", *(f"{name}, {count}" for name, count in zip(names, counts, strict=True))]
    return f"{introduction}\n\n" + _table(head, [row for row in rows if set(row[1:]) != {"-"}])


def _framework_cell(results, rule):
    halves = [scores.score(results, rule, "tuned", half) for half in recipes.HALVES]
    meant, found, judged = (
        sum(getattr(score, name) for score in halves) for name in ("meant", "found", "judged")
    )
    alarms = sum(len(score.alarms) for score in halves)
    if not meant and not judged:
        return "-"
    return f"{found} of {meant}; {alarms} of {judged}"


def _goal(results):
    tuned = {rule: score for rule, _, score in _measured(results, recipes.REPORT)}
    low = [rule for rule, score in tuned.items() if score.meant and score.recall < GOAL]
    loud = [rule for rule, score in tuned.items() if score.alarms]
    badly = [
        f"{rule} ({_alarms(score)})"
        for rule, score, _ in _measured(results, recipes.REPORT)
        if score.alarms
    ]
    introduction = _paragraphs(
        f"""The goal, with `preset=tuned` on this half, is a recall of {GOAL} and no false alarms.
        Recall is lower for: {_names(low)}. False alarms remain for: {_names(loud)}.""",
        f"""With the documented defaults, these rules raise false alarms on this half:
        {_names(badly)}. They remain the defaults because documents and scripts rely on them;
        use `preset=tuned` instead.""",
        "Reasons why rules miss the goal:",
    )
    failing = [rule for rule in tuned if rule in {*low, *loud}]
    return "\n".join(
        [f"{introduction}\n", *(f"- {rule}: {REASONS.get(rule, '?')}." for rule in failing)]
    )


def _names(names):
    return ", ".join(names) if names else "none"


def _tuned_table():
    rows = [
        [rule["name"], f"`{parameter['name']}`", parameter["default"] or "-", parameter["tuned"]]
        for rule in _core.builtin_rules()
        for parameter in rule["parameters"]
        if parameter["tuned"] != parameter["default"]
    ]
    return (
        "Rules that are not listed behave the same with both presets.\n\n"
        + _table(["rule", "parameter", "documented", "tuned"], rows)
    )  # fmt: skip


def _default_rules():
    return [rule for rule, _ in _core.default_rules()]


def _default_set(results):
    admitted, default = scores.admitted(results), _default_rules()
    return _paragraphs(
        f"""Without `--rule`, `smdebug run` uses these rules with `preset=tuned`:
        {_names(default)}.""",
        f"""A rule may be among them if it needs no argument and, with `preset=tuned`, raised no
        false alarm on any healthy training of either half; a rule that only advises may fire on
        one in {scores.HEALTHY_PER_ADVICE}. Default rules of which this is not true:
        {_names([rule for rule in default if rule not in admitted])}. Other rules of which it is
        true: {_names([rule for rule in admitted if rule not in default])}.""",
    )


def _fault_table(results):
    also = scores.also_fires(results, "tuned")
    rows = []
    for fault in cases.all_faults():
        own = [result for result in results if result["fault"] == fault.name]
        others = sorted(also.get(fault.name, {}).items(), key=lambda item: (-item[1], item[0]))
        rows.append(
            [
                fault.name,
                fault.why,
                ", ".join(fault.meant),
                f"{sum(_is_found(result) for result in own)} of {len(own)}",
                _outcomes_text(told.count(own, {fault.name: fault}).outcomes),
                ", ".join(f"{rule} {count}" for rule, count in others) or "-",
            ]
        )
    introduction = _paragraphs(
        """Over both halves, with `preset=tuned`. *Found* counts the trainings on which a rule
        meant for the fault fired. *By default* is what `smdebug run` without options says. The
        other rules that fired follow from the fault or are early findings; they count neither for
        nor against it."""
    )
    return f"{introduction}\n\n" + _table(
        ["fault", "what it is", "meant", "found", "by default", "also fires"], rows
    )


def _outcomes_text(outcomes):
    words = [f"{outcomes[each]} {each.name}" for each in told.Outcome if outcomes[each]]
    return ", ".join(words) or "-"


def _is_found(result):
    return any(
        result["verdicts"][rule]["tuned"][0] == "IssuesFound"
        for rule in result["meant"]
        if rule in result["verdicts"]
    )


def _misses(results):
    lines = []
    for half in (recipes.REPORT, recipes.TUNE):
        for rule, _, tuned in _measured(results, half):
            if tuned.missed:
                lines.append(f"- {rule} missed, of half {half}: {_counted(tuned.missed)}")
            if tuned.alarms:
                lines.append(f"- {rule} fired, of half {half}: {_counted(tuned.alarms)}")
    introduction = (
        "By case, with `preset=tuned` and the number of seeds. To repeat one: "
        "`run_zoo.py --only NAME`."
    )
    by_default = _misses_by_default(results)
    return (
        f"{introduction}\n\n"
        + ("\n".join(lines) or "- nothing")
        + "\n\nWithout options, by what leads:\n\n"
        + ("\n".join(by_default) or "- nothing")
    )


def _misses_by_default(results):
    """A line for each outcome that is not right, and for each rule with a false alarm."""
    faults, named = _faults(), collections.defaultdict(list)
    for result in results:
        if "told" not in result:
            continue
        if result["fault"] is None:
            for rule, kind, *_ in told.above_advice(result["told"]):
                named[f"false alarm of {_finding_text(rule, kind)}"].append(result["case"])
            continue
        found = told.outcome(faults[result["fault"]], result["told"])
        if found is told.Outcome.silent:
            named[found.value].append(result["case"])
        elif found is not told.Outcome.right:
            rule, kind, *_ = result["told"]["causes"][0]
            named[f"{found.value}, {_finding_text(rule, kind)}"].append(result["case"])
    return [f"- {title}: {_counted(own)}" for title, own in sorted(named.items())]


def _finding_text(rule, kind):
    return f'{rule} "{kind}"' if kind else rule


def _counted(names):
    """ "healthy/text 3": cases of one fault and recipe, over seeds."""
    counts = collections.Counter("/".join(name.split("/")[:2]) for name in names)
    return ", ".join(f"`{name}` {count}" for name, count in counts.items())


def _table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _lines_of_json(value):
    """One line per rule, so that differences are readable."""
    rules = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(rule)}" for name, rule in value["rules"].items()
    )
    rest = {name: each for name, each in value.items() if name != "rules"}
    body = ",\n".join(f" {json.dumps(name)}: {json.dumps(each)}" for name, each in rest.items())
    return f'{{\n{body},\n "rules": {{\n{rules}\n }}\n}}\n'
