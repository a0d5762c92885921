"""Records the training of an unmodified script: the part of `smdebug run` inside the trainer.

Every training of `xgboost.train`, `xgboost.cv` and the scikit-learn estimators runs its callbacks
in a CallbackContainer; that class is wrapped, so that the first training gets a hook of ours, and
the matrices that it works on. A loop of the script's own over `Booster.update` runs no callbacks
and is not seen. Nothing is made before a training begins.
"""

import functools
import threading

from xgboost.callback import CallbackContainer

from smdebug.autostart import complain
from smdebug.launched_hook import make_hook
from smdebug.log import get_logger
from smdebug.xgboost.hook import Hook

logger = get_logger()


def watch(settings):
    """Waits for a training. `settings` is what SMDEBUG_RUN says."""
    Launch(settings).install()


class LaunchedHook(Hook):
    """A hook for a script that does not know of it: it ends with its training."""

    def after_training(self, model):
        self.close()
        self.train_data = self.validation_data = None
        return model


class Launch:
    def __init__(self, settings):
        self._settings = settings
        self._container = None  # of the training that is recorded
        self._hook = None
        self._has_told = False
        self._lock = threading.Lock()

    def install(self):
        make, end_iteration = CallbackContainer.__init__, CallbackContainer.after_iteration
        launch = self

        @functools.wraps(make)
        def __init__(self, callbacks, *arguments, **keywords):
            make(self, launch.with_hook(self, callbacks), *arguments, **keywords)

        @functools.wraps(end_iteration)
        def after_iteration(self, model, epoch, dtrain, evals):
            launch.show_data(self, dtrain, evals)
            return end_iteration(self, model, epoch, dtrain, evals)

        CallbackContainer.__init__ = __init__
        CallbackContainer.after_iteration = after_iteration

    def with_hook(self, container, callbacks):
        """The callbacks of a training that begins, ours first: one behind a callback that stops
        the training would not see the last round."""
        callbacks = list(callbacks)
        try:
            if any(isinstance(each, Hook) for each in callbacks) or not self._takes(container):
                return callbacks
            self._hook = make_hook(LaunchedHook, self._settings)
            return [self._hook, *callbacks]
        except Exception as error:
            complain(repr(error))
            return callbacks

    def show_data(self, container, dtrain, evals):
        """Hands the hook what the training works on: the rows that it trains on, and the last of
        those that it is evaluated on besides."""
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

    def _takes(self, container):
        """One training is one run: steps of several would be judged as one."""
        with self._lock:
            if self._container is None:
                self._container = container
                return True
            is_first, self._has_told = not self._has_told, True
        if is_first:
            logger.warning(
                "further trainings of this process are not recorded; give each a "
                "smdebug.xgboost.Hook with a folder of its own"
            )
        return False
