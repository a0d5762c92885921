"""Rules on real XGBoost trainings: each fires where it should, and stays silent where not.

Each is asked twice: inside the training, and over the run that it wrote.
"""

import subprocess
import sys

import numpy as np
import pytest
import xgboost
from sklearn.datasets import load_breast_cancer, load_iris

import smdebug.xgboost as smd
from conftest import COLLECTIONS, EVERY_ROUND, train
from smdebug.exceptions import RuleEvaluationConditionMet, SMDebugValueError

BASE = {"objective": "binary:logistic", "eta": 0.3, "nthread": 1, "seed": 1}


def split(x, y, seed=0):
    """(training matrix, validation matrix), three to one."""
    order = np.random.RandomState(seed).permutation(len(y))
    cut = len(y) * 3 // 4
    return (
        xgboost.DMatrix(x[order[:cut]], y[order[:cut]]),
        xgboost.DMatrix(x[order[cut:]], y[order[cut:]]),
    )


def cancer():
    return split(*load_breast_cancer(return_X_y=True))


def noise():
    """Labels that nothing tells."""
    random = np.random.RandomState(3)
    return split(random.rand(200, 5), random.randint(0, 2, 200))


def giveaway():
    """A feature that is nearly the label, among seven that are noise."""
    random = np.random.RandomState(4)
    y = random.randint(0, 2, 300)
    nearly = np.where(random.rand(300) < 0.05, 1 - y, y)
    return split(np.column_stack([nearly, random.rand(300, 7)]), y)


def even():
    """Eight features that matter alike."""
    x = np.random.RandomState(5).rand(600, 8)
    return split(x, (x.sum(axis=1) > 4).astype(int))


def rare():
    """One label in forty is 1, and nothing tells which."""
    random = np.random.RandomState(6)
    return split(random.rand(2400, 4), (np.arange(2400) % 40 == 0).astype(int))


def flowers():
    return split(*load_iris(return_X_y=True))


OF_GAIN = {"nfeatures": 1, "threshold": 0.6, "tensor_regex": ".*feature_importance/total_gain"}
CLASSES = {"objective": "multi:softprob", "num_class": 3}
# (rule, its parameters), data, parameters of the training, rounds, whether it fires
CASES = {
    "deep trees": (("TreeDepth", {"depth": 3}), noise, {"max_depth": 6}, 3, True),
    "flat trees": (("TreeDepth", {"depth": 3}), noise, {"max_depth": 3}, 3, False),
    "one feature gives the label away": (
        ("FeatureImportanceOverweight", OF_GAIN),
        giveaway,
        {"max_depth": 2},
        3,
        True,
    ),
    "features that matter alike": (
        ("FeatureImportanceOverweight", OF_GAIN),
        even,
        {"max_depth": 4},
        3,
        False,
    ),
    "noise learned by heart": (("Overfit", {}), noise, {"max_depth": 6}, 12, True),
    "a model that holds": (
        ("Overfit", {"ratio_threshold": 0.3}),
        even,
        {"max_depth": 2},
        3,
        False,
    ),
    "a loss that stands still": (
        ("LossNotDecreasing", {"num_steps": 3}),
        noise,
        {"eta": 0.0},
        8,
        True,
    ),
    "a loss that falls": (
        ("LossNotDecreasing", {"num_steps": 3}),
        cancer,
        {"max_depth": 2},
        8,
        False,
    ),
    "classes confused": (("Confusion", {}), noise, {"max_depth": 2}, 3, True),
    "classes told apart": (
        ("Confusion", {"min_diag": 0.8, "max_off_diag": 0.2}),
        flowers,
        CLASSES,
        3,
        False,
    ),
    "a rare class": (
        ("ClassImbalance", {"samples": 300}),
        rare,
        {"max_depth": 2},
        3,
        True,
    ),
    "classes alike": (("ClassImbalance", {"samples": 100}), cancer, {"max_depth": 2}, 3, False),
}


def expected_of(fires):
    return "IssuesFound" if fires else "NoIssuesFound"


def train_case(hook, name):
    _, data, params, rounds, _ = CASES[name]
    dtrain, dval = data()
    hook.train_data, hook.validation_data = dtrain, dval
    return train(hook, BASE | params, dtrain, dval, rounds=rounds)


@pytest.mark.parametrize("name", CASES)
def test_a_rule_says_so_inside_the_training(name, out_dir):
    rule, *_, fires = CASES[name]
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND, rules=[rule])
    train_case(hook, name)
    hook.close()
    (verdict,) = hook.verdicts()
    assert verdict["status"] == expected_of(fires), verdict
    assert verdict["message"] or not fires


@pytest.mark.parametrize("name", CASES)
def test_a_rule_says_so_over_the_run(name, out_dir):
    (rule, parameters), *_, fires = CASES[name]
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND, include_collections=COLLECTIONS)
    train_case(hook, name)
    hook.close()
    code, out = check(out_dir, rule, parameters)
    assert code == (3 if fires else 0), out
    assert expected_of(fires) in out and rule in out


def check(out_dir, rule, parameters):
    """The exit code of `smdebug check`, and what it printed."""
    settings = [word for each in parameters.items() for word in ("--set", "{}={}".format(*each))]
    done = subprocess.run(
        [sys.executable, "-m", "smdebug", "check", out_dir, "--rule", rule, *settings],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def test_stop_ends_the_training_after_the_round(out_dir):
    hook = smd.Hook(
        out_dir, save_config=EVERY_ROUND, rules=[("TreeDepth", {"depth": 1})], on_fire="stop"
    )
    booster = train(hook, BASE | {"max_depth": 5}, *noise(), rounds=30)
    hook.close()
    assert booster.num_boosted_rounds() == 1
    assert smd.create_trial(out_dir).steps() == [0]


def test_raise_raises_out_of_the_training(out_dir):
    hook = smd.Hook(
        out_dir, save_config=EVERY_ROUND, rules=[("TreeDepth", {"depth": 1})], on_fire="raise"
    )
    with pytest.raises(RuleEvaluationConditionMet, match="TreeDepth"):
        train(hook, BASE | {"max_depth": 5}, *noise(), rounds=30)


def test_a_function_decides_and_the_training_goes_on(out_dir):
    seen = []

    def decide(verdict):
        seen.append((verdict["rule"], verdict["step"]["global"]))
        return "stop" if len(seen) == 3 else None

    hook = smd.Hook(
        out_dir,
        save_config=EVERY_ROUND,
        rules=[("LossNotDecreasing", {"num_steps": 1})],
        on_fire=decide,
    )
    booster = train(hook, BASE | {"eta": 0.0}, *noise(), rounds=30)
    assert booster.num_boosted_rounds() < 30 and len(seen) == 3


def test_an_update_cannot_be_skipped(out_dir):
    with pytest.raises(SMDebugValueError, match="skip_step"):
        smd.Hook(out_dir, rules=["TreeDepth"], on_fire="skip_step")


def test_the_set_of_an_estimator_is_compared_with_the_training_set(out_dir):
    dtrain, dval = noise()
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND, rules=["Overfit"])
    evals = [(dtrain, "train"), (dval, "validation_0")]
    params = BASE | {"max_depth": 6}
    xgboost.train(params, dtrain, 12, evals=evals, callbacks=[hook], verbose_eval=False)
    hook.close()
    (verdict,) = hook.verdicts()
    assert verdict["status"] == "IssuesFound", verdict
