"""The tensors of a Booster: importances, trees, predictions and SHAP values, as named arrays."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xgboost

from smdebug._core import feature_importance_name
from smdebug.xgboost import hyperparameters

IMPORTANCE_TYPES = ("weight", "gain", "cover", "total_gain", "total_cover")
_LINEAR_IMPORTANCE_TYPES = ("weight",)  # of gblinear, which has no trees
TREE_COLUMNS = (
    "Tree",
    "Node",
    "ID",
    "Feature",
    "Split",
    "Yes",
    "No",
    "Missing",
    "Gain",
    "Cover",
    "Category",
)
_INTEGER_COLUMNS = ("Tree", "Node")
_REAL_COLUMNS = ("Split", "Gain", "Cover")
_NODE_COLUMNS = ("ID", "Yes", "No", "Missing")  # `<tree>-<node>`


def feature_names(booster: xgboost.Booster) -> tuple[str, ...]:
    """Returns the names of the features: `f0`, `f1`, ... if the training data had none."""
    return tuple(booster.feature_names or (f"f{i}" for i in range(booster.num_features())))


def importances(booster: xgboost.Booster) -> list[tuple[str, np.ndarray]]:
    """Returns (tensor name, array float64) for each importance type and feature that is used.

    The value is the feature's share of the sum over all features, of shape (1,). The weights of a
    linear model are coefficients with a sign: their shares are of the sum of magnitudes, of shape
    (outputs,).
    """
    is_linear = _booster_kind(booster) == "gblinear"
    found = []
    for kind in _LINEAR_IMPORTANCE_TYPES if is_linear else IMPORTANCE_TYPES:
        scores = {
            feature: np.atleast_1d(np.asarray(score, np.float64))
            for feature, score in booster.get_score(importance_type=kind).items()
        }
        total = sum(np.abs(score).sum() for score in scores.values())
        with np.errstate(invalid="ignore"):  # NaN for a model that has diverged
            for feature, score in scores.items():
                name = feature_importance_name(kind, feature)
                found.append((name, score / total if total > 0 else score))
    return found


def newest_trees(booster: xgboost.Booster) -> list[tuple[str, np.ndarray]]:
    """Returns (column, array) of the last round's trees, ordered by tree and node.

    `Tree` and `Node` are int64, `Split`, `Gain` and `Cover` float64, the other columns text; a
    missing text is `nan`. Trees are numbered over the whole model.

    Raises ImportError without pandas, and ValueError for a model without trees.
    """
    if _booster_kind(booster) == "gblinear":
        raise ValueError("booster=gblinear is a linear model and has no trees")
    table = booster[booster.num_boosted_rounds() - 1].trees_to_dataframe()
    table = table.sort_values(["Tree", "Node"], kind="stable")
    # A model of one round numbers its trees from 0.
    before = hyperparameters.of_booster(booster)["num_trees"] - table["Tree"].nunique()
    table["Tree"] += before
    for name in _NODE_COLUMNS:
        table[name] = [_renumbered(text, before) for text in table[name]]
    return [(name, _column(name, table[name])) for name in TREE_COLUMNS if name in table]


def contributions(booster: xgboost.Booster, matrix: xgboost.DMatrix) -> np.ndarray:
    """Returns SHAP values, float32 of shape (rows, features + 1), with the bias in the last column.

    A model with several outputs has shape (rows, outputs, features + 1).
    """
    return booster.predict(matrix, pred_contribs=True)


def mean_contributions(values: np.ndarray) -> np.ndarray:
    """Returns the mean of `contributions` over rows, float32 of shape (features + 1, outputs)."""
    mean = values.mean(axis=0, dtype=np.float64).astype(np.float32)
    return np.atleast_2d(mean).T


def labels(matrix: xgboost.DMatrix) -> np.ndarray:
    """Returns the labels, float32 of shape (rows,), or (rows, outputs) if a row has several.

    Raises ValueError if the matrix has none.
    """
    values = matrix.get_label()
    if values.size == 0:
        raise ValueError("validation_data has no labels")
    rows = matrix.num_row()
    return values.reshape(rows, -1) if values.size != rows else values.reshape(rows)


def _booster_kind(booster: xgboost.Booster) -> str:
    return json.loads(booster.save_config())["learner"]["gradient_booster"]["name"]


def _column(name: str, values: Any) -> np.ndarray:
    if name in _INTEGER_COLUMNS:
        return values.to_numpy(np.int64)
    if name in _REAL_COLUMNS:
        return values.to_numpy(np.float64)
    return np.asarray([_text(value) for value in values], dtype=np.str_)


def _renumbered(node: Any, before: int) -> Any:
    if not isinstance(node, str):
        return node
    tree, _, number = node.partition("-")
    return f"{int(tree) + before}-{number}"


def _text(value: Any) -> str:
    return "nan" if isinstance(value, float) and value != value else str(value)
