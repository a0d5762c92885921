"""Records the training of an unmodified script: the part of `smdebug run` inside the trainer.

Every training of `xgboost.train`, `xgboost.cv` and the scikit-learn estimators runs its callbacks
in a CallbackContainer. That class is wrapped: the first training gets a hook of smdebug, and the
hook gets the matrices of the training. A script's own loop over `Booster.update` runs no callbacks
and is not recorded. Nothing is created before a training begins.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable, Mapping
from typing import Any

import xgboost
from xgboost.callback import CallbackContainer

from smdebug.autostart import complain
from smdebug.launched_hook import make_hook
from smdebug.log import get_logger
from smdebug.xgboost.hook import Hook

_logger = get_logger()


def watch(settings: Mapping[str, Any]) -> None:
    """Waits for a training. `settings` are those that SMDEBUG_RUN holds."""
    Launch(settings).install()


class LaunchedHook(Hook):
    """A hook for a script that does not know of it: it closes when its training ends."""

    def after_training(self, model: Any) -> Any:
        """Closes the run and releases the data. Returns `model`, as XGBoost requires."""
        self.close()
        self.train_data = self.validation_data = None
        return model


class Launch:
    """Adds a hook to the first training of this process."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._container: CallbackContainer | None = None  # of the training that is recorded
        self._hook: LaunchedHook | None = None
        self._has_warned = False
        self._lock = threading.Lock()

    def install(self) -> None:
        """Wraps CallbackContainer, for the life of the process."""
        make, end_iteration = CallbackContainer.__init__, CallbackContainer.after_iteration
        launch = self

        @functools.wraps(make)
        def __init__(self: Any, callbacks: Any, *arguments: Any, **keywords: Any) -> None:
            make(self, launch.with_hook(self, callbacks), *arguments, **keywords)

        @functools.wraps(end_iteration)
        def after_iteration(self: Any, model: Any, epoch: int, dtrain: Any, evals: Any) -> bool:
            launch.show_data(self, dtrain, evals)
            return end_iteration(self, model, epoch, dtrain, evals)

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
            self._hook = make_hook(LaunchedHook, self._settings)
            return [self._hook, *callbacks]
        except Exception as error:
            complain(repr(error))
            return callbacks

    def show_data(
        self,
        container: CallbackContainer,
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
            others = [matrix for matrix, _ in evals or [] if matrix is not dtrain]
            self._hook.train_data = dtrain
            self._hook.validation_data = others[-1] if others else None
        except Exception as error:
            self._container = None
            complain(repr(error))

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
