"""The report of an XGBoost training against scikit-learn, on runs of real trainings."""

import functools
import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import xgboost_runs
from sklearn import metrics

from smdebug.rules import builtin
from smdebug.sagemaker.rules import Rule, rule_configs
from smdebug.trials import create_trial

SMDEBUG = pathlib.Path(sys.executable).parent / "smdebug"
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
OUTPUT = "rule-output/CreateXgboostReport/xgboost_report"


def smdebug(*arguments):
    return subprocess.run(
        [str(word) for word in (SMDEBUG, *arguments)], capture_output=True, text=True, timeout=120
    )


def report_of(run):
    """The data of a run's report, a dict."""
    done = smdebug("report", run, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """One run of each task, by the task's name."""
    folder = tmp_path_factory.mktemp("runs")
    return {
        task.__name__: xgboost_runs.record(task, folder / task.__name__)
        for task in (xgboost_runs.binary, xgboost_runs.multiclass, xgboost_runs.regression)
    }


def classes_of(predictions):
    return predictions.argmax(axis=1) if predictions.ndim == 2 else (predictions > 0.5).astype(int)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_the_task_is_that_of_the_training(runs, task):
    assert report_of(runs[task].path)["task"] == task


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_the_labels_are_counted_by_class(runs, task):
    found = report_of(runs[task].path)["labels"]
    classes, counts = np.unique(runs[task].labels, return_counts=True)
    assert [entry["class"] for entry in found["classes"]] == classes.tolist()
    assert [entry["samples"] for entry in found["classes"]] == counts.tolist()


def test_the_labels_of_a_regression_are_counted_as_numpy_does(runs):
    found = report_of(runs["regression"].path)["labels"]["bins"]
    counts, edges = np.histogram(runs["regression"].labels.astype(float), len(found["counts"]))
    assert found["counts"] == counts.tolist()
    assert found["edges"] == pytest.approx(edges.tolist(), rel=1e-14)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_the_confusion_matrix_is_that_of_scikit_learn(runs, task):
    run = runs[task]
    found = report_of(run.path)["confusion_matrix"]
    predicted = classes_of(run.predictions[run.rounds[-1]])
    expected = metrics.confusion_matrix(run.labels.astype(int), predicted)
    assert found["matrix"] == expected.tolist()
    assert found["round"] == run.rounds[-1]
    off_diagonal = expected.sum() - np.trace(expected)
    assert off_diagonal > 0  # a matrix of the truth alone would pass unseen


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_the_scores_are_those_of_scikit_learn(runs, task):
    run = runs[task]
    found = report_of(run.path)["evaluation"]
    truth, predicted = run.labels.astype(int), classes_of(run.predictions[run.rounds[-1]])
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(truth, predicted), rel=1e-12)
    for average in ("micro", "macro", "weighted"):
        expected = metrics.precision_recall_fscore_support(
            truth, predicted, average=average, zero_division=0
        )
        triple = found[average]
        assert (triple["precision"], triple["recall"], triple["f1"]) == pytest.approx(
            expected[:3], rel=1e-12
        )
    precision, recall, f1, support = metrics.precision_recall_fscore_support(
        truth, predicted, zero_division=0
    )
    assert [entry["precision"] for entry in found["classes"]] == pytest.approx(precision)
    assert [entry["recall"] for entry in found["classes"]] == pytest.approx(recall)
    assert [entry["f1"] for entry in found["classes"]] == pytest.approx(f1)
    assert [entry["support"] for entry in found["classes"]] == support.tolist()


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_the_accuracy_of_each_class_is_the_diagonal_at_every_saved_round(runs, task):
    run = runs[task]
    found = report_of(run.path)["class_accuracy"]
    assert found["rounds"] == run.rounds
    truth = run.labels.astype(int)
    for place, step in enumerate(run.rounds):
        matrix = metrics.confusion_matrix(truth, classes_of(run.predictions[step]))
        of_class = [accuracy[place] for accuracy in found["of_class"]]
        of_all = [share[place] for share in found["of_all_samples"]]
        assert of_class == pytest.approx(np.diag(matrix) / matrix.sum(axis=1))
        assert of_all == pytest.approx(np.diag(matrix) / matrix.sum())


def test_the_roc_curve_is_that_of_scikit_learn(runs):
    run = runs["binary"]
    found = report_of(run.path)["roc"]
    scores = run.predictions[run.rounds[-1]]
    x, y, _ = metrics.roc_curve(run.labels, scores, drop_intermediate=False)
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(run.labels, scores), rel=1e-12)
    assert found["false_positive_rate"] == pytest.approx(x.tolist(), abs=1e-12)
    assert found["true_positive_rate"] == pytest.approx(y.tolist(), abs=1e-12)
    # XGBoost's own, of float32.
    assert found["auc"] == pytest.approx(run.metrics["validation-auc"][-1], abs=1e-5)


def test_the_residuals_are_prediction_minus_truth(runs):
    run = runs["regression"]
    found = report_of(run.path)["residuals"]
    residuals = run.predictions[run.rounds[-1]].astype(float) - run.labels.astype(float)
    counts, edges = np.histogram(residuals, len(found["bins"]["counts"]))
    assert found["bins"]["counts"] == counts.tolist()
    assert found["bins"]["edges"] == pytest.approx(edges.tolist(), rel=1e-14)
    assert found["mean"] == pytest.approx(residuals.mean())
    assert found["standard_deviation"] == pytest.approx(residuals.std())
    assert found["median"] == pytest.approx(np.median(residuals))
    assert found["mean_absolute"] == pytest.approx(np.abs(residuals).mean())
    # XGBoost's own, of float32.
    assert found["root_mean_square"] == pytest.approx(run.metrics["validation-rmse"][-1], rel=1e-5)


def test_the_error_is_averaged_over_ten_bins_of_the_label_at_every_saved_round(runs):
    run = runs["regression"]
    found = report_of(run.path)["error_by_label"]
    labels = run.labels.astype(float)
    counts, edges = np.histogram(labels, 10)
    assert found["labels"]["counts"] == counts.tolist()
    assert found["rounds"] == run.rounds
    for place, step in enumerate(run.rounds):
        errors = np.abs(run.predictions[step].astype(float) - labels)
        sums, _ = np.histogram(labels, edges, weights=errors)
        means = [series[place] for series in found["mean_absolute_error"]]
        expected = [
            total / count if count else None for total, count in zip(sums, counts, strict=True)
        ]
        assert means == pytest.approx(expected)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_the_metrics_are_those_that_xgboost_computed(runs, task):
    run = runs[task]
    found = {
        f"{part['set']}-{metric['metric']}": (part["rounds"], part["values"])
        for metric in report_of(run.path)["metrics"]
        for part in metric["sets"]
    }
    assert found == {name: (run.rounds, values) for name, values in run.metrics.items()}


def test_the_importance_is_that_of_the_last_round_the_largest_first(runs):
    run = runs["regression"]
    found = report_of(run.path)["feature_importance"]
    assert [entry["type"] for entry in found] == list(xgboost_runs.IMPORTANCES)
    for entry in found:
        features = {feature["feature"]: feature["value"] for feature in entry["features"]}
        assert features == run.importance[entry["type"]]
        assert sorted(features.values(), reverse=True) == list(features.values())


def test_an_over_fitted_model_is_called_so_at_its_best_round(runs):
    run = runs["binary"]
    (reading,) = (
        metric["reading"]
        for metric in report_of(run.path)["metrics"]
        if metric["metric"] == "logloss"
    )
    best = run.rounds[int(np.argmin(run.metrics["validation-logloss"]))]
    assert f"Overfitting: validation was best at round {best} " in reading


@pytest.mark.parametrize(
    ("left_out", "sections"),
    [
        ("metrics", ["metrics"]),
        ("feature_importance", ["feature_importance"]),
        ("hyperparameters", ["hyperparameters"]),
        ("labels", ["labels", "confusion_matrix", "evaluation", "class_accuracy", "roc"]),
        ("predictions", ["confusion_matrix", "evaluation", "class_accuracy", "roc"]),
    ],
)
def test_a_section_without_data_says_what_to_save(tmp_path, left_out, sections):
    run = xgboost_runs.record(
        xgboost_runs.binary, tmp_path / "run", rounds=4, leave_out=(left_out, "losses")
    )
    report = report_of(run.path)
    for section in sections:
        assert f"'{left_out}'" in report[section]["missing"]
    assert report["task"] == "binary"  # from whatever is left


def test_a_golden_run_of_the_original_has_a_report(tmp_path):
    expected = json.loads((GOLDEN / "xgboost_all/expected.json").read_text())
    report = report_of(GOLDEN / "xgboost_all/run")
    assert report["task"] == "binary"
    assert report["hyperparameters"]["max_depth"] == "2"
    assert report["class_accuracy"]["rounds"] == [0, 2, 4]

    def value(tensor, step):
        at = expected["trial"]["tensors"][tensor]["at"][str(step)]["worker_0"]
        return np.array(at["value"]["value"], dtype=float)

    truth, scores = value("labels", 4), value("predictions", 4)
    assert report["roc"]["auc"] == pytest.approx(metrics.roc_auc_score(truth, scores))
    assert (
        report["confusion_matrix"]["matrix"]
        == metrics.confusion_matrix(truth, scores > 0.5).tolist()
    )
    names = {metric["metric"] for metric in report["metrics"]}
    assert names == {"auc", "logloss", "error@0.7"}


def test_a_golden_run_with_metrics_alone_says_what_is_missing():
    report = report_of(GOLDEN / "xgboost_default/run")
    assert report["metrics"]
    assert "'predictions'" in report["confusion_matrix"]["missing"]


def test_a_run_of_the_writer_without_collections_has_its_metrics(tmp_path):
    for step in range(3):
        tensors = {"metrics": {"train-rmse": [3.0 - step], "feature_importance/a-b": [1.0]}}
        xgboost_runs.write_step(tmp_path / "run", step, tensors)
    report = report_of(tmp_path / "run")
    assert [metric["metric"] for metric in report["metrics"]] == ["rmse"]
    assert report["metrics"][0]["sets"][0]["values"] == [3, 2, 1]


def write_samples(path, labels, predictions, **hyperparameters):
    tensors = {
        "labels": {"labels": labels},
        "predictions": {"predictions": predictions},
        "hyperparameters": {f"hyperparameters/{k}": v for k, v in hyperparameters.items()},
    }
    xgboost_runs.write_step(path, 0, tensors)


def test_samples_that_are_not_finite_are_left_out_and_counted(tmp_path):
    labels = np.array([0, 1, 1, 0, np.nan, 1])
    predictions = np.array([0.2, 0.7, np.inf, 0.6, 0.3, 0.1])
    write_samples(tmp_path, labels, predictions, objective="binary:logistic")
    report = report_of(tmp_path)
    assert report["confusion_matrix"]["matrix"] == [[1, 1], [1, 1]]
    assert report["confusion_matrix"]["left_out"] == 2
    assert report["labels"]["left_out"] == 1


def test_predictions_that_do_not_go_with_the_labels_are_told(tmp_path):
    write_samples(tmp_path, np.zeros(5), np.zeros(7))
    report = report_of(tmp_path)
    assert "predictions of shape (7)" in report["confusion_matrix"]["missing"]
    assert report["left_out"][0]["tensor"] == "predictions"


def test_labels_of_too_many_values_are_no_classes(tmp_path):
    many = np.arange(3000.0)
    write_samples(tmp_path, many, many, objective="multi:softmax")
    assert "3000 different values" in report_of(tmp_path)["confusion_matrix"]["missing"]


def test_scores_in_one_dimension_are_rows_of_classes(tmp_path):
    scores = np.random.default_rng(1).random((40, 3))
    labels = np.random.default_rng(2).integers(0, 3, 40)
    write_samples(tmp_path, labels, scores.ravel(), objective="multi:softprob")
    expected = metrics.confusion_matrix(labels, scores.argmax(axis=1))
    assert report_of(tmp_path)["confusion_matrix"]["matrix"] == expected.tolist()


def test_labels_of_a_round_are_the_newest_before_it(tmp_path):
    labels = {2: [0, 0, 1, 1], 6: [1, 1, 1, 0]}
    for step in (0, 2, 4, 6, 8):
        tensors = {"predictions": {"predictions": np.array([0.1, 0.2, 0.8, 0.9])}}
        if step in labels:
            tensors["labels"] = {"labels": np.array(labels[step])}
        xgboost_runs.write_step(tmp_path, step, tensors)
    found = report_of(tmp_path)["class_accuracy"]
    assert found["of_class"][0] == [1, 1, 1, 0, 0]
    assert found["of_class"][1] == pytest.approx([1, 1, 1, 1 / 3, 1 / 3])


def test_features_that_the_last_round_does_not_name_are_left_out(tmp_path):
    for step, feature in ((0, "old"), (3, "new")):
        tensors = {"feature_importance": {f"feature_importance/gain/{feature}": [0.5]}}
        xgboost_runs.write_step(tmp_path, step, tensors)
    (gain,) = report_of(tmp_path)["feature_importance"]
    assert gain["round"] == 3
    assert gain["features"] == [{"feature": "new", "value": 0.5}]


def test_a_damaged_event_file_costs_its_round_alone(tmp_path):
    run = xgboost_runs.record(xgboost_runs.binary, tmp_path / "run", rounds=7)
    event_file = next(run.path.glob("events/*/000000000003_worker_0.tfevents"))
    event_file.write_bytes(event_file.read_bytes()[:40])
    report = report_of(run.path)
    assert report["class_accuracy"]["rounds"] == [0, 6]
    assert {entry["tensor"] for entry in report["left_out"]} >= {"predictions", "train-logloss"}
    assert report["metrics"][0]["sets"][0]["rounds"] == [0, 6]


def test_a_long_run_is_evaluated_at_some_rounds_and_says_so(tmp_path):
    labels = np.arange(4) % 2
    for step in range(450):
        tensors = {
            "labels": {"labels": labels},
            "predictions": {"predictions": np.full(4, step / 450)},
        }
        xgboost_runs.write_step(tmp_path, step, tensors)
    report = report_of(tmp_path)
    assert (report["prediction_rounds"], report["evaluated_rounds"]) == (450, 200)
    rounds = report["class_accuracy"]["rounds"]
    assert len(rounds) == 200 and (rounds[0], rounds[-1]) == (0, 449)


def test_the_command_writes_the_page_and_its_data_beside_the_run(runs):
    run = runs["multiclass"].path
    done = smdebug("report", run)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(run / f"{OUTPUT}.html")
    data = json.loads((run / f"{OUTPUT}.json").read_text())
    assert data["confusion_matrix"] == report_of(run)["confusion_matrix"]


def test_the_command_writes_where_it_is_told(runs, tmp_path):
    page = tmp_path / "new/folder/digits.html"
    done = smdebug("report", runs["multiclass"].path, "--out", page)
    assert (done.returncode, done.stdout.strip()) == (0, str(page))
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert json.loads(page.with_suffix(".json").read_text())["task"] == "multiclass"
    done = smdebug("report", runs["multiclass"].path, "--out", tmp_path / "a.json")
    assert done.returncode == 2
    assert "must name an HTML file" in done.stderr


def test_a_run_of_something_else_is_told_so():
    done = smdebug("report", GOLDEN / "core_strings/run")
    assert done.returncode == 1
    assert "contains no data of an XGBoost training" in done.stderr


def test_the_rule_writes_the_report_when_the_run_has_ended(tmp_path):
    run = xgboost_runs.record(xgboost_runs.regression, tmp_path / "run", rounds=4)
    for command in ("check", "watch"):
        done = smdebug(command, run.path, "--rule", "create_xgboost_report")
        assert done.returncode == 0, done.stderr
        assert f"report: {run.path / OUTPUT}.html" in done.stderr
        page = run.path / f"{OUTPUT}.html"
        assert "Distribution of residuals" in page.read_text()
        page.unlink()


def test_the_rule_of_a_run_without_its_tensors_judged_nothing(tmp_path):
    run = shutil.copytree(GOLDEN / "core_strings/run", tmp_path / "run")
    done = smdebug("check", run, "--rule", "CreateXgboostReport")
    assert done.returncode == 1
    assert "nothing to judge" in done.stdout
    assert not (run / "rule-output").exists()


def test_the_rule_that_a_script_configures_for_the_cloud_writes_the_report(tmp_path):
    run = xgboost_runs.record(xgboost_runs.regression, tmp_path / "run", rounds=4)
    rule = Rule.sagemaker(rule_configs.create_xgboost_report())
    done = smdebug("check", run.path, *rule.arguments())
    assert done.returncode == 0, done.stderr
    assert (run.path / f"{OUTPUT}.html").exists()


def test_the_rule_in_python_writes_the_report(tmp_path):
    run = xgboost_runs.record(xgboost_runs.regression, tmp_path / "run", rounds=4)
    trial = create_trial(str(run.path))
    verdict = builtin("create_xgboost_report", trial).judge()
    assert verdict["status"] == "NoIssuesFound"
    assert json.loads((run.path / f"{OUTPUT}.json").read_text())["task"] == "regression"


DATA = """
import numpy as np, xgboost
x = np.random.RandomState(0).rand(90, 4)
y = (x[:, 0] + 0.2 * np.random.RandomState(1).rand(90) > 0.6).astype(int)
dtrain, dval = xgboost.DMatrix(x[:60], y[:60]), xgboost.DMatrix(x[60:], y[60:])
params = {"objective": "binary:logistic", "nthread": 1}
"""
LAUNCHED = {
    "binary": "xgboost.train(params, dtrain, 21, [(dtrain, 'train'), (dval, 'validation')])",
    "estimator": "xgboost.XGBClassifier(n_jobs=1).fit(x[:60], y[:60], eval_set=[(x[60:], y[60:])])",
    "regression": "xgboost.XGBRegressor(n_jobs=1)"
    ".fit(x[:60], x[:60, 0] * 9, eval_set=[(x[60:], x[60:, 0] * 9)])",
    "no sets": "xgboost.XGBClassifier(n_jobs=1).fit(x, y)",
    "train alone": "xgboost.train(params, dtrain, 21, [(dtrain, 'train')])",
    "ranking": "xgboost.XGBRanker(n_jobs=1)"
    ".fit(x, y, qid=np.repeat(np.arange(9), 10), eval_set=[(x[:30], y[:30])],"
    " eval_qid=[np.repeat(np.arange(3), 10)])",
    "cv": "xgboost.cv(params, dtrain, 21, nfold=3)",
}


def launched(folder, training, *options):
    """Records a script that does not know smdebug; returns the page and the data of its report."""
    (folder / "train.py").write_text(f"{DATA}\n{training}\n")
    command = ("--out", folder / "run", *options, "--", sys.executable, folder / "train.py")
    done = smdebug("run", *command)
    assert done.returncode in (0, 3), done.stderr  # 3: a rule fired
    page = folder / "report.html"
    assert smdebug("report", folder / "run", "--out", page).returncode == 0
    return page.read_text(), json.loads(page.with_suffix(".json").read_text())


@pytest.fixture(scope="module")
def launched_report(tmp_path_factory):
    """Returns the page and the data of a training of LAUNCHED under the default rules."""
    return functools.cache(
        lambda training: launched(tmp_path_factory.mktemp("launched"), LAUNCHED[training])
    )


@pytest.mark.parametrize("training", LAUNCHED)
def test_the_report_of_a_script_names_no_hook(launched_report, training):
    page, _ = launched_report(training)
    assert "Hook" not in page and "hook" not in page


@pytest.mark.parametrize("training", LAUNCHED)
def test_no_reading_finds_both_over_and_under_fitting(launched_report, training):
    _, report = launched_report(training)
    metrics_shown = report["metrics"] if isinstance(report["metrics"], list) else []
    for metric in metrics_shown:
        reading = metric["reading"].lower().replace("no sign of overfitting", "")
        assert not ("overfitting:" in reading and "underfit" in reading)
        assert not ("indicates overfitting" in reading and "underfit" in reading)


@pytest.mark.parametrize("training", ["binary", "estimator"])
def test_a_default_run_of_a_classifier_fills_its_report(launched_report, training):
    page, report = launched_report(training)
    assert report["hyperparameters"]["objective"] == "binary:logistic"
    assert report["labels"]["samples"] == 30
    assert np.sum(report["confusion_matrix"]["matrix"]) == 30
    assert report["roc"]["auc"] > 0.5
    assert page.count('class="missing"') == 2  # the sections for regressions


def test_a_default_run_of_a_regression_fills_its_report(launched_report):
    page, report = launched_report("regression")
    assert report["residuals"]["samples"] == 30
    assert page.count('class="missing"') == 4  # the sections for classifiers


@pytest.mark.parametrize("training", ["no sets", "train alone"])
def test_a_run_without_another_set_names_the_arguments_to_pass(launched_report, training):
    page, report = launched_report(training)
    for section in ("labels", "confusion_matrix", "roc", "residuals"):
        missing = report[section]["missing"]
        assert "eval_set" in missing and "smdebug run --rule CreateXgboostReport" in missing
    assert page.count("Predictions were not saved") == 1  # the other sections refer to it


def test_the_scores_of_a_ranking_are_no_residuals(launched_report):
    _, report = launched_report("ranking")
    assert "scores without a unit" in report["residuals"]["missing"]


def test_the_folds_of_cv_have_no_labels_and_deviations_no_reading(launched_report):
    _, report = launched_report("cv")
    assert "one model per fold" in report["labels"]["missing"]
    assert "one model per fold" in report["feature_importance"]["missing"]
    (deviation,) = (each for each in report["metrics"] if each["metric"].endswith("-std"))
    assert deviation["reading"] == "The standard deviation over the folds of xgboost.cv."


def test_the_rule_that_a_box_names_fills_it(tmp_path):
    options = ("--rule", "CreateXgboostReport")
    _, report = launched(tmp_path, LAUNCHED["binary"], *options)
    assert report["confusion_matrix"]["round"] == 20  # every fifth round
    assert report["labels"]["samples"] == 30


def test_one_narrow_rule_leaves_boxes_that_name_the_command(tmp_path):
    _, report = launched(tmp_path, LAUNCHED["binary"], "--rule", "ExplodingTensor")
    for section in ("hyperparameters", "labels", "feature_importance", "roc"):
        assert "smdebug run --rule CreateXgboostReport" in report[section]["missing"]
