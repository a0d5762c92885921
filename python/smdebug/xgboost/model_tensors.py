"""What a Booster says of itself and of rows, as named arrays."""

import json

import numpy as np

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


def feature_names(booster):
    """The names of the features, `f0`, `f1`, ... where the training data had none."""
    return tuple(booster.feature_names or (f"f{i}" for i in range(booster.num_features())))


def importances(booster):
    """(`<type>/<feature>`, array float64) of each feature that is used: its share of the sum over
    all features. The weights of a linear model are coefficients with their sign, and their shares
    are of the sum of magnitudes; with several outputs there is one for each."""
    is_linear = _booster_kind(booster) == "gblinear"
    found = []
    for kind in _LINEAR_IMPORTANCE_TYPES if is_linear else IMPORTANCE_TYPES:
        scores = {
            feature: np.atleast_1d(np.asarray(score, np.float64))
            for feature, score in booster.get_score(importance_type=kind).items()
        }
        total = sum(np.abs(score).sum() for score in scores.values())
        with np.errstate(invalid="ignore"):  # of a model that has diverged: it is NaN
            for feature, score in scores.items():
                found.append((f"{kind}/{feature}", score / total if total > 0 else score))
    return found


def newest_trees(booster):
    """(column, array) of the trees of the last round, by tree and node: texts, but `Tree` and
    `Node` int64 and `Split`, `Gain`, `Cover` float64; texts that are missing are `nan`. Trees are
    numbered over the whole model.

    Raises ImportError without pandas, and what XGBoost raises for a model without trees.
    """
    table = booster[booster.num_boosted_rounds() - 1].trees_to_dataframe()
    table = table.sort_values(["Tree", "Node"], kind="stable")
    # A model of one round numbers its trees from 0.
    before = hyperparameters.of_booster(booster)["num_trees"] - table["Tree"].nunique()
    table["Tree"] += before
    for name in _NODE_COLUMNS:
        table[name] = [_renumbered(text, before) for text in table[name]]
    return [(name, _column(name, table[name])) for name in TREE_COLUMNS if name in table]


def contributions(booster, matrix):
    """SHAP values, float32: (rows, features + 1), the last column the bias; with several outputs
    (rows, outputs, features + 1)."""
    return booster.predict(matrix, pred_contribs=True)


def mean_contributions(values):
    """The mean over rows of what `contributions` gave, float32: (features + 1, 1), or
    (features + 1, outputs)."""
    mean = values.mean(axis=0, dtype=np.float64).astype(np.float32)
    return np.atleast_2d(mean).T


def labels(matrix):
    """The labels, float32: (rows,), or (rows, outputs) where a row has several. Raises ValueError
    where there are none."""
    values = matrix.get_label()
    if values.size == 0:
        raise ValueError("validation_data has no labels")
    rows = matrix.num_row()
    return values.reshape(rows, -1) if values.size != rows else values.reshape(rows)


def _booster_kind(booster):
    return json.loads(booster.save_config())["learner"]["gradient_booster"]["name"]


def _column(name, values):
    if name in _INTEGER_COLUMNS:
        return values.to_numpy(np.int64)
    if name in _REAL_COLUMNS:
        return values.to_numpy(np.float64)
    return np.asarray([_text(value) for value in values], dtype=np.str_)


def _renumbered(node, before):
    if not isinstance(node, str):
        return node
    tree, _, number = node.partition("-")
    return f"{int(tree) + before}-{number}"


def _text(value):
    return "nan" if isinstance(value, float) and value != value else str(value)
