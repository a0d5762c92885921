"""`RoundRecorder`: records the tensors of one boosting round.

Each tensor is computed only if it is due, and once if several collections share it (predictions,
SHAP values). `hook.status().skipped` lists the tensors that cannot be computed, with the reason;
each is logged once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from smdebug._core import (
    feature_importance_name,
    member_name,
    metric_deviation_name,
    metric_name,
)
from smdebug.hook_arguments import encodable
from smdebug.xgboost import hyperparameters, model_tensors
from smdebug.xgboost.collection import MODEL_COLLECTIONS

if TYPE_CHECKING:
    import numpy as np
    import xgboost

    from smdebug import _core
    from smdebug.xgboost.hook import Hook

    Named = Iterable[tuple[str, np.ndarray]]  # (tensor name, value)
    EvaluationLog = Mapping[str, Mapping[str, list[Any]]]

T = TypeVar("T")

# Collections of numbers that XGBoost passes to each callback.
_METRICS = {"metrics", "losses"}
_FOLDS = "xgboost.cv trains one model per fold: it has only metrics and hyperparameters"


class RoundRecorder:
    """Records rounds into the open step of `session`, with the data that `hook` was given."""

    def __init__(self, session: _core.Session, hook: Hook) -> None:
        self._session = session
        self._hook = hook
        # Each name is built, and its slot looked up, once.
        self._slot = functools.cache(session.tensor)
        self._slots = functools.cache(lambda *names: session.tensors(names))
        self._metric = functools.cache(lambda name_of, *parts: session.tensor(name_of(*parts)))
        self._plan_version: int | None = None
        self._has_patterns = False
        self._due: set[str] = set()  # the names of the collections that this round saves
        self._booster_keys: list[str] | None = None  # names of the booster's own hyperparameters

    def record(self, model: Any, evals_log: EvaluationLog) -> None:
        """Saves the due tensors of the round that just ended.

        `model` is a Booster, or the booster of xgboost.cv, which holds one per fold. `evals_log`
        is what XGBoost passes to callbacks: evaluation set -> metric -> values per round.
        """
        self._follow_plan()
        self._due = set(self._session.due_collections())
        if self._has_patterns or not self._due <= _METRICS:
            self._put_all_of_round(model, evals_log)
        else:
            self._put_metrics(evals_log)

    def _put_all_of_round(self, model: Any, evals_log: EvaluationLog) -> None:
        folds = getattr(model, "cvfolds", None)
        self._put_hyperparameters(folds[0].bst if folds else model)
        self._put_metrics(evals_log)
        if folds:
            self._skip_of_folds()
            return
        self._put_predictions(model)
        self._put_importances(model)
        self._put_trees(model)
        self._put_contributions(model)

    # --- due tensors ---

    def _follow_plan(self) -> None:
        """Finds out, after a change of the plan, whether the user has patterns."""
        if self._plan_version != self._session.plan_version:
            self._plan_version = self._session.plan_version
            self._has_patterns = self._hook.has_own_patterns()

    def _is_due(self, collection: str, names: Callable[[], Iterable[str]]) -> bool:
        """Returns whether the collection is due, or another one that holds one of its tensors.

        `names` lists these tensors; it is called only if the user has patterns.
        """
        if collection in self._due:
            return True
        return self._has_patterns and any(
            self._session.is_due(name, collection) for name in names()
        )

    def _put_all(
        self,
        collection: str,
        names: Callable[[], Iterable[str]],
        compute: Callable[[], Named],
    ) -> None:
        """Saves the tensors that `compute` returns, if any of them is due."""
        if not self._is_due(collection, names):
            return
        for name, value in self._attempt([collection], compute) or ():
            self._slot(name).put(value)

    def _attempt(self, names: Iterable[str], compute: Callable[[], T]) -> T | None:
        """Returns the result of `compute`, or None after listing `names` as skipped."""
        try:
            return compute()
        except Exception as error:
            for name in names:
                self._skip(name, _reason(error))
            return None

    def _skip(self, name: str, reason: str) -> None:
        self._slot(name).skip(reason)

    def _skip_unless_optional(self, name: str, reason: str) -> None:
        """For tensors that this kind of training does not have."""
        if not self._hook.is_optional(name):
            self._skip(name, reason)

    # --- the collections ---

    def _put_hyperparameters(self, booster: xgboost.Booster) -> None:
        given = self._hook.hyperparameters

        def compute() -> Named:
            values = hyperparameters.of_booster(booster) if given is None else given
            return [
                (member_name("hyperparameters", key), value)
                for key, value in hyperparameters.as_tensors(values)
            ]

        def names() -> Iterable[str]:
            if given is not None:
                return _members("hyperparameters", given)
            if self._booster_keys is None:
                self._booster_keys = [name for name, _ in compute()]
            return self._booster_keys

        self._put_all("hyperparameters", names, compute)

    def _put_metrics(self, evals_log: EvaluationLog) -> None:
        if not evals_log and self._is_due("metrics", tuple):
            self._skip(
                "metrics",
                "xgboost.train was given no evals, or fit no eval_set, to evaluate the model on",
            )
        for evaluation_set, metrics in evals_log.items():
            for metric, values in metrics.items():
                self._put_metric(evaluation_set, metric, values[-1])

    def _put_metric(self, evaluation_set: str, metric: str, value: Any) -> None:
        """Saves a number, or the mean and the standard deviation over the folds of xgboost.cv."""
        if isinstance(value, tuple):
            value, deviation = value
            self._metric(metric_deviation_name, evaluation_set, metric).put_number(deviation)
        self._metric(metric_name, evaluation_set, metric).put_number(value)

    def _put_predictions(self, model: xgboost.Booster) -> None:
        wanted = [name for name in ("predictions", "labels") if self._session.is_due(name, name)]
        matrix = self._matrix("validation_data", wanted) if wanted else None
        if matrix is None:
            return
        compute = {
            "predictions": lambda: model.predict(matrix),
            "labels": lambda: model_tensors.labels(matrix),
        }
        for name in wanted:
            value = self._attempt([name], compute[name])
            if value is not None:
                self._slot(name).put(value)

    def _put_importances(self, model: xgboost.Booster) -> None:
        def names() -> Iterable[str]:
            return [
                feature_importance_name(kind, feature)
                for kind in model_tensors.IMPORTANCE_TYPES
                for feature in model_tensors.feature_names(model)
            ]

        self._put_all("feature_importance", names, lambda: model_tensors.importances(model))

    def _put_trees(self, model: xgboost.Booster) -> None:
        def names() -> Iterable[str]:
            return _members("trees", model_tensors.TREE_COLUMNS)

        def compute() -> Named:
            return [
                (member_name("trees", column), values)
                for column, values in model_tensors.newest_trees(model)
            ]

        self._put_all("trees", names, compute)

    def _put_contributions(self, model: xgboost.Booster) -> None:
        features = model_tensors.feature_names(model)
        names = {
            collection: lambda collection=collection: _members(collection, features)
            for collection in ("full_shap", "average_shap")
        }
        wanted = [each for each, names_of in names.items() if self._is_due(each, names_of)]
        matrix = self._matrix("train_data", wanted) if wanted else None
        if matrix is None:
            return
        values = self._attempt(wanted, lambda: model_tensors.contributions(model, matrix))
        if values is None:
            return
        if "full_shap" in wanted:
            self._slots(*_members("full_shap", features)).put_shared(values)  # stored once
        if "average_shap" in wanted:
            # The last column is the bias, which belongs to no feature.
            means = model_tensors.mean_contributions(values)[:-1]
            for name, mean in zip(_members("average_shap", features), means, strict=True):
                self._slot(name).put(mean)

    def _matrix(self, name: str, wanted: list[str]) -> xgboost.DMatrix | None:
        """Returns the hook's data of that name, or None after listing `wanted` as skipped."""
        data = self._hook.data(name)
        if data is not None:
            return self._attempt(wanted, data.matrix)
        for each in wanted:
            self._skip_unless_optional(each, self._hook.reason_without(name))
        return None

    def _skip_of_folds(self) -> None:
        for name in MODEL_COLLECTIONS:
            if self._session.is_due("", name):
                self._skip_unless_optional(name, _FOLDS)


def _members(collection: str, members: Iterable[Any]) -> list[str]:
    """Returns the names of the tensors of a collection that holds one per member."""
    return [member_name(collection, encodable(str(member))) for member in members]


def _reason(error: Exception) -> str:
    """Returns the first line of an error that explains it, without XGBoost's time and file."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = next((line for line in lines if not line.startswith("Stack trace")), "")
    if "Check failed: " in reason:
        reason = reason.partition("Check failed: ")[2]
    elif reason.startswith("[") and ": " in reason:
        reason = reason.rpartition(": ")[2]
    return reason or repr(error)
