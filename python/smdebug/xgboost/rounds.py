"""`RoundRecorder`: the tensors of one boosting round, each computed only where it is due.

What several collections want of a round (predictions, SHAP values) is computed once. What cannot
be had is told once, with the reason, in `hook.status().skipped`.
"""

from smdebug import _core
from smdebug.xgboost import hyperparameters, model_tensors
from smdebug.xgboost.collection import MODEL_COLLECTIONS

# Those of numbers that XGBoost hands to a callback anyhow.
_METRICS = {"metrics", "losses"}
_FOLDS = "xgboost.cv trains one model per fold: it has metrics and hyperparameters alone"


class RoundRecorder:
    def __init__(self, session, hook):
        self._session = session
        self._hook = hook
        self._sites = {}  # by name
        self._metrics = {}  # those of metrics: by kind of name, evaluation set, metric
        self._shared = {}  # names of one tensor -> their places
        self._plan_version = None
        self._has_patterns = False
        self._due = set()  # the names of the collections that this round saves
        self._booster_keys = None  # the names of the booster's own hyperparameters

    def record(self, model, evals_log):
        """Puts what is due of the round that just ended into the open step.

        `model` is a Booster, or the booster of xgboost.cv, which holds one per fold.
        """
        self._follow_plan()
        self._due = set(self._session.due_collections())
        if self._has_patterns or not self._due <= _METRICS:
            self._put_all_of_round(model, evals_log)
        else:
            self._put_metrics(evals_log)

    def _put_all_of_round(self, model, evals_log):
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

    # --- what is due ---

    def _follow_plan(self):
        """Names are searched with all patterns only where the user has any."""
        if self._plan_version != self._session.plan_version:
            self._plan_version = self._session.plan_version
            self._has_patterns = self._hook.has_own_patterns()

    def _is_due(self, collection, names):
        """Whether the collection is, or another one that holds one of the tensors. `names` is
        called where that must be found out."""
        if collection in self._due:
            return True
        return self._has_patterns and any(
            self._session.is_due(name, collection) for name in names()
        )

    def _put(self, name, value):
        site = self._sites.get(name)
        if site is None:
            site = self._sites[name] = self._session.tensor(name)
        site.put(value)

    def _put_all(self, collection, names, compute):
        """Puts the (name, value) pairs that `compute` gives, if any of them is due."""
        if not self._is_due(collection, names):
            return
        for name, value in self._attempt([collection], compute) or ():
            self._put(_core.member_name(collection, name), value)

    def _attempt(self, names, compute):
        """What `compute` gives; None, with a word to the user about each of `names`, where XGBoost
        cannot."""
        try:
            return compute()
        except Exception as error:
            for name in names:
                self._skip(name, _reason(error))
            return None

    def _skip(self, name, reason):
        self._session.tensor(name).skip(reason)

    # --- the collections ---

    def _put_hyperparameters(self, booster):
        given = self._hook.hyperparameters

        def compute():
            values = hyperparameters.of_booster(booster) if given is None else given
            return hyperparameters.as_tensors(values)

        def names():
            if given is not None:
                return _members("hyperparameters", given)
            if self._booster_keys is None:
                self._booster_keys = _members("hyperparameters", [name for name, _ in compute()])
            return self._booster_keys

        self._put_all("hyperparameters", names, compute)

    def _put_metrics(self, evals_log):
        if not evals_log and self._is_due("metrics", tuple):
            self._skip("metrics", "xgboost.train was given no evals to evaluate the model on")
        for evaluation_set, metrics in evals_log.items():
            for metric, values in metrics.items():
                self._put_metric(evaluation_set, metric, values[-1])

    def _put_metric(self, evaluation_set, metric, value):
        """In xgboost.cv a value is the mean over folds and their standard deviation."""
        if isinstance(value, tuple):
            value, deviation = value
            self._metric(_core.metric_deviation_name, evaluation_set, metric).put_number(deviation)
        self._metric(_core.metric_name, evaluation_set, metric).put_number(value)

    def _metric(self, name_of, evaluation_set, metric):
        """Its place, whose name is built once."""
        key = (name_of, evaluation_set, metric)
        site = self._metrics.get(key)
        if site is None:
            site = self._metrics[key] = self._session.tensor(name_of(evaluation_set, metric))
        return site

    def _put_predictions(self, model):
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
                self._put(name, value)

    def _put_importances(self, model):
        def names():
            return [
                _core.feature_importance_name(kind, feature)
                for kind in model_tensors.IMPORTANCE_TYPES
                for feature in model_tensors.feature_names(model)
            ]

        self._put_all("feature_importance", names, lambda: model_tensors.importances(model))

    def _put_trees(self, model):
        def names():
            return _members("trees", model_tensors.TREE_COLUMNS)

        self._put_all("trees", names, lambda: model_tensors.newest_trees(model))

    def _put_contributions(self, model):
        features = model_tensors.feature_names(model)

        def names_of(collection):
            return lambda: _members(collection, features)

        wanted = [
            collection
            for collection in ("full_shap", "average_shap")
            if self._is_due(collection, names_of(collection))
        ]
        matrix = self._matrix("train_data", wanted) if wanted else None
        if matrix is None:
            return
        values = self._attempt(wanted, lambda: model_tensors.contributions(model, matrix))
        if values is None:
            return
        if "full_shap" in wanted:
            self._put_shared(names_of("full_shap")(), values)
        if "average_shap" in wanted:
            # The last column is the bias, which belongs to no feature.
            means = model_tensors.mean_contributions(values)
            for name, mean in zip(names_of("average_shap")(), means[:-1], strict=True):
                self._put(name, mean)

    def _put_shared(self, names, value):
        key = tuple(names)
        sites = self._shared.get(key)
        if sites is None:
            sites = self._shared[key] = self._session.tensors(names)
        sites.put_shared(value)

    def _matrix(self, name, wanted):
        data = self._hook.data(name)
        if data is not None:
            return self._attempt(wanted, data.matrix)
        for each in wanted:
            self._skip(each, f"the hook has no {name}: give it one, a DMatrix or a file")
        return None

    def _skip_of_folds(self):
        for name in MODEL_COLLECTIONS:
            if self._session.is_due("", name):
                self._skip(name, _FOLDS)


def _members(collection, members):
    """The names of the tensors of a collection that holds one per member."""
    return [_core.member_name(collection, str(member)) for member in members]


def _reason(error):
    """The first line of an error that says something: XGBoost's begin with the time of day and
    the place in its source."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = next((line for line in lines if not line.startswith("Stack trace")), "")
    if "Check failed: " in reason:
        reason = reason.partition("Check failed: ")[2]
    elif reason.startswith("[") and ": " in reason:
        reason = reason.rpartition(": ")[2]
    return reason or repr(error)
