"""Runs of real XGBoost trainings with the tensor names of the XGBoost hook, and their content."""

import dataclasses
import pathlib

import numpy as np
import xgboost
from sklearn import datasets, model_selection

from smdebug.core.collection_manager import CollectionManager
from smdebug.core.writer import FileWriter

# The collections of the XGBoost hook and their patterns.
PATTERNS = {
    "metrics": "^[a-zA-z]+-[a-zA-z0-9]+$",
    "losses": "^[a-zA-z]+-.+(?<!(auc|map))$",
    "hyperparameters": "^hyperparameters/.*$",
    "feature_importance": "^feature_importance/.*",
    "predictions": "^predictions$",
    "labels": "^labels$",
}
IMPORTANCES = ("weight", "gain", "cover", "total_gain", "total_cover")


def binary():
    x, y = datasets.load_breast_cancer(return_X_y=True)
    # With wrong labels, so that the model makes mistakes and over-fits.
    wrong = np.random.default_rng(3).random(len(y)) < 0.12
    params = {"objective": "binary:logistic", "eval_metric": ["logloss", "auc"], "eta": 0.3}
    return x[:, :12], np.where(wrong, 1 - y, y), params


def multiclass():
    x, y = datasets.load_digits(return_X_y=True)
    params = {"objective": "multi:softprob", "num_class": 10, "eval_metric": "mlogloss"}
    return x[:500, 10:40], y[:500], {**params, "max_depth": 2, "eta": 0.1}


def regression():
    x, y = datasets.load_diabetes(return_X_y=True)
    return x, y, {"objective": "reg:squarederror", "eval_metric": ["rmse", "mae"], "max_depth": 3}


@dataclasses.dataclass
class Recorded:
    """A run, and the data from which a test computes its figures independently.

    `labels`: (n,). `predictions`, by saved round: (n,) or (n, classes). `metrics`, by tensor name:
    one number per saved round. `importance`: those of the last saved round, by type and feature.
    """

    path: pathlib.Path
    rounds: list
    labels: np.ndarray
    predictions: dict
    metrics: dict
    importance: dict


def record(task, path, rounds=30, save_interval=3, leave_out=(), rename=None):
    """Trains a model for `task` and writes the tensors that the XGBoost hook would write.

    Collections named in `leave_out` are not saved; features get the names of the dict `rename`.
    """
    x, y, params = task()
    names = [f"feature {i}" for i in range(x.shape[1])]
    x_train, x_valid, y_train, y_valid = model_selection.train_test_split(x, y, random_state=5)
    train = xgboost.DMatrix(x_train, y_train, feature_names=names)
    valid = xgboost.DMatrix(x_valid, y_valid, feature_names=names)
    params = {**params, "nthread": 1, "seed": 7}
    evaluated = {}
    model = xgboost.train(
        params,
        train,
        rounds,
        evals=[(train, "train"), (valid, "validation")],
        evals_result=evaluated,
        verbose_eval=False,
    )
    recorded = Recorded(
        path, list(range(0, rounds, save_interval)), y_valid.astype(np.float32), {}, {}, {}
    )
    for step in recorded.rounds:
        so_far = model[: step + 1]
        predictions = so_far.predict(valid)
        recorded.predictions[step] = predictions
        recorded.importance = importance_of(so_far, rename or {})
        tensors = {
            "metrics": {
                f"{part}-{metric}": np.array([values[step]])
                for part, metrics in evaluated.items()
                for metric, values in metrics.items()
            },
            "hyperparameters": {f"hyperparameters/{name}": value for name, value in params.items()},
            "predictions": {"predictions": predictions},
            "labels": {"labels": recorded.labels},
            "feature_importance": {
                f"feature_importance/{kind}/{feature}": np.array([value])
                for kind, features in recorded.importance.items()
                for feature, value in features.items()
            },
        }
        for name, value in tensors["metrics"].items():
            recorded.metrics.setdefault(name, []).append(value.item())
        write_step(path, step, tensors, leave_out)
    export_collections(path, leave_out)
    (path / "training_job_end.ts").touch()
    return recorded


def importance_of(model, rename):
    shares = {}
    for kind in IMPORTANCES:
        scores = model.get_score(importance_type=kind)
        total = sum(scores.values())
        shares[kind] = {rename.get(name, name): score / total for name, score in scores.items()}
    return shares


def write_step(path, step, tensors, leave_out=()):
    """Writes one step of a run: `tensors` are values by name, by collection."""
    writer = FileWriter(path, worker="worker_0", step=step)
    for collection, by_name in tensors.items():
        if collection in leave_out:
            continue
        for name, value in by_name.items():
            writer.write_tensor(value, name)
    writer.close()


def export_collections(path, leave_out=()):
    manager = CollectionManager()
    for name, pattern in PATTERNS.items():
        if name not in leave_out:
            manager.get(name).include(pattern)
    manager.export(path, "worker_0_collections.json")
