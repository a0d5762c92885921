"""Ways to train with XGBoost, each with the hook as a callback; none is changed by it."""

import gc
import json
import os
import pickle
import signal
import weakref

import numpy as np
import pytest
import xgboost
from sklearn.base import clone

import smdebug.xgboost as smd
from conftest import BINARY, COLLECTIONS, EVERY_ROUND, binary, rows, train, whole_hook
from smdebug.exceptions import SMDebugValueError

KINDS = {
    "trees": {},
    "exact": {"tree_method": "exact"},
    "sampling": {"subsample": 0.5, "colsample_bytree": 0.5},
    "several trees": {"num_parallel_tree": 3, "subsample": 0.5},
    "leaf by leaf": {"grow_policy": "lossguide", "max_leaves": 4, "tree_method": "hist"},
    "dart": {"booster": "dart", "rate_drop": 0.5, "skip_drop": 0.2},
    "linear": {"booster": "gblinear"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_its_results_and_warnings_are_the_same_without_a_hook(kind, out_dir, warned):
    params = BINARY | KINDS[kind]
    models, results, warnings = [], [], []
    for with_hook in (False, True):
        dtrain, dval, result = binary(), binary(1, 20), {}
        with warned() as texts:
            hook = whole_hook(out_dir, dtrain, dval) if with_hook else None
            booster = train(hook, params, dtrain, dval, rounds=6, evals_result=result)
            models.append(booster.save_raw("json"))
            if hook:
                hook.close()
        results.append(result)
        warnings.append(texts)
    assert models[0] == models[1]
    assert results[0] == results[1]
    assert warnings[1] <= warnings[0]
    assert hook.status().steps_saved == 6


def test_early_stopping_does_not_hide_the_last_round(out_dir):
    dtrain = binary()
    noise = xgboost.DMatrix(rows(1), np.random.RandomState(5).randint(0, 2, 60))
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
    booster = train(hook, dtrain=dtrain, dval=noise, rounds=50, early_stopping_rounds=2)
    hook.close()
    assert booster.num_boosted_rounds() < 50
    assert smd.create_trial(out_dir).steps() == list(range(booster.num_boosted_rounds()))


class Terminates(xgboost.callback.TrainingCallback):
    """Sends SIGTERM to this process at the end of a round."""

    def after_iteration(self, model, epoch, evals_log):
        if epoch == 3:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        return False


def test_a_training_that_is_terminated_has_all_rounds_that_ended(out_dir, forked):
    matrix = binary()  # here, because OpenMP has no threads after a fork

    def training():
        hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
        xgboost.train(BINARY, matrix, 9, evals=[(matrix, "train")], callbacks=[hook, Terminates()])

    assert forked(training) == -signal.SIGTERM
    trial = smd.create_trial(out_dir)
    assert trial.tensor("train-logloss").steps() == [0, 1, 2, 3]
    assert not trial.loaded_all_steps


def test_a_custom_metric_is_a_metric(out_dir):
    def largest(predictions, matrix):
        return "largest-of-all", float(predictions.max())

    hook, result = smd.Hook(out_dir, save_config=EVERY_ROUND), {}
    train(hook, custom_metric=largest, evals_result=result)
    hook.close()
    trial = smd.create_trial(out_dir)
    for name in ("train", "validation"):
        saved = [trial.tensor(f"{name}-largest-of-all").value(step)[0] for step in (0, 1, 2)]
        assert saved == result[name]["largest-of-all"]


def test_a_custom_objective_is_recorded(out_dir):
    def squares(predictions, matrix):
        return predictions - matrix.get_label(), np.ones_like(predictions)

    dtrain, dval = binary(), binary(1, 20)
    hook = whole_hook(out_dir, dtrain, dval)
    params = {"max_depth": 2, "nthread": 1, "base_score": 0.5}
    booster = train(hook, params, dtrain, dval, obj=squares)
    hook.close()
    trial = smd.create_trial(out_dir)
    np.testing.assert_array_equal(trial.tensor("predictions").value(2), booster.predict(dval))


def test_continued_training_records_the_new_rounds_with_their_trees(out_dir):
    dtrain, dval = binary(), binary(1, 20)
    first = train(None, dtrain=dtrain, dval=dval, rounds=3)
    hook = whole_hook(out_dir, dtrain, dval)
    booster = train(hook, dtrain=dtrain, dval=dval, rounds=2, xgb_model=first)
    hook.close()
    trial = smd.create_trial(out_dir)
    assert (booster.num_boosted_rounds(), trial.steps()) == (5, [0, 1])
    for step in (0, 1):
        expected = booster[3 + step].trees_to_dataframe()["Gain"].to_numpy()
        np.testing.assert_array_equal(trial.tensor("trees/Gain").value(step), expected)


def test_cross_validation_gives_means_and_standard_deviations_over_folds(out_dir):
    hook = whole_hook(out_dir, binary(), binary(1, 20))
    params = BINARY | {"eval_metric": ["logloss", "auc"]}
    table = xgboost.cv(params, binary(), 4, nfold=3, callbacks=[hook], as_pandas=False, seed=1)
    hook.close()
    trial = smd.create_trial(out_dir)
    for name in ("train-logloss", "test-logloss", "test-auc"):
        for statistic, suffix in (("mean", ""), ("std", "-std")):
            saved = [trial.tensor(name + suffix).value(step)[0] for step in range(4)]
            assert saved == table[f"{name}-{statistic}"]
    assert set(trial.tensor_names(collection="losses")) == {"train-logloss", "test-logloss"}
    assert trial.tensor("hyperparameters/max_depth").value(0).tolist() == [2]
    assert "one model per fold" in hook.status().skipped["trees"]


def test_cross_validation_is_the_same_without_a_hook(out_dir):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_ROUND)
    options = {"nfold": 3, "as_pandas": False, "seed": 1}
    assert xgboost.cv(BINARY, binary(), 3, callbacks=[hook], **options) == xgboost.cv(
        BINARY, binary(), 3, **options
    )


@pytest.mark.parametrize("estimator", ["XGBClassifier", "XGBRegressor"])
def test_an_estimator_takes_the_hook(estimator, out_dir):
    x, y = rows(), (rows()[:, 0] > 0.5).astype(int)
    hook = smd.Hook(out_dir, include_collections=COLLECTIONS, save_config=EVERY_ROUND)
    options = {"max_depth": 2, "n_jobs": 1, "random_state": 1, "n_estimators": 3}
    model = getattr(xgboost, estimator)(callbacks=[hook], **options)
    model.fit(x, y, eval_set=[(x, y)], verbose=False)
    hook.close()
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 1, 2]
    (metrics,) = model.evals_result().values()
    for metric, values in metrics.items():
        name = f"validation_0-{metric}"
        assert name in trial.tensor_names(collection="metrics")
        assert [trial.tensor(name).value(step)[0] for step in trial.steps()] == values
    plain = getattr(xgboost, estimator)(**options).fit(x, y)
    np.testing.assert_array_equal(model.predict(x), plain.predict(x))


def test_a_ranker_takes_the_hook(out_dir):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
    x, y = rows(), np.random.RandomState(3).randint(0, 3, 60)
    groups = np.repeat(range(6), 10)
    model = xgboost.XGBRanker(n_estimators=2, callbacks=[hook], n_jobs=1)
    model.fit(x, y, qid=groups, eval_set=[(x, y)], eval_qid=[groups], verbose=False)
    hook.close()
    trial = smd.create_trial(out_dir)
    assert trial.tensor_names() and not trial.tensor_names(collection="losses")  # all are ndcg


def test_an_estimator_with_a_hook_is_cloned_and_pickled(out_dir):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
    model = xgboost.XGBRegressor(n_estimators=2, callbacks=[hook], n_jobs=1)
    x, y = rows(), rows()[:, 0]
    copy = clone(model).fit(x, y, eval_set=[(x, y)], verbose=False)
    loaded = pickle.loads(pickle.dumps(copy))
    np.testing.assert_array_equal(loaded.predict(x), copy.predict(x))
    loaded.fit(x, y)  # its hook came out of a pickle, and does nothing
    hook.close()
    assert smd.create_trial(out_dir).steps() == [0, 1]


def test_a_hook_in_a_second_training_goes_on_counting_and_says_so(out_dir, logged):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
    train(hook, rounds=3)
    second = {}
    train(hook, BINARY | {"eta": 0.9}, rounds=2, evals_result=second)
    hook.close()
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 1, 2, 3, 4]
    saved = [trial.tensor("train-logloss").value(step)[0] for step in (3, 4)]
    assert saved == second["train"]["logloss"]
    assert [line for line in logged if "second training" in line and "step 3" in line]


def test_a_second_training_with_a_closed_hook_is_logged_once(out_dir, logged):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
    train(hook)
    hook.close()
    for _ in range(2):
        assert train(hook).num_boosted_rounds() == 3
    (warning,) = [line for line in logged if "second training" in line or "create another" in line]
    assert "the callback in a training after close() has no effect: the hook is closed" in warning


def test_a_closed_hook_lets_a_training_be(out_dir):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
    train(hook)
    hook.close()
    assert train(hook, rounds=2).num_boosted_rounds() == 2
    assert smd.create_trial(out_dir).steps() == [0, 1, 2]


def test_a_json_file_makes_a_hook_that_takes_its_data_later(tmp_path, out_dir):
    wanted = [{"CollectionName": "predictions"}, {"CollectionName": "hyperparameters"}]
    configuration = {
        "LocalPath": out_dir,
        "HookParameters": {"save_interval": "2"},
        "CollectionConfigurations": wanted,
    }
    (tmp_path / "hook.json").write_text(json.dumps(configuration))
    hook = smd.Hook.create_from_json_file(str(tmp_path / "hook.json"))
    dval = binary(1, 20)
    hook.hyperparameters, hook.validation_data = BINARY, dval
    booster = train(hook, dval=dval)
    hook.close()
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 2]
    np.testing.assert_array_equal(trial.tensor("predictions").value(2), booster.predict(dval))
    assert trial.tensor("hyperparameters/eta").value(0).tolist() == [0.3]


@pytest.mark.parametrize("option", [{"step_on": "optimizer"}, {"gradients": "final"}])
def test_a_json_file_with_what_only_others_have_is_refused(option, tmp_path, out_dir):
    path = tmp_path / "hook.json"
    path.write_text(json.dumps({"LocalPath": out_dir, "HookParameters": option}))
    with pytest.raises(SMDebugValueError, match=f"hook.json: .* has no '{next(iter(option))}'"):
        smd.Hook.create_from_json_file(str(path))


def test_get_hook_makes_one_from_the_configuration(tmp_path, out_dir, monkeypatch):
    path = tmp_path / "hook.json"
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(path))
    smd.del_hook()
    assert smd.get_hook() is None
    path.write_text(json.dumps({"LocalPath": out_dir}))
    hook = smd.get_hook()
    assert isinstance(hook, smd.Hook) and smd.get_hook() is hook
    other = smd.Hook(out_dir + "2")
    assert smd.get_hook() is other
    smd.set_hook(hook)
    assert smd.get_hook() is hook


def test_a_pickled_estimator_contains_nothing_of_smdebug(out_dir, tmp_path):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
    model = xgboost.XGBRegressor(n_estimators=2, callbacks=[hook], n_jobs=1)
    x, y = rows(), rows()[:, 0]
    model.fit(x, y, eval_set=[(x, y)], verbose=False)
    hook.close()
    model.save_model(tmp_path / "model.ubj")
    model.get_booster().save_model(tmp_path / "booster.json")
    contents = [pickle.dumps(model), pickle.dumps(model.get_booster())]
    contents += [path.read_bytes() for path in tmp_path.glob("*.*")]
    assert len(contents) == 4
    assert not any(b"smdebug" in content for content in contents)


def test_a_hook_that_was_replaced_is_closed_and_collected(tmp_path):
    def train_in_a_cell(out_dir):
        hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
        train(hook, rounds=2)
        return weakref.ref(hook)

    made = [train_in_a_cell(str(tmp_path / str(i))) for i in range(2)]
    gc.collect()
    assert made[0]() is None
    assert smd.create_trial(str(tmp_path / "0")).steps() == [0, 1]
    smd.get_hook().close()


def test_a_hook_that_was_passed_to_no_training_says_so_at_the_end(out_dir, logged):
    hook = smd.Hook(out_dir)
    hook.close()
    (warning,) = [line for line in logged if "callbacks=[hook]" in line]
    assert out_dir in warning
