"""Watches a tf.GradientTape: the tape gets a class derived from its own, which reports when it is
entered and left, and which gradients it computed.

Only that tape changes. It is still an instance of its former class, and no name of TensorFlow is
replaced.
"""

import functools
import inspect
import sys
from typing import Any, Protocol

import tensorflow as tf

# AutoGraph would rewrite these methods if the loop is in a tf.function.
not_converted: Any = tf.autograph.experimental.do_not_convert


class TapeObserver(Protocol):
    """Receives the events of watched tapes."""

    def tape_entered(self, tape: Any) -> None:
        """Takes note that `tape` was entered."""

    def tape_left(self, tape: Any) -> None:
        """Takes note that `tape` is about to be left."""

    def gradients_taken(self, tape: Any, target: Any, sources: Any, gradients: Any) -> Any:
        """Takes the `gradients` of `tape.gradient(target, sources)`. Returns those for the
        script."""


def is_tape(thing: Any) -> bool:
    """Returns whether `thing` is a tf.GradientTape."""
    return isinstance(thing, tf.GradientTape)


def watch(tape: Any, observer: TapeObserver) -> None:
    """Reports what `tape` does to `observer` from now on. A second call does nothing."""
    if not hasattr(tape, "smdebug_observer"):
        tape.smdebug_observer = observer
        tape.smdebug_step = None
        tape.__class__ = _watched_class(type(tape))


def is_watched(tape: Any) -> bool:
    """Returns whether `watch` was called for `tape`."""
    return hasattr(tape, "smdebug_observer")


@functools.cache
def _watched_class(kind):
    signature = inspect.signature(kind.gradient)

    class WatchedTape(kind):
        @not_converted
        def __enter__(self):
            entered = super().__enter__()
            try:
                self.smdebug_observer.tape_entered(self)
            except BaseException:
                # The caller does not exit a tape whose entry failed: it would record forever and
                # break the gradients of later code.
                super().__exit__(*sys.exc_info())
                raise
            return entered

        @not_converted
        def __exit__(self, *exception):
            self.smdebug_observer.tape_left(self)
            return super().__exit__(*exception)

        @not_converted
        def gradient(self, *args, **kwargs):
            gradients = super().gradient(*args, **kwargs)
            given = signature.bind(self, *args, **kwargs).arguments
            return self.smdebug_observer.gradients_taken(
                self, given["target"], given["sources"], gradients
            )

        # These two call `gradient` for each row, in a loop inside a graph.

        @not_converted
        def jacobian(self, *args, **kwargs):
            return _unwatched(self, super().jacobian, args, kwargs)

        @not_converted
        def batch_jacobian(self, *args, **kwargs):
            return _unwatched(self, super().batch_jacobian, args, kwargs)

    WatchedTape.__name__ = kind.__name__
    WatchedTape.__qualname__ = kind.__qualname__
    WatchedTape.__module__ = kind.__module__
    return WatchedTape


def _unwatched(tape, compute, args, kwargs):
    step, tape.smdebug_step = tape.smdebug_step, None
    try:
        return compute(*args, **kwargs)
    finally:
        tape.smdebug_step = step
