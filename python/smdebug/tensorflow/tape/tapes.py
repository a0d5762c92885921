"""Watching a tf.GradientTape: the tape gets a class of its own, derived from the one it has, which
tells a recorder when it is entered and left, and what gradients it gave.

Only that tape changes. It still is an instance of its former class, and no name of TensorFlow's is
replaced.
"""

import functools
import inspect

import tensorflow as tf

# AutoGraph would rewrite these methods where the loop is in a tf.function.
not_converted = tf.autograph.experimental.do_not_convert


def is_tape(thing):
    return isinstance(thing, tf.GradientTape)


def watch(tape, recorder):
    """Has `recorder` told of `tape`, from now on. A second call does nothing."""
    if not hasattr(tape, "smdebug_recorder"):
        tape.smdebug_recorder = recorder
        tape.smdebug_step = None
        tape.__class__ = _watched_class(type(tape))


@functools.cache
def _watched_class(kind):
    signature = inspect.signature(kind.gradient)

    class WatchedTape(kind):
        @not_converted
        def __enter__(self):
            entered = super().__enter__()
            self.smdebug_recorder.tape_entered(self)
            return entered

        @not_converted
        def __exit__(self, *exception):
            self.smdebug_recorder.tape_left(self)
            return super().__exit__(*exception)

        @not_converted
        def gradient(self, *args, **kwargs):
            gradients = super().gradient(*args, **kwargs)
            given = signature.bind(self, *args, **kwargs).arguments
            return self.smdebug_recorder.gradients_taken(
                self, given["target"], given["sources"], gradients
            )

        # These take gradients of rows by `gradient`, in a loop of their own.

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
