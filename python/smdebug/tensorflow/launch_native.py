"""Records loops and sessions of a script that does not know of smdebug: the part of `smdebug run`
for TensorFlow that is not about Keras.

`tf.GradientTape.__enter__` and, for graphs of TensorFlow 1, the constructors of monitored sessions,
`Session.run` and two methods of optimizers are replaced; each calls what it replaced. Nothing is
made before one of them is used. Tapes that Keras enters itself are left to its own launch.
"""

import functools
import inspect
import sys

import tensorflow as tf

from smdebug._core import ModeKeys
from smdebug.autostart import complain
from smdebug.tensorflow.session.hook import SessionHook
from smdebug.tensorflow.session.optimizers import SessionOptimizers
from smdebug.tensorflow.tape import tapes

tf1 = tf.compat.v1
_KERAS = ("keras.", "tf_keras.", "tensorflow.python.keras.")


def watch_native_loops(make_hook, tape_hook):
    """Has tapes and sessions recorded from now on.

    `make_hook` makes a hook of the class that it is given, as SMDEBUG_RUN says. `tape_hook` returns
    the TapeRecorder of this process, and makes it at its first call.
    """
    _watch_tapes(_once_failed_never(tape_hook))
    _watch_sessions(_LaunchedSessions(make_hook))


class LaunchedSessionHook(SessionHook):
    """A hook for a script that does not say its mode: a run is training where it computes an
    update."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.is_in_run = False

    def before_run(self, run_context):
        self.is_in_run = True
        with self._unharmed("before a session's run"):
            is_training = self.computes_update(run_context.session.graph, run_context.original_args)
            self.set_mode(ModeKeys.TRAIN if is_training else ModeKeys.EVAL)
        return super().before_run(run_context)

    def after_run(self, run_context, run_values):
        self.is_in_run = False
        super().after_run(run_context, run_values)


class _LaunchedSessions:
    """The sessions of the process and their hook, which the first of them makes."""

    def __init__(self, make_hook):
        self._make_hook = _once_failed_never(lambda: make_hook(LaunchedSessionHook))
        self.optimizers = SessionOptimizers()
        self._hook = None

    def hook(self):
        """The hook, or None where it cannot be made."""
        if self._hook is None:
            self._hook = self._make_hook()
            if self._hook is not None:
                self._hook.use_optimizers(self.optimizers)
        return self._hook

    def run(self, original, session, fetches, feed_dict, *rest):
        """A run of a session without hooks. It is a step where it computes an update."""
        hook = self._hook
        is_inside = hook is not None and hook.is_in_run
        if is_inside or not self._is_training(session, fetches, feed_dict):
            return original(session, fetches, feed_dict, *rest)
        hook = self.hook()
        if hook is None:
            return original(session, fetches, feed_dict, *rest)
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
    original = tf.GradientTape.__enter__

    @functools.wraps(original)
    @tapes.not_converted
    def enter(tape):
        if hasattr(tape, "smdebug_recorder") or _is_called_by_keras():
            return original(tape)
        recorder = tape_hook()
        if recorder is None:
            return original(tape)
        recorder.wrap_tape(tape)
        return type(tape).__enter__(tape)

    tf.GradientTape.__enter__ = enter


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


def _once_failed_never(make):
    """`make`, which says once that it cannot, and then gives None."""
    has_failed = []

    def made():
        if has_failed:
            return None
        try:
            return make()
        except Exception as error:
            has_failed.append(True)
            complain(repr(error))
            return None

    return made
