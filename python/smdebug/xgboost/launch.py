"""Records the training of an unmodified script: the part of `smdebug run` inside the trainer.

Every training of `xgboost.train`, `xgboost.cv` and the scikit-learn estimators runs its callbacks
in a CallbackContainer. That class is wrapped: the first training gets a hook of smdebug, and the
hook gets the matrices of the training. A script's own loop over `Booster.update` runs no callbacks
and is not recorded. Nothing is created before a training begins.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import xgboost
from xgboost import collective
from xgboost.callback import CallbackContainer

from smdebug import _core
from smdebug.hook_options import HookOptions
from smdebug.launched_hook import make_hook
from smdebug.log import get_logger
from smdebug.save_config import SaveConfig
from smdebug.xgboost import hyperparameters
from smdebug.xgboost.booster_facts import booster_facts, watches_of
from smdebug.xgboost.hook import Hook
from smdebug.xgboost.metric_series import MetricSeries
from smdebug_ng.autostart import VARIABLE, complain_of

_logger = get_logger()


def watch(settings: Mapping[str, Any]) -> None:
    """Waits for a training. `settings` are those that SMDEBUG_RUN holds."""
    Launch(settings).install()


# Tensors for `smdebug report` that a run with the default rules saves as well, because they are
# cheap: XGBoost has already predicted the evaluation sets of the training (0.4 ms per saved round
# for 25,000 rows), and at most 0.4 MB are saved. Labels and hyperparameters do not change.
REPORT_COLLECTIONS = ("hyperparameters", "labels", "predictions")
SAVED_ONCE = ("hyperparameters", "labels")
MOST_PREDICTIONS = 100_000  # numbers: rows times outputs


class LaunchedHook(Hook):
    """A hook for a script that does not know of it: it closes when its training ends."""

    most_predictions: int | None = None  # numbers per round; None: no limit
    has_watches: bool = False  # whether `use_watches` was called
    _describe: Callable[..., _core.RunFacts] | None = None

    def _initialize(self, options: HookOptions) -> None:
        super()._initialize(options)
        losses = self._framework.find("losses")
        self._series = MetricSeries(self._session, losses.include_regex)

    def _environment(self) -> dict[str, str]:
        return {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}

    def reason_without(self, name: str) -> str:
        """Returns why there are no data of that name, in terms of the script."""
        return (
            "the training evaluates no rows other than those it trains on: pass evals to "
            "xgboost.train, or eval_set to fit"
        )

    def use_data(
        self,
        model: xgboost.Booster,
        dtrain: xgboost.DMatrix,
        evals: list[tuple[xgboost.DMatrix, str]],
        has_own_objective: bool = False,
    ) -> None:
        """Takes the rows that the training uses, and the last evaluation set that differs. See
        `booster_facts` for `has_own_objective`."""
        others = [matrix for matrix, _ in evals if matrix is not dtrain]
        # xgboost.sklearn evaluates the matrix of fit itself where eval_set has the same objects.
        same = [name for matrix, name in evals if matrix is dtrain and name != "train"]
        self._describe = functools.partial(booster_facts, model, dtrain, same, has_own_objective)
        self._session.set_facts(self._describe())
        last = others[-1] if others else None
        if last is not None and self.most_predictions is not None:
            if last.num_row() * _outputs(model) > self.most_predictions:
                last = None
        self.train_data = dtrain
        self.validation_data = last

    def use_watches(self, watches: list[_core.MetricWatchFacts]) -> None:
        """Takes the metrics that callbacks watch, after `use_data`."""
        if watches and self._describe is not None:
            self._session.set_facts(self._describe(metric_watches=watches))
        self.has_watches = True

    def after_training(self, model: Any) -> Any:
        """Closes the run and releases the data. Returns `model`, as XGBoost requires."""
        self.close()
        self.train_data = self.validation_data = None
        return model


def _outputs(model: xgboost.Booster) -> int:
    """Returns how many numbers the model predicts for a row."""
    found = hyperparameters.of_booster(model)
    return max(1, int(found.get("num_class", 1)), int(found.get("num_target", 1)))


def _make_launched_hook(settings: Mapping[str, Any]) -> LaunchedHook:
    """Returns the hook that `settings` request; with the default rules, it saves the tensors of
    `smdebug report` too. In a training of several processes it does not: if one of them stopped
    recording, the others might wait for its part of a prediction."""
    wanted = settings.get("collections", [])
    has_default_rules = any(each.get("optional") for each in wanted)
    added = []
    if has_default_rules and not collective.is_distributed():
        known = {each["name"] for each in wanted}
        added = [name for name in REPORT_COLLECTIONS if name not in known]
        more = [{"name": name, "optional": True} for name in added]
        settings = {**settings, "collections": [*wanted, *more]}
    hook = make_hook(LaunchedHook, settings)
    for name in set(added) & set(SAVED_ONCE):
        hook.get_collection(name).save_config = SaveConfig(save_interval=1, end_step=1)
    hook.most_predictions = MOST_PREDICTIONS if "predictions" in added else None
    return hook


class Launch:
    """Adds a hook to the first training of this process."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._container: CallbackContainer | None = None  # of the training that is recorded
        self._hook: LaunchedHook | None = None
        self._has_own_objective = False
        self._has_warned = False
        self._lock = threading.Lock()

    def install(self) -> None:
        """Wraps CallbackContainer, for the life of the process."""
        make, end_iteration = CallbackContainer.__init__, CallbackContainer.after_iteration
        launch = self

        @functools.wraps(make)
        def __init__(self: Any, callbacks: Any, *arguments: Any, **keywords: Any) -> None:
            make(self, launch.with_hook(self, callbacks), *arguments, **keywords)
            # XGBoost gives metrics the scores of trees if the objective is a function.
            launch.note_objective(self, bool(keywords.get("output_margin", False)))

        @functools.wraps(end_iteration)
        def after_iteration(self: Any, model: Any, epoch: int, dtrain: Any, evals: Any) -> bool:
            launch.show_data(self, model, dtrain, evals)
            is_over = end_iteration(self, model, epoch, dtrain, evals)
            launch.show_watches(self, dtrain, evals)
            return is_over

        CallbackContainer.__init__ = __init__
        CallbackContainer.after_iteration = after_iteration

    def with_hook(self, container: CallbackContainer, callbacks: Iterable[Any]) -> list[Any]:
        """Returns the callbacks of a training that begins, with a new hook if it is recorded.

        The hook comes first: a callback behind one that stops the training does not see the last
        round.
        """
        callbacks = list(callbacks)
        try:
            if any(isinstance(each, Hook) for each in callbacks) or not self._takes(container):
                return callbacks
            self._hook = _make_launched_hook(self._settings)
            return [self._hook, *callbacks]
        except Exception as error:
            complain_of(error)
            return callbacks

    def note_objective(self, container: CallbackContainer, is_own: bool) -> None:
        """Notes whether a function of the script is the objective of a training that begins."""
        if container is self._container:
            self._has_own_objective = is_own

    def show_data(
        self,
        container: CallbackContainer,
        model: xgboost.Booster,
        dtrain: xgboost.DMatrix,
        evals: list[tuple[xgboost.DMatrix, str]] | None,
    ) -> None:
        """Gives the hook the rows that the training uses.

        They are the training data, and the last evaluation set that differs from it.
        """
        if container is not self._container or self._hook is None or container.is_cv:
            return
        if self._hook.train_data is dtrain:
            return
        try:
            self._hook.use_data(model, dtrain, evals or [], self._has_own_objective)
        except Exception as error:
            self._container = None
            complain_of(error)

    def show_watches(
        self,
        container: CallbackContainer,
        dtrain: xgboost.DMatrix,
        evals: list[tuple[xgboost.DMatrix, str]] | None,
    ) -> None:
        """Gives the hook the metrics that callbacks watch, after the first round."""
        if container is not self._container or self._hook is None or self._hook.has_watches:
            return
        try:
            self._hook.use_watches(watches_of(container.callbacks, dtrain, evals or []))
        except Exception as error:
            self._container = None
            complain_of(error)

    def _takes(self, container: CallbackContainer) -> bool:
        """Returns whether this training is recorded. Steps of several would be judged as one."""
        with self._lock:
            if self._container is None:
                self._container = container
                return True
            is_first, self._has_warned = not self._has_warned, True
        if is_first:
            _logger.warning(
                "further trainings of this process are not recorded; give each a "
                "smdebug.xgboost.Hook with its own folder"
            )
        return False
