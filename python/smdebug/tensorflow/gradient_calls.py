"""Reports the losses whose gradients Keras or a `train_step` of the script takes while a step is
traced.

Keras makes its tapes itself, so `GradientTape.gradient` is replaced for as long as a trace runs.
The replacement calls the original and adds nothing to the graph.
"""

import functools
import threading
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from smdebug.tensorflow.tape.tapes import not_converted


class _Taker(threading.local):
    """The function that takes the losses of a thread: a strategy traces each replica in its own."""

    take: Callable[[Any], None] | None = None


_taker = _Taker()
_lock = threading.Lock()
_users = 0
_original: Any = None


class GradientCalls:
    """A context in which `take(loss)` is called for the target of each gradient. It must not
    raise."""

    def __init__(self, take: Callable[[Any], None]) -> None:
        self._take = take

    def __enter__(self) -> None:
        global _users
        with _lock:
            if _users == 0:
                _replace()
            _users += 1
        self._outer, _taker.take = _taker.take, self._take

    def __exit__(self, *exception: object) -> None:
        global _users
        _taker.take = self._outer
        with _lock:
            _users -= 1
            if _users == 0:
                tf.GradientTape.gradient = _original


def _replace():
    global _original
    original = _original = tf.GradientTape.gradient

    @functools.wraps(original)
    @not_converted
    def gradient(tape, target, *arguments, **keywords):
        take = _taker.take
        if take is not None:
            take(target)
        return original(tape, target, *arguments, **keywords)

    tf.GradientTape.gradient = gradient
