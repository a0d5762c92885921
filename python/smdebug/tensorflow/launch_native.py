"""Records loops and sessions of an unmodified script: the part of `smdebug run` for TensorFlow
without Keras.

`__enter__` and `__exit__` of tf.GradientTape and, for graphs of TensorFlow 1, the constructors of
monitored sessions, `Session.run` and two methods of optimizers are replaced; each replacement calls
the original. Nothing is created before one of them is used. Tapes that Keras itself enters are
recorded by launch.py.
"""

import functools
import inspect
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from smdebug._core import ModeKeys
from smdebug.error_isolation import CallsUntilError
from smdebug.tensorflow.session.hook import SessionHook
from smdebug.tensorflow.session.optimizers import SessionOptimizers
from smdebug.tensorflow.tape import tapes
from smdebug_ng.autostart import complain

tf1: Any = tf.compat.v1
_KERAS = ("keras.", "tf_keras.", "tensorflow.python.keras.")
_NO_SCRIPT = ("tensorflow.", "smdebug.")


def watch_native_loops(make_hook: Callable[[type], Any], tape_hook: Callable[[], Any]) -> None:
    """Records tapes and sessions from now on.

    `make_hook(hook_class)` creates a hook with the settings of SMDEBUG_RUN. `tape_hook()` returns
    the hook of this process that records tapes, and creates it in its first call.
    """
    attempt = CallsUntilError(complain)
    _watch_tapes(lambda: attempt(tape_hook))
    _watch_sessions(_LaunchedSessions(make_hook))


class LaunchedSessionHook(SessionHook):
    """A hook for a script that does not set a mode: a run that computes an update is training."""

    is_in_run: bool = False

    def use_optimizers(self, optimizers: SessionOptimizers) -> None:
        """Takes losses, gradients and updates from `optimizers`."""
        self._adapter.optimizers = optimizers

    def computes_update(self, graph: Any, arguments: Any) -> bool:
        """Returns whether an optimizer acts in a run with these `arguments`, a SessionRunArgs."""
        return self._adapter.computes_update(graph, arguments)

    def before_run(self, run_context: Any) -> Any:
        """Sets the mode of the run and begins its step: see SessionHook."""
        self.is_in_run = True
        with self._sink.isolate_errors("before a session's run"):
            is_training = self.computes_update(run_context.session.graph, run_context.original_args)
            self.set_mode(ModeKeys.TRAIN if is_training else ModeKeys.EVAL)
        return super().before_run(run_context)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Saves the results of the run: see SessionHook."""
        self.is_in_run = False
        super().after_run(run_context, run_values)


class _LaunchedSessions:
    """The sessions of the process and their hook, which the first of them creates."""

    def __init__(self, make_hook):
        self._make_hook = make_hook
        self._attempt = CallsUntilError(complain)
        self.optimizers = SessionOptimizers()
        self._hook = None

    def hook(self):
        """Returns the hook; None if it cannot be created."""
        if self._hook is None:
            self._hook = self._attempt(lambda: self._make_hook(LaunchedSessionHook))
            if self._hook is not None:
                self._hook.use_optimizers(self.optimizers)
        return self._hook

    def run(self, original, session, fetches, feed_dict, *rest):
        """Runs a session without hooks. The run is a step if it computes an update."""
        is_inside = self._hook is not None and self._hook.is_in_run
        if is_inside or not self._is_training(session, fetches, feed_dict):
            return original(session, fetches, feed_dict, *rest)
        hook = self._hook
        arguments = tf1.train.SessionRunArgs(fetches, feed_dict)
        context = tf1.train.SessionRunContext(arguments, session)
        try:
            asked = hook.before_run(context)
            wanted = asked.fetches if asked else []
            result, results = original(session, (fetches, wanted), feed_dict, *rest)
            values = tf1.train.SessionRunValues(results, options=None, run_metadata=None)
            hook.after_run(context, values)
            return result
        finally:
            hook.is_in_run = False

    def _is_training(self, session, fetches, feed_dict):
        if not self.optimizers.updates(session.graph):
            return False
        arguments = tf1.train.SessionRunArgs(fetches, feed_dict)
        hook = self.hook()
        return hook is not None and hook.computes_update(session.graph, arguments)


def _watch_tapes(tape_hook):
    original, leave = tf.GradientTape.__enter__, tf.GradientTape.__exit__
    ended = _EndedTapes()

    @functools.wraps(original)
    @tapes.not_converted
    def enter(tape):
        if tapes.is_watched(tape) or _is_called_by_keras():
            return original(tape)
        hook = tape_hook()
        if hook is None:
            return original(tape)
        hook.wrap_tape(tape)
        ended.begin(tape)
        return type(tape).__enter__(tape)

    # A with statement looks this method up before `enter` gives the tape another class.
    @functools.wraps(leave)
    @tapes.not_converted
    def exit_(tape, *exception):
        if tapes.is_watched(tape):
            ended.add(tape)
        return leave(tape, *exception)

    tf.GradientTape.__enter__ = enter
    tf.GradientTape.__exit__ = exit_


class _EndedTapes(threading.local):
    """The tapes that a thread has left in eager code. While they live, they share their step with
    the next ones, such as those of the two models of a GAN, until one is entered at a place in the
    script where one of them was."""

    def __init__(self):
        self._tapes = []  # (weak reference to a tape, its place)
        self._places = weakref.WeakKeyDictionary()  # of tapes

    def begin(self, tape):
        """Call before a watched tape is entered."""
        if not tf.executing_eagerly():
            return
        self._places[tape] = place = _place_in_script()
        if any(each == place for _, each in self._tapes):
            for reference, _ in self._tapes:
                ended = reference()
                if ended is not None:
                    ended.smdebug_observer.tape_left(ended)
            self._tapes = []

    def add(self, tape):
        """Call when a watched tape is left."""
        place = self._places.pop(tape, None)
        if place is not None:
            self._tapes = [each for each in self._tapes if each[0]() is not None]
            self._tapes.append((weakref.ref(tape), place))


def _place_in_script():
    frame = sys._getframe(2)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(_NO_SCRIPT):
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


def _is_called_by_keras():
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(_KERAS):
            return True
        frame = frame.f_back
    return False


def _watch_sessions(sessions):
    for kind in (tf1.train.MonitoredSession, tf1.train.SingularMonitoredSession):
        _add_hook(kind, sessions)
    _note_updates(sessions.optimizers)
    base = tf1.Session.__mro__[1]
    run = base.run

    @functools.wraps(run)
    def watched(session, fetches, feed_dict=None, options=None, run_metadata=None):
        return sessions.run(run, session, fetches, feed_dict, options, run_metadata)

    base.run = watched


def _add_hook(kind, sessions):
    original = kind.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def init(session, *args, **kwargs):
        given = signature.bind(session, *args, **kwargs).arguments
        hooks = list(given.get("hooks") or [])
        ours = None if any(isinstance(each, SessionHook) for each in hooks) else sessions.hook()
        if ours is not None:
            given["hooks"] = [*hooks, ours]
        original(**given)

    kind.__init__ = init


def _note_updates(optimizers):
    kind = tf1.train.Optimizer
    apply_gradients, compute_gradients = kind.apply_gradients, kind.compute_gradients

    @functools.wraps(apply_gradients)
    def watched_apply(optimizer, grads_and_vars, *args, **kwargs):
        grads_and_vars = list(grads_and_vars)
        update = apply_gradients(optimizer, grads_and_vars, *args, **kwargs)
        optimizers.note(optimizer, grads_and_vars, update)
        return update

    @functools.wraps(compute_gradients)
    def watched_compute(optimizer, loss, *args, **kwargs):
        optimizers.note_loss(loss)
        return compute_gradients(optimizer, loss, *args, **kwargs)

    kind.apply_gradients, kind.compute_gradients = watched_apply, watched_compute
