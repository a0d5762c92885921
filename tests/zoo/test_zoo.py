"""A small fixed part of the zoo, and what the committed result of the whole is held to.

The whole is `make zoo`. What is trained here takes seconds.
"""

import json

import cases
import page
import published_figures
import pytest
import recording
import run_zoo
import scores
import told
from faults import Fault

from smdebug import _core

# Of the half that nothing was tuned on: one seed of faults that a rule must find.
FOUND = {
    "vanishing gradient/small_table/report/1": "VanishingGradient",
    "NaN from log(0)/small_table/report/1": "ExplodingTensor",
    "dead ReLU/perceptron/report/1": "DeadRelu",
    "layer not in the optimizer/perceptron/report/1": "UnchangedTensor",
    "all-zero input/perceptron/report/1": "AllZero",
    "wrong token padding/text/report/1": "NLPSequenceRatio",
    "replica that drifts/replicas/report/1": "ReplicasDiffer",
    "unrepeatable run/repetition/report/1": "SimilarAcrossRuns",
    "feature that is the label/diabetes_trees/report/1": "FeatureImportanceOverweight",
    "trees without a limit/diabetes_trees/report/1": "TreeDepth",
    "learning rate 0/wine_trees/report/1": "LossNotDecreasing",
    "shuffled labels of trees/wine_trees/report/1": "Confusion",
    "overfitting trees/diabetes_trees/report/1": "Overfit",
    "dead ReLU/keras_perceptron/report/1": "DeadRelu",
    "frozen layer/mxnet_tanh_perceptron/report/1": "UnchangedTensor",
    "clipped before unscaled/scaled/report/1": "MixedPrecision",
    "bad initialization: zeros/small_table/report/1": "PoorWeightInitialization",
    "bad initialization: small/perceptron/report/1": "PoorWeightInitialization",
}
HEALTHY = (
    "healthy/perceptron/report/1",
    "healthy/small_table/report/1",
    "healthy/text/report/1",
    "healthy/cancer_trees/report/1",
    "healthy/diabetes_trees/report/1",
    "replica that drifts/healthy/report/1",
    "unrepeatable run/healthy/report/1",
    "healthy/keras_perceptron/report/1",
    "healthy/mxnet_tanh_perceptron/report/1",
    "healthy/scaled/report/1",
)

# Documented, these two rules fire on nearly every training, healthy or not.
QUIET_WHEN_TUNED = [
    ("healthy/cancer_trees/report/1", "Overfit"),
    ("healthy/perceptron/report/1", "Confusion"),
    ("healthy/perceptron/report/1", "Overfit"),
    ("healthy/mxnet_tanh_perceptron/report/1", "Confusion"),
    ("healthy/mxnet_tanh_perceptron/report/1", "Overfit"),
]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Results of those cases: name -> result as run_zoo.py collects them."""
    wanted = [case for case in cases.all_cases() if case.name in (*FOUND, *HEALTHY)]
    assert len(wanted) == len(FOUND) + len(HEALTHY)
    found = run_zoo.run_cases(wanted, tmp_path_factory.mktemp("zoo"), jobs=1)
    for result in found:
        assert "error" not in result, result["error"]
    return {result["case"]: result for result in found}


@pytest.fixture(scope="module")
def committed():
    return json.loads(page.RESULTS.read_text())


@pytest.mark.parametrize("name", FOUND)
def test_a_planted_fault_is_found_with_either_preset(results, name):
    verdicts = results[name]["verdicts"][FOUND[name]]
    assert {preset: verdict[0] for preset, verdict in verdicts.items()} == {
        "default": "IssuesFound",
        "tuned": "IssuesFound",
    }


@pytest.mark.parametrize("name", HEALTHY)
def test_the_default_set_says_nothing_of_a_healthy_training(results, name):
    verdicts = results[name]["verdicts"]
    fired = {
        rule: verdicts[rule]["tuned"]
        for rule, _ in _core.default_rules()
        if rule in verdicts and verdicts[rule]["tuned"][0] == "IssuesFound"
    }
    assert fired.keys() <= scores.only_advise()
    if "told" in results[name]:
        assert told.above_advice(results[name]["told"]) == []


def test_a_training_is_recorded_as_smdebug_run_records_it(results):
    verdicts = results["healthy/perceptron/report/1"]["verdicts"]
    judged = {rule for rule, of in verdicts.items() if of["tuned"][0] == "NoIssuesFound"}
    # These read what a hook alone does not write: facts, and series of every step.
    assert judged >= {"GradientsNotCleared", "LearningRate", "LossInput"}


def test_a_process_of_the_zoo_is_recorded_once():
    with pytest.raises(RuntimeError, match="use a new one"):
        recording.recorded("{}", recording.start, "{}")


def test_a_failure_of_a_training_is_told():
    with pytest.raises(RuntimeError, match="no such recipe"):
        recording.in_own_process(_fail)


def _fail():
    raise ValueError("no such recipe")


@pytest.mark.parametrize(("name", "rule"), QUIET_WHEN_TUNED)
def test_a_rule_that_fires_as_documented_is_quiet_when_tuned(results, name, rule):
    verdicts = results[name]["verdicts"][rule]
    assert {preset: verdict[0] for preset, verdict in verdicts.items()} == {
        "default": "IssuesFound",
        "tuned": "NoIssuesFound",
    }


def test_the_zoo_admits_the_default_set(committed):
    default = [rule for rule, _ in _core.default_rules()]
    assert default == committed["default_set"]
    assert set(default) <= set(committed["admitted"])
    assert all(given == {"preset": "tuned"} for _, given in _core.default_rules())


def test_the_default_set_raised_no_false_alarm_and_needs_no_argument(committed):
    assert committed["default_set"]
    for rule in committed["default_set"]:
        halves = committed["rules"][rule].values()
        alarms = sum(half["tuned"]["false_alarms"] for half in halves)
        judged = sum(half["tuned"]["healthy_judged"] for half in halves)
        assert judged > 0, rule
        allowed = judged // scores.HEALTHY_PER_ADVICE if rule in scores.only_advise() else 0
        assert alarms <= allowed, rule
        _core.checked_rule_name(rule, {})


def test_the_page_and_the_results_come_from_the_same_run(committed):
    text = " ".join(page.PAGE.read_text().split())
    assert f"{committed['cases']} small real trainings" in text
    assert f"{committed['healthy']} of them healthy" in text


def test_the_page_has_the_figures_of_the_published_faults():
    results = published_figures.read()
    text = page.PAGE.read_text()
    for row in published_figures.rows(results):
        assert "| " + " | ".join(row) + " |" in text
    assert published_figures.lists(results) in text
    parts = {part: counts for part, counts in results["totals"].items() if part != "all"}
    assert sum(each["faults"] for each in parts.values()) == results["totals"]["all"]["faults"]


def test_the_page_lists_every_fault():
    text = page.PAGE.read_text()
    faults = [fault.name for fault in cases.all_faults()]
    table = text[text.index("## Results by fault") :]
    assert faults
    assert [name for name in faults if f"| {name} |" not in table] == []


def _said(*causes, more=(), notes=(), lines=12):
    """What `smdebug run` tells: "Rule" or "Rule: kind", with "advice " before advice."""

    def finding(text):
        words = text.removeprefix("advice ")
        rule, _, kind = words.partition(": ")
        return [rule, kind or None, "serious" if words == text else "advice", 10]

    leading = [finding(text) for text in causes]
    return {
        "causes": leading,
        "findings": [*leading, *(finding(text) for text in more)],
        "notes": list(notes),
        "lines": lines,
    }


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (_said(), "silent"),
        (_said("Rate: first updates too large"), "right"),
        (_said("Rate: too small"), "wrong"),
        (_said("Images", more=["Rate: too large"]), "half"),
        (_said("Tensor", more=["Images"]), "half"),
        (_said("Images", "Tensor"), "wrong"),
        (_said(more=["advice Images"]), "silent"),
        (_said(more=["advice Images", "advice Rate: too large"]), "right"),
        (_said(notes=["2 of 6 are frozen"]), "right"),
        (_said(more=["advice Images"], notes=["2 of 6 are frozen"]), "right"),
        (_said("Images", notes=["2 of 6 are frozen"]), "wrong"),
        (_said(notes=["2 of 6 are shared"]), "silent"),
    ],
)
def test_an_outcome_says_whether_the_planted_cause_leads(said, outcome):
    fault = Fault(
        "f",
        "",
        ("Loss",),
        named_by=("Rate: too large",),
        hinted_by=("Tensor",),
        noted_as="frozen",
    )
    assert told.outcome(fault, said).name == outcome


def test_a_fault_is_named_by_the_rules_that_are_meant_unless_it_says_others():
    assert Fault("f", "", ("Loss",)).is_named_by("Loss", "rises")
    assert not Fault("f", "", ("Loss",), named_by=()).is_named_by("Loss", "rises")


def test_counts_leave_out_what_was_not_told_and_tell_advice_from_alarms():
    fault = Fault("f", "", ("Loss",), noted_as="frozen")

    def result(fault, said, quality=0.5):
        told = {"told": said, "quality": quality} if said else {}
        return {"case": "x/recipe/tune/0", "fault": fault and fault.name, **told}

    counts = told.count(
        [
            result(fault, _said("Loss", lines=10)),
            result(fault, _said(), 0.4),
            result(fault, _said(), 0.5),
            result(fault, _said(notes=["frozen"])),
            result(fault, None),
            result(None, _said(more=["advice Images"], lines=14)),
            result(None, _said("Loss", "Images")),
            result(None, None),
        ],
        {"f": fault},
    )
    assert (counts.faulty, counts.found, counts.healthy, counts.alarmed) == (4, 2, 2, 1)
    assert counts.harmless == 1
    assert (counts.alarms, counts.advice) == ({"Loss": 1, "Images": 1}, {"Images": 1})
    assert told.summary(counts)["median_lines"] == 12
    assert told.summary(counts)["median_step"] == 10


def test_the_page_tells_the_outcome_of_each_fault_by_default(committed):
    for half in committed["told"].values():
        outcomes = [half[each.name] for each in told.Outcome]
        assert sum(outcomes) == half["faulty"]
        assert half["found"] == half["faulty"] - half["silent"]


def test_the_halves_share_no_seed_and_every_fault_is_in_both():
    seeds = {"tune": set(), "report": set()}
    faults = {"tune": set(), "report": set()}
    for case in cases.all_cases():
        seeds[case.half].add(case.seed)
        faults[case.half].add(case.fault and case.fault.name)
    assert not seeds["tune"] & seeds["report"]
    assert faults["tune"] == faults["report"] == {None, *(f.name for f in cases.all_faults())}


@pytest.mark.parametrize(("framework", "at_least"), [("Keras", 10), ("MXNet", 3)])
def test_every_fault_of_a_twin_is_one_of_pytorch(framework, at_least):
    twins = [case for case in cases.all_cases() if case.framework == framework]
    own = {(case.fault, case.half) for case in cases.all_cases() if case.framework == "PyTorch"}
    assert {(case.fault, case.half) for case in twins} < own
    assert len({case.fault for case in twins} - {None}) >= at_least


def test_the_page_tells_each_framework_for_itself():
    def result(framework, fault, status, half="report"):
        verdicts = {"R": {"default": [status, 0, ""], "tuned": [status, 0, ""]}}
        return {"case": f"{framework}{fault}", "framework": framework, "half": half,
                "fault": fault, "meant": ["R"] if fault else [], "verdicts": verdicts}  # fmt: skip

    table = page._framework_table(
        [
            result("Keras", "a", "NoIssuesFound"),
            result("Keras", None, "IssuesFound"),
            result("PyTorch", "a", "IssuesFound"),
            result("PyTorch", "a", "NoIssuesFound", "tune"),
            result("PyTorch", None, "NoIssuesFound"),
            result("Other", None, "Error"),
        ]
    )
    assert "| rule | PyTorch, 3 cases | Keras, 2 cases | Other, 1 cases |" in table
    assert "| R | 1 of 2; 0 of 1 | 0 of 1; 1 of 1 | - |" in table


def test_a_score_counts_what_was_meant_and_blames_only_healthy_cases():
    def result(fault, meant, status, step=None, half="report"):
        verdict = [status, step, ""]
        return {"case": f"{fault}{step}", "half": half, "fault": fault, "meant": meant,
                "verdicts": {"R": {"default": verdict, "tuned": verdict}}}  # fmt: skip

    results = [
        result("a", ["R"], "IssuesFound", 10),
        result("a", ["R"], "IssuesFound", 30),
        result("a", ["R"], "NoIssuesFound"),
        result("a", ["R"], "Error"),
        result("b", ["Q"], "IssuesFound", 5),
        result("a", ["R"], "IssuesFound", 7, half="tune"),
        result(None, [], "IssuesFound", 3),
        result(None, [], "NoIssuesFound"),
        result(None, [], "Error"),
    ]
    score = scores.score(results, "R", "tuned", "report")
    assert (score.meant, score.found, score.recall) == (4, 2, 0.5)
    assert (score.judged, score.alarms, score.median_step) == (2, ["None3"], 20)
    assert scores.also_fires(results, "tuned") == {"b": {"R": 1}}
    assert scores.admitted(results) == []
    assert scores.admitted(results[:6] + results[7:]) == ["R"]
    assert scores.admitted(results[:6] + results[8:]) == []


@pytest.mark.parametrize(
    ("rule", "fired", "is_admitted"),
    [("Overfit", 1, True), ("Overfit", 2, False), ("WrongMode", 1, False)],
)
def test_only_advice_may_be_given_on_one_healthy_training_in_sixty(rule, fired, is_admitted):
    results = [
        {
            "fault": None,
            "verdicts": {rule: {"tuned": ["IssuesFound" if n < fired else "NoIssuesFound", 0, ""]}},
        }
        for n in range(60)
    ]
    assert scores.admitted(results) == ([rule] if is_admitted else [])
