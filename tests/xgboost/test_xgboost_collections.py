"""Each collection of the XGBoost hook holds what XGBoost itself says of that round."""

import collections
import json
import pathlib

import numpy as np
import pandas
import pytest
import xgboost

import smdebug.xgboost as smd
from conftest import BINARY, COLLECTIONS, EVERY_ROUND, binary, rows, train, whole_hook

TYPES = ("weight", "gain", "cover", "total_gain", "total_cover")
SAVED = 60
Case = collections.namedtuple("Case", "params label options", defaults=({},))


def case(name):
    draw = np.random.RandomState(2)
    return {
        "binary": lambda: Case({"objective": "binary:logistic"}, draw.randint(0, 2, SAVED)),
        "classes": lambda: Case(
            {"objective": "multi:softprob", "num_class": 3, "eval_metric": ["mlogloss", "merror"]},
            draw.randint(0, 3, SAVED),
        ),
        "class numbers": lambda: Case(
            {"objective": "multi:softmax", "num_class": 3}, draw.randint(0, 3, SAVED)
        ),
        "regression": lambda: Case({"objective": "reg:squarederror"}, draw.rand(SAVED)),
        "outputs": lambda: Case({"objective": "reg:squarederror"}, draw.rand(SAVED, 2)),
        "ranking": lambda: Case(
            {"objective": "rank:ndcg", "eval_metric": ["ndcg@5", "map@3-", "ndcg"]},
            draw.randint(0, 2, SAVED),
            {"qid": np.repeat(range(6), 10)},
        ),
        "dart": lambda: Case(
            {"objective": "binary:logistic", "booster": "dart", "rate_drop": 0.5},
            draw.randint(0, 2, SAVED),
        ),
        "several trees": lambda: Case(
            {"objective": "binary:logistic", "num_parallel_tree": 3, "subsample": 0.5},
            draw.randint(0, 2, SAVED),
        ),
    }[name]()


NAMES = (
    "binary",
    "classes",
    "class numbers",
    "regression",
    "outputs",
    "ranking",
    "dart",
    "several trees",
)


class Keep(xgboost.callback.TrainingCallback):
    """A copy of the booster after each round."""

    def __init__(self):
        self.boosters = []

    def after_iteration(self, model, epoch, evals_log):
        self.boosters.append(model.copy())
        return False


def record(out_dir, params, dtrain, dval, rounds=3, **options):
    """(Trial, Booster after each round, evals_result) of a training that saves everything."""
    keep, result = Keep(), {}
    hook = whole_hook(out_dir, dtrain, dval)
    xgboost.train(
        {"max_depth": 2, "seed": 3, "nthread": 1} | params,
        dtrain,
        rounds,
        evals=[(dtrain, "train"), (dval, "validation")],
        evals_result=result,
        callbacks=[hook, keep],
        verbose_eval=False,
        **options,
    )
    hook.close()
    assert (hook.status().error, hook.status().skipped) == (None, {})
    return smd.create_trial(out_dir, timeout=5), keep.boosters, result


def value(trial, name, step):
    return trial.tensor(name).value(step)


@pytest.mark.parametrize("name", NAMES)
def test_every_collection_is_what_xgboost_says(name, out_dir):
    params, label, options = case(name)
    matrix = xgboost.DMatrix(rows(), label, **options)
    trial, boosters, result = record(out_dir, params, matrix, matrix)
    assert trial.steps() == [0, 1, 2]
    for step, booster in enumerate(boosters):
        for evaluation_set, metrics in result.items():
            for metric, values in metrics.items():
                saved = value(trial, f"{evaluation_set}-{metric}", step)
                np.testing.assert_array_equal(saved, np.array([values[step]]), strict=True)
        predicted = booster.predict(matrix)
        np.testing.assert_array_equal(value(trial, "predictions", step), predicted, strict=True)
        given = np.asarray(label, np.float32)
        np.testing.assert_array_equal(value(trial, "labels", step), given, strict=True)
        assert_importances(trial, booster, step)
        assert_contributions(trial, booster, matrix, step)
        assert_trees(trial, booster, step)


def assert_importances(trial, booster, step):
    saved = set(trial.tensor_names(step=step, collection="feature_importance"))
    expected = {}
    for kind in TYPES:
        scores = booster.get_score(importance_type=kind)
        total = sum(scores.values())
        for feature, score in scores.items():
            expected[f"feature_importance/{kind}/{feature}"] = [score / total]
    assert saved == set(expected)
    for name, share in expected.items():
        np.testing.assert_allclose(value(trial, name, step), share, rtol=1e-12)


def assert_contributions(trial, booster, matrix, step):
    expected = booster.predict(matrix, pred_contribs=True)
    features = [f"f{i}" for i in range(4)]
    for index, feature in enumerate(features):
        whole = value(trial, f"full_shap/{feature}", step)
        np.testing.assert_array_equal(whole, expected, strict=True)
        mean = np.atleast_1d(expected[..., index].astype(np.float64).mean(axis=0))
        saved = value(trial, f"average_shap/{feature}", step)
        assert saved.dtype == np.float32
        np.testing.assert_allclose(saved, mean, rtol=1e-6, atol=1e-9)
    assert sorted(trial.tensor_names(step=step, collection="average_shap")) == [
        f"average_shap/{feature}" for feature in features
    ]


def assert_trees(trial, booster, step):
    before = len(booster[:step].get_dump()) if step else 0
    dumps = booster.get_dump(dump_format="json", with_stats=True)
    newest = list(enumerate(dumps))[before:]
    nodes = [(tree, node) for tree, dump in newest for node in walk(json.loads(dump))]
    nodes.sort(key=lambda each: (each[0], each[1]["nodeid"]))
    saved = {column: value(trial, f"trees/{column}", step) for column in trees_columns(trial, step)}
    assert list(saved["Tree"]) == [tree for tree, _ in nodes]
    assert list(saved["Node"]) == [node["nodeid"] for _, node in nodes]
    assert list(saved["ID"]) == [f"{tree}-{node['nodeid']}" for tree, node in nodes]
    assert list(saved["Feature"]) == [node.get("split", "Leaf") for _, node in nodes]
    assert list(saved["Yes"]) == [
        f"{tree}-{node['yes']}" if "yes" in node else "nan" for tree, node in nodes
    ]
    gains = [node.get("gain", node.get("leaf")) for _, node in nodes]
    np.testing.assert_allclose(saved["Gain"], gains, rtol=1e-6)
    np.testing.assert_allclose(saved["Cover"], [node["cover"] for _, node in nodes], rtol=1e-6)
    splits = [node.get("split_condition", np.nan) for _, node in nodes]
    np.testing.assert_allclose(saved["Split"], splits, rtol=1e-6)


def trees_columns(trial, step):
    names = trial.tensor_names(step=step, collection="trees")
    assert len(names) == 11
    return [name.partition("/")[2] for name in names]


def walk(node):
    yield node
    for child in node.get("children", []):
        yield from walk(child)


def test_metrics_and_losses_are_told_apart_by_what_is_better(out_dir):
    metrics = ["logloss", "auc", "error@0.7", "map", "ndcg@3", "aucpr"]
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND, include_collections=["losses"])
    train(hook, BINARY | {"eval_metric": metrics}, rounds=1)
    hook.close()
    trial = smd.create_trial(out_dir)
    every = {f"{each}-{metric}" for each in ("train", "validation") for metric in metrics}
    assert set(trial.tensor_names(collection="metrics")) == every
    assert set(trial.tensor_names(collection="losses")) == {
        name for name in every if name.endswith(("logloss", "error@0.7"))
    }
    assert set(trial.tensor_names()) == every


def test_metrics_are_saved_every_tenth_round_without_being_asked(out_dir):
    hook = smd.Hook(out_dir)
    train(hook, rounds=21)
    hook.close()
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 10, 20]
    assert trial.tensor_names() == ["train-logloss", "validation-logloss"]
    assert hook.has_default_hook_configuration()


def test_a_collection_of_the_hook_s_own_is_saved_every_tenth_round_too(out_dir):
    hook = smd.Hook(out_dir)
    hook.get_collection("metrics").save_config.end_step = 11
    train(hook, rounds=31)
    hook.close()
    assert smd.create_trial(out_dir).steps() == [0, 10]


def test_the_documents_way_to_turn_metrics_off_turns_them_off(out_dir):
    hook = smd.Hook(out_dir, include_collections=["hyperparameters"])
    hook.get_collection("metrics").save_config.end_step = 0
    train(hook, rounds=3)
    hook.close()
    names = smd.create_trial(out_dir).tensor_names()
    assert names and all(name.startswith("hyperparameters/") for name in names)


def test_hyperparameters_are_those_that_the_user_gives(out_dir):
    given = {
        "eta": 0.3,
        "max_depth": 2,
        "tree": True,
        "objective": "binary:logistic",
        "eval_metric": ["auc", "logloss"],
        "weights": (1, 2.5),
        "interaction_constraints": [[0, 1], [2]],
        "empty": None,
        "count": 2**70,
    }
    hook = smd.Hook(
        out_dir,
        save_config=EVERY_ROUND,
        include_collections=["hyperparameters"],
        hyperparameters=given,
    )
    train(hook, rounds=1)
    hook.close()
    trial = smd.create_trial(out_dir)
    saved = {
        name.partition("/")[2]: value(trial, name, 0)
        for name in trial.tensor_names(collection="hyperparameters")
    }
    assert saved.keys() == given.keys() - {"empty"}
    assert (saved["eta"].dtype, saved["eta"].tolist()) == (np.float64, [0.3])
    assert (saved["max_depth"].dtype, saved["max_depth"].tolist()) == (np.int64, [2])
    assert saved["tree"].tolist() == [True]
    assert saved["objective"].tolist() == ["binary:logistic"]
    assert saved["eval_metric"].tolist() == ["auc", "logloss"]
    assert saved["weights"].tolist() == [1, 2.5]
    assert saved["interaction_constraints"].tolist() == ["[[0, 1], [2]]"]
    assert saved["count"].tolist() == [str(2**70)]


@pytest.mark.parametrize("booster", ["gbtree", "dart", "gblinear"])
def test_without_them_hyperparameters_are_all_that_the_booster_uses(out_dir, booster):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND, include_collections=["hyperparameters"])
    params = {"objective": "binary:logistic", "booster": booster, "lambda": 0.25}
    params |= {"eval_metric": ["auc", "logloss"]}
    train(hook, params, rounds=1)
    hook.close()
    trial = smd.create_trial(out_dir)
    assert value(trial, "hyperparameters/lambda", 0).tolist() == [0.25]
    assert value(trial, "hyperparameters/booster", 0).tolist() == [booster]
    assert value(trial, "hyperparameters/objective", 0).tolist() == ["binary:logistic"]
    assert value(trial, "hyperparameters/eval_metric", 0).tolist() == ["auc", "logloss"]
    if booster != "gblinear":
        assert value(trial, "hyperparameters/max_depth", 0).tolist() == [6]  # the default


def test_feature_names_may_hold_any_character(out_dir):
    names = ["a b/c", "größe: 3", "x-y%'\"\\", "bias"]
    dtrain, dval = binary(feature_names=names), binary(1, 20, feature_names=names)
    trial, boosters, _ = record(out_dir, BINARY | {"max_depth": 4}, dtrain, dval, rounds=2)
    expected = boosters[1].predict(dtrain, pred_contribs=True)
    for index, name in enumerate(names):
        np.testing.assert_array_equal(value(trial, f"full_shap/{name}", 1), expected)
        mean = expected[:, index].mean(dtype=np.float64)
        np.testing.assert_allclose(value(trial, f"average_shap/{name}", 1), [mean], atol=1e-7)
    used = {f"feature_importance/gain/{name}" for name in boosters[1].get_score()}
    assert used <= set(trial.tensor_names(collection="feature_importance"))
    assert not [name for name in trial.tensor_names(collection="metrics") if "/" in name]


def test_categories_and_missing_values_are_recorded(out_dir):
    random = np.random.RandomState(4)
    table = pandas.DataFrame(
        {
            "color": pandas.Categorical(random.choice(["red", "green", "blue"], 80)),
            "size": np.where(random.rand(80) < 0.3, np.nan, random.rand(80)),
        }
    )
    label = (table["color"] == "red").astype(int)
    matrix = xgboost.DMatrix(table, label, enable_categorical=True)
    params = {"objective": "binary:logistic", "tree_method": "hist", "max_cat_to_onehot": 1}
    trial, boosters, _ = record(out_dir, params, matrix, matrix)
    frame = boosters[0][0].trees_to_dataframe()
    expected = ["nan" if each is None or each != each else str(each) for each in frame["Category"]]
    assert value(trial, "trees/Category", 0).tolist() == expected
    assert any(each != "nan" for each in expected)
    contributions = boosters[0].predict(matrix, pred_contribs=True)
    np.testing.assert_array_equal(value(trial, "full_shap/color", 0), contributions)


def test_a_quantile_matrix_is_explained_and_predicted(out_dir):
    x, y = rows(), (rows()[:, 0] > 0.5).astype(int)
    dtrain = xgboost.QuantileDMatrix(x, y)
    dval = xgboost.QuantileDMatrix(rows(1), y, ref=dtrain)
    trial, boosters, _ = record(out_dir, BINARY | {"tree_method": "hist"}, dtrain, dval)
    np.testing.assert_array_equal(
        value(trial, "full_shap/f0", 2), boosters[2].predict(dtrain, pred_contribs=True)
    )
    np.testing.assert_array_equal(value(trial, "predictions", 2), boosters[2].predict(dval))
    np.testing.assert_array_equal(value(trial, "labels", 2), y.astype(np.float32))


@pytest.mark.parametrize("content_type", ["csv", "text/csv; charset=utf-8"])
def test_rows_are_read_from_a_csv_file_with_the_label_first(tmp_path, out_dir, content_type):
    x, y = rows(count=20).astype(np.float32), np.arange(20) % 2
    np.savetxt(tmp_path / "rows.csv", np.column_stack([y, x]), delimiter=",", fmt="%.9g")
    assert_read_from(tmp_path / "rows.csv", content_type, x, y, out_dir)


@pytest.mark.parametrize("content_type", ["libsvm", "text/x-libsvm"])
def test_rows_are_read_from_a_libsvm_file(tmp_path, out_dir, content_type):
    x, y = rows(count=20).astype(np.float32), np.arange(20) % 2
    lines = [
        f"{label} " + " ".join(f"{i}:{number:.9g}" for i, number in enumerate(row))
        for row, label in zip(x, y, strict=True)
    ]
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    assert_read_from(tmp_path / "rows.svm", content_type, x, y, out_dir)


def assert_read_from(path, content_type, x, y, out_dir):
    hook = whole_hook(out_dir, (str(path), content_type), (path, content_type))
    booster = train(hook, rounds=1)
    hook.close()
    assert hook.status().skipped == {}
    trial, matrix = smd.create_trial(out_dir), xgboost.DMatrix(x)
    np.testing.assert_array_equal(value(trial, "labels", 0), y.astype(np.float32))
    np.testing.assert_array_equal(value(trial, "predictions", 0), booster.predict(matrix))
    np.testing.assert_array_equal(
        value(trial, "full_shap/f0", 0), booster.predict(matrix, pred_contribs=True)
    )


def test_the_matrix_of_contributions_is_stored_once(out_dir):
    hook = whole_hook(out_dir, binary(), binary(1, 20))
    train(hook, rounds=1)
    hook.close()
    (index,) = pathlib.Path(out_dir, "index").rglob("*.json")
    places = {
        (entry["start_idx"], entry["length"])
        for entry in json.loads(index.read_text())["tensor_payload"]
        if entry["tensorname"].startswith("full_shap/")
    }
    assert len(places) == 1
    trial = smd.create_trial(out_dir)
    assert sorted(trial.tensor_names(collection="full_shap")) == [
        f"full_shap/f{i}" for i in range(4)
    ]
    statistics = trial.tensor("full_shap/f3").reduction_value(0, "mean")
    np.testing.assert_allclose(statistics, value(trial, "full_shap/f0", 0).mean(), rtol=1e-5)


class Counting:
    """Counts what a Booster is asked from now on: (method, whether contributions) -> calls."""

    def __init__(self, monkeypatch):
        self.calls = collections.Counter()
        for name in ("predict", "get_score", "trees_to_dataframe", "save_config"):
            self._count(monkeypatch, name)

    def _count(self, monkeypatch, name):
        original = getattr(xgboost.Booster, name)

        def counted(booster, *arguments, **keywords):
            self.calls[name, keywords.get("pred_contribs", False)] += 1
            return original(booster, *arguments, **keywords)

        monkeypatch.setattr(xgboost.Booster, name, counted)


def test_a_round_is_predicted_and_explained_once_and_only_where_it_is_due(out_dir, monkeypatch):
    dtrain, dval = binary(), binary(1, 20)
    hook = smd.Hook(
        out_dir,
        include_collections=["predictions", "labels", "full_shap", "average_shap", "mine"],
        save_config=smd.SaveConfig(save_interval=2),
        train_data=dtrain,
        validation_data=dval,
    )
    hook.get_collection("mine").include(["^full_shap/f1", "^predictions"])
    counting = Counting(monkeypatch)
    train(hook, dtrain=dtrain, dval=dval, rounds=6)
    keys = {("save_config", False): 1}  # which patterns are looked for in, once
    assert counting.calls == {("predict", False): 3, ("predict", True): 3} | keys


def test_the_default_collections_ask_the_model_nothing(out_dir, monkeypatch):
    dtrain, dval = binary(), binary(1, 20)
    hook = smd.Hook(out_dir, train_data=dtrain, validation_data=dval)
    counting = Counting(monkeypatch)
    train(hook, dtrain=dtrain, dval=dval, rounds=11)
    assert not counting.calls


def test_one_tensor_of_a_collection_can_be_asked_for_by_its_name(out_dir):
    dtrain = binary()
    hook = smd.Hook(
        out_dir,
        save_config=EVERY_ROUND,
        include_regex=["^feature_importance/gain/", "^full_shap/f2$", "^trees/Node$"],
        train_data=dtrain,
    )
    train(hook, dtrain=dtrain, rounds=1)
    hook.close()
    names = smd.create_trial(out_dir).tensor_names()
    assert {"full_shap/f2", "trees/Node", "feature_importance/gain/f0"} <= set(names)
    assert not [name for name in names if "weight" in name or "f3" in name or "ID" in name]


def test_the_collections_that_are_filled_are_those_that_the_core_knows(out_dir):
    known = set(smd.Hook(out_dir, dry_run=True).get_collections()) - {"all", "default"}
    assert sorted(COLLECTIONS) == sorted(known)


def test_save_all_saves_all(out_dir):
    dtrain, dval = binary(), binary(1, 20)
    hook = smd.Hook(
        out_dir, save_all=True, save_config=EVERY_ROUND, train_data=dtrain, validation_data=dval
    )
    train(hook, dtrain=dtrain, dval=dval, rounds=1)
    hook.close()
    kinds = {name.partition("/")[0] for name in smd.create_trial(out_dir).tensor_names()}
    assert kinds >= {"trees", "full_shap", "average_shap", "feature_importance", "predictions"}
    assert kinds >= {"hyperparameters", "labels", "train-logloss"}


def test_scalars_and_tensors_of_the_user_go_into_the_round(out_dir):
    class Own(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            hook.save_scalar("rounds", epoch)
            return False

    hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
    dtrain = binary()
    xgboost.train(BINARY, dtrain, 3, evals=[(dtrain, "train")], callbacks=[Own(), hook])
    hook.close()
    trial = smd.create_trial(out_dir)
    assert [value(trial, "scalar/rounds", step)[0] for step in (0, 1, 2)] == [0, 1, 2]


def test_a_round_can_be_read_as_soon_as_it_has_ended(out_dir):
    seen = []

    class Reader(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            seen.append(smd.create_trial(out_dir).steps())
            return False

    hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
    dtrain = binary()
    xgboost.train(BINARY, dtrain, 2, evals=[(dtrain, "train")], callbacks=[hook, Reader()])
    assert seen == [[0], [0, 1]]


class Untouchable:
    """A model that nothing may be asked."""

    def __getattribute__(self, name):
        raise AssertionError(f"the model was asked for {name}")


def test_a_round_whose_metrics_alone_are_due_asks_the_model_nothing(out_dir):
    hook = smd.Hook(out_dir)
    losses = []
    for step in range(21):
        losses.append(1 / (step + 1))
        history = {"train": {"logloss": losses}, "validation": {"error@0.7": losses}}
        assert hook.after_iteration(Untouchable(), step, history) is False
    hook.close()
    assert hook.status().error is None
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 10, 20]
    assert trial.tensor_names() == ["train-logloss", "validation-error@0.7"]
    for step in trial.steps():
        for name in trial.tensor_names():
            value = trial.tensor(name).value(step)
            np.testing.assert_array_equal(value, [1 / (step + 1)], strict=True)


def test_a_hook_of_a_training_may_go_on_to_a_cross_validation(out_dir):
    hook = smd.Hook(out_dir, save_config=EVERY_ROUND)
    losses = [0.5, 0.25]
    hook.after_iteration(Untouchable(), 0, {"train": {"logloss": losses[:1]}})
    hook.after_iteration(Untouchable(), 1, {"train": {"logloss": [(losses[1], 0.125)]}})
    hook.close()
    trial = smd.create_trial(out_dir)
    assert [trial.tensor("train-logloss").value(step)[0] for step in (0, 1)] == losses
    assert trial.tensor("train-logloss-std").value(1).tolist() == [0.125]
