"""The class labels that trees are trained on, for rules. See `DataFacts` in
include/smdebug/core/run_facts.h."""

from __future__ import annotations

import xgboost
from xgboost import collective

from smdebug import _core
from smdebug.array_summary import ArraySummary, labels_in
from smdebug.xgboost import hyperparameters

_CLASSIFICATIONS = ("binary:", "multi:")


def label_facts(model: xgboost.Booster, dtrain: xgboost.DMatrix) -> list[_core.LossFacts]:
    """The loss of a classification with its labels. Empty for other objectives, for one worker of
    several, which has a part of the rows, and if weights of rows or classes may balance the
    classes."""
    settings = hyperparameters.of_booster(model)
    objective = str(settings["objective"])
    is_weighted = settings.get("scale_pos_weight", 1) != 1 or dtrain.get_weight().size > 0
    if not objective.startswith(_CLASSIFICATIONS) or is_weighted or collective.is_distributed():
        return []
    labels = labels_in(dtrain.get_label())
    if labels is None:
        return []
    shape = [len(labels), max(1, int(settings.get("num_class", 1)))]
    summary = ArraySummary()
    summary.add_classes(labels, dtrain.get_label().dtype.name, [len(labels)])
    known = _core.LossInputFacts(objective, steps=0, shape=shape, targets=summary.facts())
    return [_core.LossFacts(objective, objective, input=known)]
