"""Who is told when a tf.function is called from outside of any other.

While somebody is, the method `__call__` of TensorFlow's class of functions is replaced; it comes
back when nobody is any more.
"""

import functools
import threading

import tensorflow as tf

from smdebug.tensorflow.private_names import function_class


class FunctionCalls:
    """Told are objects with `before_call()`, `after_call()`, which may raise what the training is
    to end by, and `failed_call()`, which returns the exception that a failed call ended by, or
    None where that was not ours."""

    def __init__(self):
        self._told = []
        self._original = None
        self._state = threading.local()

    def add(self, watcher):
        if watcher not in self._told:
            self._told.append(watcher)
        if self._original is None:
            self._install()

    def remove(self, watcher):
        if watcher in self._told:
            self._told.remove(watcher)
        if not self._told and self._original is not None:
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
            for watcher in self._told:
                watcher.before_call()
            result = self._run(original, function, args, kwargs)
            for watcher in self._told:
                watcher.after_call()
            return result
        finally:
            self._state.is_inside = False

    def _run(self, original, function, args, kwargs):
        try:
            return original(function, *args, **kwargs)
        except tf.errors.OpError as error:
            for watcher in self._told:
                ending = watcher.failed_call()
                if ending is not None:
                    raise ending from error
            raise


function_calls = FunctionCalls()
