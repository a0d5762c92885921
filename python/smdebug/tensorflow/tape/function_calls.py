"""Reports the calls of a tf.function that come from outside of any other tf.function.

While there are watchers, the method `__call__` of TensorFlow's class of functions is replaced.
"""

import functools
import threading
from typing import Any, Protocol

import tensorflow as tf

from smdebug.tensorflow.private_names import function_class


class CallWatcher(Protocol):
    """Receives the events of FunctionCalls."""

    def before_call(self) -> None:
        """Prepares for the call of a function."""

    def after_call(self) -> None:
        """Takes the results of the call. May raise an exception to end the training."""

    def failed_call(self) -> BaseException | None:
        """Returns the exception of smdebug that made the call fail, or None."""


class FunctionCalls:
    """The watchers of this process."""

    def __init__(self) -> None:
        self._watchers: list[CallWatcher] = []
        self._original: Any = None
        self._state = threading.local()

    def add(self, watcher: CallWatcher) -> None:
        """Reports calls to `watcher` from now on. A second call does nothing."""
        if watcher not in self._watchers:
            self._watchers.append(watcher)
        if self._original is None:
            self._install()

    def remove(self, watcher: CallWatcher) -> None:
        """Stops reporting to `watcher`. The last one restores TensorFlow's own method."""
        if watcher in self._watchers:
            self._watchers.remove(watcher)
        if not self._watchers and self._original is not None:
            kind = function_class()
            if getattr(kind.__call__, "is_smdebugs", False):
                kind.__call__ = self._original
                self._original = None

    def _install(self):
        kind = function_class()
        original = self._original = kind.__call__

        @functools.wraps(original)
        def call(function, *args, **kwargs):
            if getattr(self._state, "is_inside", False) or not tf.executing_eagerly():
                return original(function, *args, **kwargs)
            return self._call(original, function, args, kwargs)

        call.is_smdebugs = True
        kind.__call__ = call

    def _call(self, original, function, args, kwargs):
        self._state.is_inside = True
        try:
            for watcher in self._watchers:
                watcher.before_call()
            result = self._run(original, function, args, kwargs)
            for watcher in self._watchers:
                watcher.after_call()
            return result
        finally:
            self._state.is_inside = False

    def _run(self, original, function, args, kwargs):
        try:
            return original(function, *args, **kwargs)
        except tf.errors.OpError as error:
            for watcher in self._watchers:
                ending = watcher.failed_call()
                if ending is not None:
                    raise ending from error
            raise


function_calls: FunctionCalls = FunctionCalls()
