"""The facts of a training of trees: the booster with its settings, and the objective with the class
labels that it is trained on. See include/smdebug/core/run_facts.h."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xgboost
from xgboost import collective
from xgboost.callback import EarlyStopping

from smdebug import _core
from smdebug.array_summary import ArraySummary, labels_in
from smdebug.loss_summary import weights_of_extremes
from smdebug.xgboost import hyperparameters

_CLASSIFICATIONS = ("binary:", "multi:")
# Errors of numbers. Whole numbers may be classes, which the objective takes for sizes.
_REGRESSIONS = (
    *("reg:squarederror", "reg:linear", "reg:absoluteerror"),
    *("reg:squaredlogerror", "reg:pseudohubererror"),
)
# More different whole numbers are hardly classes.
_MOST_CLASSES = 100
# The kind of a loss that a function of the script computes. The booster then has an objective that
# is not used.
OWN_OBJECTIVE = "custom objective"
# The name of a setting, if XGBoost has another -> that of XGBoost.
_SETTINGS = {
    "learning_rate": "eta",
    "max_depth": "max_depth",
    "max_leaves": "max_leaves",
    "min_child_weight": "min_child_weight",
    "min_split_loss": "gamma",
    "subsample": "subsample",
    "colsample_bytree": "colsample_bytree",
    "reg_lambda": "lambda",
    "reg_alpha": "alpha",
    "rate_drop": "rate_drop",
}


def booster_facts(
    model: xgboost.Booster,
    dtrain: xgboost.DMatrix,
    training_sets: list[str],
    has_own_objective: bool = False,
    metric_watches: Sequence[_core.MetricWatchFacts] = (),
) -> _core.RunFacts:
    """The facts of a training of `model` on `dtrain`, after its first round. The booster takes the
    place of the optimizer of other frameworks: it makes the updates, at its learning rate.
    `training_sets` are names of evaluation sets that are `dtrain`. With `has_own_objective`, a
    function of the script computes the gradients. `metric_watches` are those of `watches_of`.

    The setting `earlier_rounds` is that of a model whose training continues."""
    settings = hyperparameters.of_booster(model)
    known = {ours: settings[key] for ours, key in _SETTINGS.items() if key in settings}
    known |= {"earlier_rounds": earlier} if (earlier := model.num_boosted_rounds() - 1) > 0 else {}
    group = _core.OptimizerGroupFacts(
        parameters=0,
        settings={name: float(value) for name, value in known.items() if _is_number(value)},
    )
    objective = OWN_OBJECTIVE if has_own_objective else str(settings["objective"])
    labels = None if has_own_objective else _label_facts(settings, dtrain)
    return _core.RunFacts(
        optimizers=[_core.OptimizerFacts(str(settings.get("booster", "gbtree")), [group])],
        losses=[_core.LossFacts(objective, objective, input=labels)],
        training_sets=training_sets,
        loop=_core.LoopFacts(metric_watches=list(metric_watches)),
    )


def watches_of(
    callbacks: Iterable[Any],
    dtrain: xgboost.DMatrix,
    evals: list[tuple[xgboost.DMatrix, str]],
) -> list[_core.MetricWatchFacts]:
    """Describes the callbacks that stop a training early, after its first round: by then they have
    chosen a metric and a direction."""
    of_training = {name for matrix, name in evals if matrix is dtrain}
    has_others = len(of_training) < len(evals)
    return [
        _core.MetricWatchFacts(
            "EarlyStopping",
            f"{data}-{metric}",
            prefers_high=bool(callback.maximize),
            is_of_training=has_others and data in of_training,
        )
        for callback in callbacks
        if isinstance(callback, EarlyStopping)
        for data, metrics in callback.stopping_history.items()
        for metric in metrics
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _label_facts(
    settings: Mapping[str, Any], dtrain: xgboost.DMatrix
) -> _core.LossInputFacts | None:
    """The labels of a classification, and those of a regression that may be classes: a few
    different whole numbers. None for other objectives, for one worker of several, which has a part
    of the rows, and if weights of rows may balance the classes."""
    objective = str(settings["objective"])
    is_regression = objective in _REGRESSIONS
    is_weighted = dtrain.get_weight().size > 0
    if not is_regression and not objective.startswith(_CLASSIFICATIONS):
        return None
    if is_weighted or collective.is_distributed():
        return None
    labels = labels_in(dtrain.get_label())
    if labels is None:
        return None
    shape = [len(labels), max(1, int(settings.get("num_class", 1)))]
    summary = ArraySummary()
    summary.add_classes(labels, dtrain.get_label().dtype.name, [len(labels)])
    if is_regression:
        if not 2 <= len(summary.label_counts) <= _MOST_CLASSES:
            return None
        summary.add_range(int(labels.min()), int(labels.max()))
    return _core.LossInputFacts(
        objective,
        steps=0,
        shape=shape,
        targets=summary.facts(),
        class_weights=_class_weights(settings, summary.label_counts),
    )


def _class_weights(
    settings: Mapping[str, Any], counts: Mapping[int, int]
) -> tuple[float, float] | None:
    """The weights of the most and of the least frequent of two classes; None if both are 1."""
    of_positive = float(settings.get("scale_pos_weight", 1))
    if of_positive == 1 or len(counts) != 2:
        return None
    return weights_of_extremes(np.array([1.0, of_positive]), counts)
