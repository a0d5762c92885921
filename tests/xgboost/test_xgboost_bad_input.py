"""Bad input, and what XGBoost cannot say: a clear message, and a training that goes on."""

import numpy as np
import pytest
import xgboost
from listed_tensors import check_collections_list_what_was_saved

import smdebug.xgboost as smd
from conftest import BINARY, COLLECTIONS, EVERY_ROUND, binary, rows, train, whole_hook
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError


def skipped_of(hook):
    hook.close()
    assert hook.status().error is None
    return hook.status().skipped


def test_without_evals_there_are_no_metrics_and_that_is_said(out_dir):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND, include_collections=["trees"])
    xgboost.train(BINARY, binary(), 2, callbacks=[hook])
    assert "no evals" in skipped_of(hook)["metrics"]
    names = smd.create_trial(out_dir).tensor_names()
    assert len(names) == 11 and all(name.startswith("trees/") for name in names)


def test_validation_data_without_labels_is_predicted(out_dir):
    unlabelled = xgboost.DMatrix(rows(1))
    hook = whole_hook(out_dir, binary(), unlabelled)
    booster = train(hook)
    assert skipped_of(hook) == {"labels": "validation_data has no labels"}
    saved = smd.create_trial(out_dir).tensor("predictions").value(2)
    np.testing.assert_array_equal(saved, booster.predict(unlabelled))


def test_an_array_in_place_of_data_is_refused_by_its_shape(out_dir):
    with pytest.raises(SMDebugTypeError, match=r"ndarray and shape \(200, 4\); use xgb") as refused:
        smd.Hook(out_dir, validation_data=np.ones((200, 4)))
    assert "\n" not in str(refused.value)


def test_data_that_was_not_given_is_asked_for(out_dir):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND, include_collections=COLLECTIONS)
    train(hook)
    skipped = skipped_of(hook)
    assert set(skipped) == {"predictions", "labels", "full_shap", "average_shap"}
    assert "validation_data" in skipped["predictions"] and "train_data" in skipped["full_shap"]
    assert smd.create_trial(out_dir).steps() == [0, 1, 2]


@pytest.mark.parametrize(
    "name, data",
    [
        ("full_shap", "train_data"),
        ("average_shap", "train_data"),
        ("predictions", "validation_data"),
        ("labels", "validation_data"),
    ],
)
def test_data_that_was_not_given_is_asked_for_once(out_dir, capfd, name, data):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND, include_collections=[name])
    train(hook)
    hook.close()
    lines = capfd.readouterr().err.splitlines()
    (told,) = [line for line in lines if f"'{name}'" in line]
    assert f"the hook has no {data}: pass Hook({data}=dmatrix)" in told
    assert "nearest" not in told


def test_data_with_other_features_is_refused_by_name(out_dir):
    dtrain, other = (binary(feature_names=list(names)) for names in ("abcd", "abce"))
    hook = whole_hook(out_dir, other, other)
    train(hook, dtrain=dtrain, dval=dtrain)
    skipped = skipped_of(hook)
    assert "feature_names mismatch" in skipped["predictions"]
    assert "feature_names mismatch" in skipped["full_shap"]
    assert "labels" not in skipped


def test_features_without_names_are_numbered(out_dir):
    named = binary(1, 20, feature_names=["a", "b", "c", "d"])
    hook = whole_hook(out_dir, named, named)
    booster = train(hook)
    assert booster.feature_names is None and skipped_of(hook) == {}
    names = smd.create_trial(out_dir).tensor_names(collection="full_shap")
    assert sorted(names) == [f"full_shap/f{i}" for i in range(4)]


def test_a_file_that_is_gone_when_it_is_needed_is_told(tmp_path, out_dir):
    path = tmp_path / "rows.csv"
    path.write_text("0,1,2,3,4\n")
    hook = whole_hook(out_dir, binary(), (str(path), "csv"))
    path.unlink()
    train(hook)
    assert set(skipped_of(hook)) == {"predictions", "labels"}
    assert smd.create_trial(out_dir).steps() == [0, 1, 2]


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (3, SMDebugTypeError, "DMatrix or a pair"),
        (rows(), SMDebugTypeError, "DMatrix or a pair"),
        (("x", 3), SMDebugTypeError, "DMatrix or a pair"),
        (("x", "parquet"), SMDebugValueError, "'text/csv'"),
        (("/no/such/file", "csv"), SMDebugValueError, "/no/such/file"),
    ],
)
@pytest.mark.parametrize("name", ["train_data", "validation_data"])
def test_data_of_another_kind_is_a_mistake_of_the_call(name, value, error, words, out_dir):
    with pytest.raises(error, match=name) as raised:
        smd.Hook(out_dir, **{name: value})
    assert words in str(raised.value)


def test_a_hook_in_place_of_a_list_of_callbacks_is_named(out_dir):
    for train_with in (
        lambda hook: xgboost.train({}, binary(), 1, callbacks=hook),
        lambda hook: xgboost.XGBRegressor(callbacks=hook).fit(rows(), np.arange(60)),
    ):
        hook = smd.Hook(out_dir)
        with pytest.raises(SMDebugTypeError, match=r"pass callbacks=\[hook\]"):
            train_with(hook)
        hook.close()


def test_hyperparameters_must_be_a_dict(out_dir):
    with pytest.raises(SMDebugTypeError, match="hyperparameters must be a dict"):
        smd.Hook(out_dir, hyperparameters=[("eta", 1)])


def test_a_linear_model_has_coefficients_and_no_trees(out_dir):
    dtrain, dval = binary(), binary(1, 20)
    hook = whole_hook(out_dir, dtrain, dval)
    booster = train(hook, {"booster": "gblinear", "objective": "binary:logistic"}, dtrain, dval)
    skipped = skipped_of(hook)
    assert skipped == {"trees": "booster=gblinear is a linear model and has no trees"}
    trial = smd.create_trial(out_dir)
    scores = booster.get_score(importance_type="weight")
    total = sum(abs(score) for score in scores.values())
    names = trial.tensor_names(collection="feature_importance")
    assert sorted(names) == sorted(f"feature_importance/weight/{each}" for each in scores)
    for feature, score in scores.items():
        share = trial.tensor(f"feature_importance/weight/{feature}").value(2)
        np.testing.assert_allclose(share, [score / total], rtol=1e-6)
    assert min(scores.values()) < 0  # shares keep the sign


def test_a_linear_model_of_several_classes_has_a_coefficient_for_each(out_dir):
    matrix = xgboost.DMatrix(rows(), np.arange(60) % 3)
    hook = whole_hook(out_dir, matrix, matrix)
    params = {"booster": "gblinear", "objective": "multi:softprob", "num_class": 3}
    booster = train(hook, params, matrix, matrix)
    assert set(skipped_of(hook)) == {"trees"}
    trial = smd.create_trial(out_dir)
    scores = booster.get_score(importance_type="weight")
    total = np.abs(list(scores.values())).sum()
    share = trial.tensor("feature_importance/weight/f0").value(2)
    np.testing.assert_allclose(share, np.array(scores["f0"]) / total, rtol=1e-6)


def test_trees_with_vectors_in_their_leaves_lack_only_what_xgboost_cannot_say(out_dir):
    matrix = xgboost.DMatrix(rows(), np.random.RandomState(1).rand(60, 2))
    hook = whole_hook(out_dir, matrix, matrix)
    params = {"multi_strategy": "multi_output_tree", "tree_method": "hist"}
    train(hook, params, matrix, matrix)
    skipped = skipped_of(hook)
    assert set(skipped) == {"trees", "full_shap", "average_shap"}
    assert all("multi-target" in reason for reason in skipped.values())
    assert smd.create_trial(out_dir).tensor("predictions").value(2).shape == (60, 2)


def test_a_reduction_config_for_all_is_ignored_and_that_is_said(out_dir, logged):
    hook = smd.Hook(
        out_dir,
        save_config=EVERY_ROUND,
        reduction_config=smd.ReductionConfig(reductions=["mean"]),
    )
    train(hook, rounds=1)
    hook.close()
    assert [line for line in logged if "reduction_config is ignored" in line]
    assert smd.create_trial(out_dir).tensor("train-logloss").value(0).shape == (1,)


def test_a_full_shap_that_is_reduced_has_the_reductions_under_every_name(out_dir):
    dtrain = binary()
    hook = smd.Hook(
        out_dir, save_config=EVERY_ROUND, include_collections=["full_shap"], train_data=dtrain
    )
    collection = hook.get_collection("full_shap")
    collection.reduction_config = smd.ReductionConfig(reductions=["max"], save_shape=True)
    booster = train(hook, dtrain=dtrain, rounds=1)
    hook.close()
    expected = booster.predict(dtrain, pred_contribs=True).max()
    trial = smd.create_trial(out_dir)
    for index in range(4):
        tensor = trial.tensor(f"full_shap/f{index}")
        assert tensor.reduction_value(0, "max") == expected
        assert tensor.shape(0) == (60, 5)


def test_a_failure_of_ours_does_not_reach_the_training(out_dir, monkeypatch, logged):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND)

    def broken(*arguments):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(hook._rounds, "record", broken)
    assert train(hook, rounds=3).num_boosted_rounds() == 3
    assert hook.status().state == "failed" and "out of luck" in hook.status().error
    assert len([line for line in logged if "recording stops" in line]) == 1


def test_an_unknown_collection_is_logged_and_ignored(out_dir, logged):
    wanted = ["weights", "feature_importance"]
    hook = smd.Hook(out_dir, include_collections=wanted, save_config=EVERY_ROUND)
    assert train(hook, rounds=2).num_boosted_rounds() == 2
    hook.close()
    assert len([text for text in logged if "include_collections names 'weights'" in text]) == 1
    assert smd.create_trial(out_dir).tensor("train-logloss").steps() == [0, 1]


def test_collections_list_no_tensor_that_was_skipped(out_dir):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_ROUND)
    train(hook, rounds=1)
    hook.validation_data = binary(1, 20)
    train(hook, rounds=1)
    hook.close()
    assert {"average_shap", "full_shap"} <= hook.status().skipped.keys()
    trial = smd.create_trial(out_dir)
    collections = trial.collections()
    assert collections["all"].tensor_names == set(trial.tensor_names())
    assert not collections["average_shap"].tensor_names
    assert collections["predictions"].tensor_names == {"predictions"}
    check_collections_list_what_was_saved(trial)


def test_a_pattern_that_makes_no_sense_is_told_by_the_call(out_dir):
    with pytest.raises(SMDebugValueError):
        train(smd.Hook(out_dir, include_regex=["("]))
