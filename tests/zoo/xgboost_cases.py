"""XGBoost in the zoo: its healthy trainings, the faults planted into them, and their loop.

A step is a boosting round. The rows are those of tasks.py; standardization does not affect trees.
"""

import dataclasses

import numpy as np
import recipes
import recording
import tasks
import training as zoo
import xgboost
from faults import Fault

FAULTY_SEEDS = 2
HEALTHY_SEEDS = 3


@dataclasses.dataclass
class Rows:
    """float32 features (rows, features), and labels (rows,): classes 0, 1, ... or numbers."""

    x: np.ndarray
    y: np.ndarray


@dataclasses.dataclass
class Boosting:
    """The parts of a training. A fault changes them before it begins.

    `classes` is 0 for a regression; `goal` is the share of correct predictions, or of explained
    variance, that a healthy training reaches on the validation rows.
    """

    train: Rows
    validation: Rows
    classes: int
    params: dict
    rounds: int
    goal: float
    seed: int
    early_stopping_rounds: int | None = None
    maximize: bool | None = None  # None: chosen by XGBoost


# --- healthy trainings ---


def cancer_trees(half, seed):
    if half == recipes.TUNE:
        return _boosting(tasks.cancer, seed, 400, 0.9, eta=0.02, max_depth=3)
    return _boosting(tasks.cancer, seed, 450, 0.9, eta=0.01, max_depth=4, subsample=0.8)


def wine_trees(half, seed):
    if half == recipes.TUNE:
        return _boosting(tasks.wine, seed, 250, 0.85, eta=0.02, max_depth=2)
    return _boosting(tasks.wine, seed, 300, 0.85, eta=0.015, max_depth=3, colsample_bytree=0.5)


def digit_trees(half, seed):
    """Ends when the loss on the validation rows no longer falls."""
    if half == recipes.TUNE:
        training = _boosting(tasks.digits, seed, 120, 0.9, eta=0.3, max_depth=4, subsample=0.8)
    else:
        training = _boosting(tasks.digits, seed, 120, 0.9, eta=0.2, max_depth=6, subsample=0.7)
    training.early_stopping_rounds = 5
    return training


def diabetes_trees(half, seed):
    if half == recipes.TUNE:
        return _boosting(tasks.diabetes, seed, 300, 0.25, eta=0.01, max_depth=3)
    return _boosting(
        tasks.diabetes, seed, 250, 0.25, eta=0.02, max_depth=2, subsample=0.7, reg_lambda=5
    )


RECIPES = {each.__name__: each for each in (cancer_trees, wine_trees, digit_trees, diabetes_trees)}


def _boosting(task, seed, rounds, goal, **params):
    task = task(seed)
    train, validation = (
        Rows(x.numpy(), y.numpy().reshape(len(y)))
        for x, y in ((task.train_x, task.train_y), (task.test_x, task.test_y))
    )
    params |= _objective(task.classes) | {"tree_method": "hist", "nthread": 1, "seed": seed}
    return Boosting(train, validation, task.classes, params, rounds, goal, seed)


def _objective(classes):
    if classes == 0:
        return {"objective": "reg:squarederror"}
    if classes == 2:
        return {"objective": "binary:logistic"}
    return {"objective": "multi:softprob", "num_class": classes}


# --- faults ---


def _random(training):
    return np.random.default_rng(training.seed)


def _leak(training):
    """The last feature becomes the label, with occasional errors, as in a log."""
    random = _random(training)
    for rows in (training.train, training.validation):
        told = rows.y.astype(np.float32)
        if training.classes:
            wrong = random.random(len(told)) < 0.03
            told[wrong] = random.integers(0, training.classes, wrong.sum())
        else:
            told += random.normal(0, 0.3, len(told)).astype(np.float32)
        rows.x = np.column_stack([rows.x[:, :-1], told])


def _deep(training):
    training.params |= {"max_depth": 30, "min_child_weight": 0, "reg_lambda": 0}


def _shuffled(training):
    random = _random(training)
    for rows in (training.train, training.validation):
        rows.y = random.permutation(rows.y)
    training.early_stopping_rounds = None


def _imbalanced(training):
    """Keeps all of class 0 and one in twenty of every other class."""
    for rows in (training.train, training.validation):
        kept = rows.y == 0
        for label in range(1, training.classes):
            places = np.flatnonzero(rows.y == label)
            kept[places[: max(1, len(places) // 20)]] = True
        rows.x, rows.y = rows.x[kept], rows.y[kept]


def _overfitting(training):
    training.train = Rows(training.train.x[:40], training.train.y[:40])
    training.params |= {"eta": 0.5, "max_depth": 12, "min_child_weight": 0, "subsample": 1}
    training.early_stopping_rounds = None


def _eta(value):
    def spoil(training):
        training.params["eta"] = value
        training.early_stopping_rounds = None

    return spoil


def _without_splits(training):
    training.params["gamma"] = 1e6
    training.early_stopping_rounds = None


def _maximized(training):
    training.early_stopping_rounds = 10
    training.maximize = True


def _regression(training):
    training.params["objective"] = "reg:squarederror"
    del training.params["num_class"]
    training.classes = 0


FAULTS = (
    Fault(
        "feature that is the label",
        "one feature is a copy of the label with few errors, and the trees use only this feature",
        ("FeatureImportanceOverweight",),
        ("cancer_trees", "wine_trees", "diabetes_trees"),
        _leak,
    ),
    Fault(
        "trees without a limit",
        "trees may be 30 levels deep, and a leaf may hold a single row",
        ("TreeDepth",),
        ("digit_trees", "diabetes_trees"),
        _deep,
    ),
    Fault(
        "shuffled labels of trees",
        "labels of training and validation rows are unrelated to the features",
        ("Confusion", "LossNotDecreasing", "NoGeneralization"),
        ("cancer_trees", "wine_trees", "digit_trees"),
        _shuffled,
    ),
    Fault(
        "class imbalance of trees",
        "all samples of one class, 5 % of the samples of every other class",
        ("ClassImbalance",),
        ("cancer_trees",),
        _imbalanced,
        named_by=("ClassImbalance: a class is larger", "LabelsAndInputs: a rare class"),
    ),
    Fault(
        "overfitting trees",
        "40 rows, trees 12 levels deep, and too many rounds",
        ("Overfit",),
        ("cancer_trees", "digit_trees", "diabetes_trees"),
        _overfitting,
    ),
    Fault(
        "learning rate 0",
        "no round changes the predictions of the earlier trees",
        ("LossNotDecreasing",),
        ("cancer_trees", "wine_trees", "diabetes_trees"),
        _eta(0.0),
    ),
    Fault(
        "learning rate of trees too high",
        "each round overcorrects the previous one several times over",
        ("LossNotDecreasing",),
        ("cancer_trees", "wine_trees", "diabetes_trees"),
        _eta(4.0),
    ),
    Fault(
        "learning rate of trees too low",
        "each round changes the predictions by almost nothing",
        ("LossNotDecreasing",),
        ("cancer_trees", "wine_trees", "diabetes_trees"),
        _eta(1e-5),
        named_by=("LossNotDecreasing: of trees hardly falls",),
    ),
    Fault(
        "trees without splits",
        "a split must reduce the loss by a million, so each tree is a single leaf",
        ("LossNotDecreasing",),
        ("cancer_trees", "wine_trees", "diabetes_trees"),
        _without_splits,
        named_by=("LossNotDecreasing: of trees",),
    ),
    Fault(
        "early stopping in the wrong direction",
        "the early stopping of trees maximizes the loss on the validation rows",
        ("WatchedMetric",),
        ("cancer_trees", "digit_trees", "diabetes_trees"),
        _maximized,
    ),
    Fault(
        "regression of classes",
        "a squared error for labels that are ten classes",
        ("LabelsAndInputs",),
        ("digit_trees",),
        _regression,
        named_by=("LabelsAndInputs: look like classes",),
    ),
)

# --- the table, and the loop ---


def cases(case_class):
    """Every case, as a `case_class` (cases.Case)."""
    for half in recipes.HALVES:
        for recipe in RECIPES:
            for seed in recipes.seeds(half, HEALTHY_SEEDS):
                yield _case(case_class, "healthy", recipe, half, seed, None)
        for fault in FAULTS:
            for recipe in fault.recipes:
                for seed in recipes.seeds(half, FAULTY_SEEDS):
                    yield _case(case_class, fault.name, recipe, half, seed, fault)


def _case(case_class, title, recipe, half, seed, fault):
    return case_class(
        f"{title}/{recipe}/{half}/{seed}",
        half,
        seed,
        fault,
        lambda request: recording.recorded(request, _run_recipe, recipe, half, seed, fault),
        "XGBoost",
    )


def _run_recipe(recipe, half, seed, fault):
    training = RECIPES[recipe](half, seed)
    if fault:
        fault.spoil(training)
    quality = run(training)
    return quality if fault else zoo.learned(training, quality)


def run(training):
    """Trains, and returns the quality of the model on the validation rows: the share of correct
    predictions, or of explained variance."""
    dtrain, dval = (
        xgboost.DMatrix(rows.x, rows.y) for rows in (training.train, training.validation)
    )
    model = xgboost.train(
        training.params,
        dtrain,
        training.rounds,
        evals=[(dtrain, "train"), (dval, "validation")],
        early_stopping_rounds=training.early_stopping_rounds,
        maximize=training.maximize,
        verbose_eval=False,
    )
    return _quality(model.predict(dval), training)


def _quality(answers, training):
    labels = training.validation.y
    if not training.classes:
        return 1 - float(np.square(answers - labels).mean() / labels.var())
    chosen = answers.argmax(1) if answers.ndim == 2 else answers > 0.5
    return float((chosen == labels).mean())
