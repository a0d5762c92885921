"""`smdebug run` from inside the trainer: scripts that train with XGBoost and know nothing of us."""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import smdebug.xgboost as smd

GATE = "import smdebug_ng.autostart\n"  # what the .pth file does
DATA = """
import numpy as np, xgboost
x = np.random.RandomState(0).rand(60, 4)
y = (x[:, 0] > 0.5).astype(int)
params = {"objective": "binary:logistic", "max_depth": 2, "nthread": 1, "seed": 1}
dtrain, dval = xgboost.DMatrix(x[:40], y[:40]), xgboost.DMatrix(x[40:], y[40:])
"""
TRAIN = (
    DATA
    + """
result = {}
evals = [(dtrain, "train"), (dval, "validation")]
booster = xgboost.train(params, dtrain, 6, evals=evals, evals_result=result, verbose_eval=False)
"""
)


def run(tmp_path, script, collections=("losses",), interval=1, gate=True, optional=()):
    """What the script printed, which is JSON, and what it wrote to standard error.

    A request with `optional` collections is that of the default rules."""
    request = {
        "out_dir": str(tmp_path / "run"),
        "save_interval": interval,
        "collections": [
            {"name": name, "summary": False, "save_interval": interval} for name in collections
        ]
        + [{"name": name, "save_interval": interval, "optional": True} for name in optional],
        "include_workers": "all",
    }
    path = tmp_path / "script.py"
    path.write_text((GATE if gate else "") + textwrap.dedent(script))
    done = subprocess.run(
        [sys.executable, path],
        env={**os.environ, "SMDEBUG_RUN": json.dumps(request)} if gate else dict(os.environ),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def read(tmp_path):
    return smd.create_trial(str(tmp_path / "run"), timeout=5)


def test_collections_that_xgboost_has_not_are_left_out(tmp_path):
    script = TRAIN + "import json; print(json.dumps(result))"
    _, said = run(tmp_path, script, collections=("weights", "losses", "biases"))
    assert "error" not in said
    assert read(tmp_path).tensor_names() == ["train-logloss", "validation-logloss"]


@pytest.mark.parametrize(
    ("sets", "told"),
    [("(x, y), (u, v)", ["validation_0"]), ("(u, v), (x, y)", ["validation_1"]), ("(u, v)", None)],
)
def test_the_rows_that_are_trained_on_are_told_whatever_the_name_of_their_set(tmp_path, sets, told):
    script = (
        DATA
        + f"""
x, y, u, v = x[:40], y[:40], x[40:], y[40:]
xgboost.XGBClassifier(n_estimators=4, n_jobs=1).fit(x, y, eval_set=[{sets}], verbose=False)
print("[]")
"""
    )
    run(tmp_path, script)
    (each,) = read(tmp_path).facts()
    assert each.facts.training_sets == (told or [])


@pytest.mark.parametrize(
    ("given", "kind", "told"),
    [
        (
            "{'eta': 0.25, 'max_depth': 3, 'lambda': 2, 'subsample': 0.5}",
            "gbtree",
            {"learning_rate": 0.25, "max_depth": 3, "reg_lambda": 2, "subsample": 0.5},
        ),
        ("{}", "gbtree", {"learning_rate": 0.3, "max_depth": 6, "reg_lambda": 1}),
        (
            "{'booster': 'dart', 'rate_drop': 0.125, 'learning_rate': 0.5}",
            "dart",
            {"learning_rate": 0.5, "rate_drop": 0.125},
        ),
        ("{'booster': 'gblinear', 'alpha': 0.5}", "gblinear", {"reg_alpha": 0.5}),
    ],
)
def test_the_booster_is_told_with_its_settings(tmp_path, given, kind, told):
    script = DATA + f"xgboost.train({given}, dtrain, 2, evals=[(dtrain, 'train')]); print([])"
    run(tmp_path, script)
    (each,) = read(tmp_path).facts()
    (booster,) = each.facts.optimizers
    (group,) = booster.groups
    assert booster.kind == kind
    assert {name: group.settings[name] for name in told} == pytest.approx(told)
    assert ("max_depth" in group.settings) == (kind != "gblinear")
    (loss,) = each.facts.losses
    assert loss.kind == "reg:squarederror"


@pytest.mark.parametrize(
    ("given", "is_told"),
    [
        ('{"objective": "binary:logistic"}', True),
        ('{"objective": "multi:softprob", "num_class": 2}', True),
        ('{"objective": "binary:logistic", "scale_pos_weight": 8}', True),
        ('{"objective": "reg:squarederror"}', True),
        ('{"objective": "count:poisson"}', False),
    ],
)
def test_the_labels_of_a_classification_are_counted(tmp_path, given, is_told):
    script = (
        DATA.replace("> 0.5", "> 0.9") + f"xgboost.train({given}, dtrain, 4); print(y.tolist())"
    )
    labels, _ = run(tmp_path, script)
    (each,) = read(tmp_path).facts()
    (loss,) = each.facts.losses
    assert (loss.input is not None) == is_told
    if not is_told:
        return
    targets = loss.input.targets
    counts = np.bincount(labels[:40])
    assert (targets.labels, targets.classes) == (40, 2)
    assert (targets.smallest_class, targets.largest_class) == (counts.min(), counts.max())
    assert loss.kind == json.loads(given)["objective"]
    is_weighted = "scale_pos_weight" in given
    assert loss.input.class_weights == ((1.0, 8.0) if is_weighted else None)


@pytest.mark.parametrize(
    ("labels", "is_told"),
    [
        ("np.arange(40) % 7", True),
        ("np.where(np.arange(40) < 30, 1.0, 3.0)", True),
        ("np.arange(40) / 8", False),
        ("1000 + np.zeros(40)", False),
        ("np.arange(40) + 1", True),
        ("np.arange(40) * 2 ** 20", False),
    ],
)
def test_whole_numbers_of_a_regression_are_counted_as_they_may_be_classes(
    tmp_path, labels, is_told
):
    script = DATA + f"labels = {labels}\ndtrain.set_label(labels)\n"
    script += 'xgboost.train({"objective": "reg:squarederror"}, dtrain, 4); print(labels.tolist())'
    labels, _ = run(tmp_path, script)
    (each,) = read(tmp_path).facts()
    (loss,) = each.facts.losses
    assert (loss.input is not None) == is_told
    if not is_told:
        return
    targets = loss.input.targets
    counts = [labels.count(label) for label in set(labels)]
    assert (targets.labels, targets.classes) == (40, len(counts))
    assert (targets.smallest_class, targets.largest_class) == (min(counts), max(counts))
    assert (targets.low, targets.high) == (min(labels), max(labels))
    assert loss.input.function == "reg:squarederror"


OWN_OBJECTIVE = """
def objective(scores, data):
    return scores - data.get_label(), np.ones_like(scores)
"""


@pytest.mark.parametrize(
    ("training", "kind"),
    [
        ("xgboost.train({}, dtrain, 4, obj=objective)", "custom objective"),
        ("xgboost.train({}, dtrain, 4, evals=[(dtrain, 't')])", "reg:squarederror"),
        (
            "xgboost.XGBRegressor(n_estimators=4, objective=lambda y, p: (p - y, 1 + 0 * p))"
            ".fit(x, y)",
            "custom objective",
        ),
    ],
)
def test_a_function_that_is_the_objective_is_told(tmp_path, training, kind):
    run(tmp_path, DATA + OWN_OBJECTIVE + training + "; print([])")
    (each,) = read(tmp_path).facts()
    (loss,) = each.facts.losses
    assert (loss.tensor, loss.kind) == (kind, kind)
    # The labels 0 and 1 belong to the function, which may be a logistic loss.
    assert (loss.input is None) == (kind == "custom objective")


def test_the_rounds_before_a_training_that_continues_are_told(tmp_path):
    (tmp_path / "first").mkdir()
    script = DATA + "first = xgboost.train(params, dtrain, 3); first.save_model('first.json')\n"
    run(tmp_path / "first", script.replace("first.json", f"{tmp_path}/first.json") + "print([])")
    script = DATA + f"xgboost.train(params, dtrain, 4, xgb_model='{tmp_path}/first.json')"
    run(tmp_path, script + "; print([])")
    settings = [
        each.facts.optimizers[0].groups[0].settings
        for folder in (tmp_path / "first", tmp_path)
        for each in read(folder).facts()
    ]
    assert [each.get("earlier_rounds") for each in settings] == [None, 3]


def test_weighted_rows_are_not_counted(tmp_path):
    script = DATA + "dtrain.set_weight(1.0 + y[:40]); xgboost.train(params, dtrain, 4); print([])"
    run(tmp_path, script)
    (each,) = read(tmp_path).facts()
    assert [loss.input for loss in each.facts.losses] == [None]


def test_a_script_that_imports_smdebug_before_xgboost_is_recorded(tmp_path):
    script = "from smdebug.xgboost import Hook\n" + TRAIN + "import json; print(json.dumps(result))"
    _, said = run(tmp_path, script)
    assert "not recorded" not in said
    assert read(tmp_path).tensor_names() == ["train-logloss", "validation-logloss"]


def test_xgboost_train_is_recorded(tmp_path):
    result, _ = run(tmp_path, TRAIN + "import json; print(json.dumps(result))")
    trial = read(tmp_path)
    assert trial.steps() == list(range(6)) and trial.loaded_all_steps
    for name in ("train", "validation"):
        saved = [trial.tensor(f"{name}-logloss").value(step)[0] for step in range(6)]
        assert saved == result[name]["logloss"]


def test_the_losses_of_every_round_are_series_and_scores_are_not(tmp_path):
    script = TRAIN.replace("params = {", 'params = {"eval_metric": ["logloss", "auc"], ')
    script += "import json; print(json.dumps(result))"
    result, _ = run(tmp_path, script, interval=5)
    trial = read(tmp_path)
    assert trial.series_names() == ["train-logloss", "validation-logloss"]
    for name in trial.series_names():
        evaluated, metric = name.split("-")
        assert [value for _, value in trial.series(name)] == result[evaluated][metric]
    assert trial.tensor("train-logloss").steps() == [0, 5]


def test_the_matrices_of_the_training_are_predicted_and_explained(tmp_path):
    script = (
        TRAIN
        + """
    import json
    shap = booster.predict(dtrain, pred_contribs=True)
    print(json.dumps([booster.predict(dval).tolist(), shap.tolist(), y[40:].tolist()]))
    """.replace("\n    ", "\n")
    )
    wanted = ("predictions", "labels", "full_shap", "trees")
    (predictions, shap, labels), _ = run(tmp_path, script, wanted)
    trial = read(tmp_path)
    np.testing.assert_array_equal(
        trial.tensor("predictions").value(5), np.float32(predictions), strict=True
    )
    np.testing.assert_array_equal(trial.tensor("full_shap/f2").value(5), np.float32(shap))
    assert trial.tensor("labels").value(5).tolist() == labels


@pytest.mark.parametrize(
    ("training", "watch"),
    [
        ("evals=[(dtrain, 'train'), (dval, 'v')]", ("v-logloss", False, False)),
        ("evals=[(dval, 'v'), (dtrain, 'train')]", ("train-logloss", False, True)),
        ("evals=[(dtrain, 'train')]", ("train-logloss", False, False)),
        ("evals=[(dval, 'v')], maximize=True", ("v-logloss", True, False)),
        ("evals=[(dval, 'v')], custom_metric=f1", ("v-f1", False, False)),
    ],
)
def test_the_metric_of_early_stopping_is_described(tmp_path, training, watch):
    script = (
        DATA
        + f"""
f1 = lambda scores, data: ("f1", float((scores > 0).mean()))
xgboost.train(params, dtrain, 9, {training}, early_stopping_rounds=3)
print(1)
"""
    )
    run(tmp_path, script)
    *_, last = read(tmp_path).facts()
    (each,) = last.facts.loop.metric_watches
    assert (each.kind, (each.metric, each.prefers_high, each.is_of_training)) == (
        "EarlyStopping",
        watch,
    )


def test_the_model_is_the_same_as_without(tmp_path):
    script = TRAIN + "import json; print(json.dumps(booster.save_raw('json').decode()))"
    everything = ("losses", "predictions", "labels", "full_shap", "average_shap", "trees")
    watched, _ = run(tmp_path, script, everything)
    alone, _ = run(tmp_path, script, gate=False)
    assert watched == alone


@pytest.mark.parametrize(
    "training",
    [
        "xgboost.XGBClassifier(n_estimators=4, n_jobs=1).fit(x, y, eval_set=[(x, y)])",
        "xgboost.XGBRegressor(n_estimators=4, n_jobs=1).fit(x, y, eval_set=[(x, y)])",
        "xgboost.cv(params, dtrain, 4, nfold=2)",
        "xgboost.XGBRFClassifier(n_estimators=4, n_jobs=1).fit(x, y, eval_set=[(x, y)])",
        "xgboost.train(params, dtrain, 40, evals=[(dval, 'v')], early_stopping_rounds=3)",
        "xgboost.train(params, dtrain, 4, evals=[(dval, 'v')],"
        " callbacks=[xgboost.callback.EvaluationMonitor()])",
    ],
)
def test_every_way_to_train_is_recorded(tmp_path, training):
    script = (
        DATA
        + f"""
answer = {training}
booster = answer.get_booster() if hasattr(answer, "get_booster") else answer
rounds = getattr(booster, "num_boosted_rounds", lambda: 4)()
print(rounds)
"""
    )
    rounds, _ = run(tmp_path, script)
    assert read(tmp_path).steps() == list(range(rounds))


def test_a_second_training_is_not_mixed_in_and_that_is_said(tmp_path):
    script = TRAIN + "xgboost.train(params, dtrain, 9, evals=evals); print(1)"
    _, err = run(tmp_path, script)
    assert read(tmp_path).steps() == list(range(6))
    assert err.count("further trainings of this process are not recorded") == 1


def test_a_script_with_a_hook_of_its_own_keeps_it(tmp_path):
    script = (
        DATA
        + f"""
import smdebug.xgboost as smd
hook = smd.Hook({str(tmp_path / "own")!r}, save_config=smd.SaveConfig(save_interval=1))
xgboost.train(params, dtrain, 3, evals=[(dval, "v")], callbacks=[hook])
print(1)
"""
    )
    run(tmp_path, script)
    assert smd.create_trial(str(tmp_path / "own"), timeout=5).steps() == [0, 1, 2]
    assert not (tmp_path / "run").exists()


def test_a_folder_that_cannot_be_written_does_not_harm_the_script(tmp_path):
    (tmp_path / "run").write_text("a file")
    rounds, _ = run(tmp_path, TRAIN + "print(booster.num_boosted_rounds())")
    assert rounds == 6


DEFAULT = ("feature_importance", "trees", "weights")


def test_a_default_run_saves_what_its_report_shows(tmp_path):
    script = (
        TRAIN + "import json; print(json.dumps([booster.predict(dval).tolist(), y[40:].tolist()]))"
    )
    (predictions, labels), err = run(tmp_path, script, interval=5, optional=DEFAULT)
    assert "warning" not in err
    trial = read(tmp_path)
    assert trial.tensor("predictions").steps() == [0, 5]
    np.testing.assert_array_equal(
        trial.tensor("predictions").value(5), np.float32(predictions), strict=True
    )
    assert trial.tensor("labels").steps() == [0]  # they do not change
    assert trial.tensor("labels").value(0).tolist() == labels
    objective = trial.tensor("hyperparameters/objective")
    assert (objective.steps(), objective.value(0).tolist()) == ([0], ["binary:logistic"])


def test_requested_rules_save_only_what_they_need(tmp_path):
    run(tmp_path, TRAIN + "print(1)", ("losses", "feature_importance"))
    assert not set(read(tmp_path).tensor_names()) & {"predictions", "labels"}


@pytest.mark.parametrize(
    "training",
    [
        "xgboost.train(params, dtrain, 3)",
        "xgboost.train(params, dtrain, 3, evals=[(dtrain, 'train')])",
        "xgboost.XGBClassifier(n_estimators=3, n_jobs=1).fit(x, y)",
        "xgboost.cv(params, dtrain, 3, nfold=2)",
    ],
)
def test_a_default_run_without_another_set_is_silent_about_predictions(tmp_path, training):
    _, err = run(tmp_path, DATA + training + "; print(1)", optional=DEFAULT)
    assert "predictions" not in err and "labels" not in err
    assert not set(read(tmp_path).tensor_names()) & {"predictions", "labels"}


def test_a_default_run_saves_no_predictions_of_a_large_set(tmp_path):
    script = """
import numpy as np, xgboost
x = np.random.RandomState(0).rand(50_001, 2)
y = (x[:, 0] > 0.5).astype(int)
model = xgboost.XGBClassifier(n_estimators=2, n_jobs=1, objective="multi:softprob", num_class=2)
model.fit(x[:100], y[:100], eval_set=[(x, y)], verbose=False)
print(1)
"""
    _, err = run(tmp_path, script, optional=DEFAULT)
    assert "predictions" not in err
    names = read(tmp_path).tensor_names()
    assert "predictions" not in names and "hyperparameters/objective" in names
    (tmp_path / "run").rename(tmp_path / "default")
    run(tmp_path, script, ("losses", "predictions"))
    assert read(tmp_path).tensor("predictions").value(0).shape == (50_001, 2)


@pytest.mark.parametrize("booster", ["gbtree", "dart", "gblinear"])
def test_a_default_run_trains_the_same_model(tmp_path, booster):
    script = TRAIN.replace('"seed": 1', f'"seed": 1, "booster": "{booster}", "subsample": 0.7')
    script += "import json; print(json.dumps([result, booster.save_raw('json').decode()]))"
    watched, _ = run(tmp_path, script, optional=DEFAULT)
    alone, _ = run(tmp_path, script, gate=False)
    assert watched == alone


def test_a_run_remembers_what_smdebug_run_requested(tmp_path):
    run(tmp_path, TRAIN + "print(1)")
    recorded = json.loads((tmp_path / "run/run.json").read_text())["attempts"][0]["environment"]
    assert json.loads(recorded["SMDEBUG_RUN"])["collections"][0]["name"] == "losses"
