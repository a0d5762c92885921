"""`TapeRecorder`: what a hook records of a loop of the user's own, around a tf.GradientTape.

A step begins when a watched tape is entered, and lasts until the next one does. What
`tape.gradient` was asked and gave is recorded there, before the optimizer acts. In eager code that
is done at once (here); inside a tf.function the graph does it (function_steps.py), or, where XLA
compiles it, what it leaves behind is read when it returns (compiled_steps.py).
"""

import contextlib
import re
import threading
import weakref

import numpy as np
import tensorflow as tf

from smdebug._core import ModeKeys
from smdebug.exceptions import SMDebugError, SMDebugTypeError
from smdebug.log import get_logger
from smdebug.tensorflow import names
from smdebug.tensorflow.optimizers import optimizer_variables as variables_of
from smdebug.tensorflow.private_names import is_compilation_known, is_compiled
from smdebug.tensorflow.replicas import ReplicaSessions, are_replicas_known, replica_here
from smdebug.tensorflow.tape import tapes
from smdebug.tensorflow.tape.compiled_steps import CompiledSteps
from smdebug.tensorflow.tape.function_steps import GraphStep, call_in_graph, is_symbolic
from smdebug.tensorflow.tape.tape_tensors import KINDS, TapeTensors, put_variable
from smdebug.tensorflow.tensorflow_hook import TensorFlowHook
from smdebug.tensorflow.variable_values import put_copies

logger = get_logger()


class TapeRecorder(TensorFlowHook):
    """A hook that also records loops with a tf.GradientTape.

        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = loss_of(labels, model(inputs, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)

    | tensor | name | collection |
    |---|---|---|
    | target i of `tape.gradient` | `loss`, `loss_1`, ... over the step | losses |
    | variable, before the update | `weights/<variable>` | biases if its pattern fits, or weights |
    | its gradient | `gradients/<variable without :0>Grad` | gradients |
    | variable of a wrapped optimizer | its own name | optimizer_variables |

    A step begins when a tape is entered that is not inside another watched one, so that tapes that
    are entered together share it. Its mode is TRAIN unless `set_mode` says something else. A
    gradient that is None is left out, tf.IndexedSlices are filled up with zeros to
    256 MiB at most, and of sources that are no variables nothing is recorded. Under a
    tf.distribute strategy the first replica is recorded; with `include_workers="all"`, under a
    MirroredStrategy, each replica, as a worker of its own.

    Inside a tf.function no function is traced again, and a tensor leaves the graph only in a step
    in which one of its kind is due. Where XLA compiles the function (`jit_compile=True`), a call of
    it is one step, which is recorded when it returns.
    """

    vetoes = ("raise", "stop")

    def __init__(self, *args, **kwargs):
        self._tapes = threading.local()
        self._native_optimizers = []
        self._graph_steps = weakref.WeakSet()  # None once the hook is closed
        self._begun_in_graph = False
        self._ending = None  # the exception that a graph is to end by
        super().__init__(*args, **kwargs)
        self._session = ReplicaSessions(self._session)
        self._tape_tensors = TapeTensors(self._session, self._is_bias)
        self._compiled_steps = CompiledSteps(self)
        if self._rules:
            self._compiled_steps.watch_calls()

    # --- what a script calls ---

    def wrap_tape(self, tape):
        """Records what `tape`, a tf.GradientTape that was not entered yet, is used for. Returns it.

        Raises SMDebugTypeError for anything else.
        """
        if not tapes.is_tape(tape):
            raise SMDebugTypeError(f"wrap_tape takes a tf.GradientTape, found {tape!r}")
        if self._session:
            tapes.watch(tape, self)
        return tape

    def wrap_optimizer(self, optimizer):
        """Records the variables of `optimizer`, a Keras optimizer, as they are after its update: in
        collection `optimizer_variables`, under their own names. Returns it, unchanged.

        Raises SMDebugTypeError for anything else.
        """
        if not callable(getattr(optimizer, "apply_gradients", None)) or not hasattr(
            optimizer, "variables"
        ):
            raise SMDebugTypeError(f"wrap_optimizer takes a Keras optimizer, found {optimizer!r}")
        if not any(optimizer is each for each in self._native_optimizers):
            self._native_optimizers.append(optimizer)
        return optimizer

    def record_tensor_value(self, tensor_name, tensor_value):
        """Records a value of the loop, such as a metric, in collection `metrics`, where the present
        step saves that. `save_tensor` saves at every step."""
        if not isinstance(tensor_name, str):
            raise SMDebugTypeError(f"a tensor's name must be text, found {tensor_name!r}")
        if is_symbolic(tensor_value):
            self._call_in_graph(
                type(self).record_tensor_value, tensor_value, lambda value: (tensor_name, value)
            )
        elif self.should_save_tensor_or_collection(tensor_name, "metrics"):
            self.save_tensor(tensor_name, tensor_value, "metrics")

    def save_tensor(self, tensor_name, tensor_value, collections_to_write="default"):
        if is_symbolic(tensor_value):
            self._call_in_graph(
                type(self).save_tensor,
                tensor_value,
                lambda value: (tensor_name, value, collections_to_write),
            )
            return
        self._own_step()
        arguments = (tensor_name, tensor_value, collections_to_write)
        self._save_for(self._replica_here(), TensorFlowHook.save_tensor, *arguments)

    save_tensor.__doc__ = TensorFlowHook.save_tensor.__doc__

    def save_scalar(self, name, value, sm_metric=False, timestamp=None):
        if is_symbolic(value):
            self._call_in_graph(
                type(self).save_scalar, value, lambda number: (name, number, sm_metric, timestamp)
            )
            return
        self._own_step()
        arguments = (name, value, sm_metric, timestamp)
        self._save_for(self._replica_here(), TensorFlowHook.save_scalar, *arguments)

    save_scalar.__doc__ = TensorFlowHook.save_scalar.__doc__

    # --- replicas ---

    @property
    def are_replicas_apart(self):
        """Whether each replica of a strategy is a worker of its own."""
        return self._session.are_apart

    def follow_strategy(self, strategy):
        """Before a step under `strategy`, None for none: its replicas are workers from then on,
        where all workers are asked for."""
        if self.include_workers == "all" and are_replicas_known(strategy):
            self._session.spread_over(strategy, self._make_replica_session)

    def speaking_for(self, replica):
        """A context in which this thread's steps and tensors are those of one replica; None: of
        all."""
        return self._session.only(replica)

    def _say_not_recorded(self, strategy):
        if self.include_workers == "all" and not are_replicas_known(strategy):
            kind = type(strategy).__name__
            self._say_once(
                f"the first replica of {kind} alone is recorded: all are under a MirroredStrategy",
                kind,
            )

    def _replica_here(self):
        """That which this thread runs or traces; None where there are no several."""
        return replica_here() if self._session else None

    def _save_for(self, replica, save, *arguments):
        """Calls `save`, a function of this class, for one replica, if that is recorded, or, where
        that is None, for all."""
        if replica is None:
            save(self, *arguments)
        elif self._session.records(replica):
            with self.speaking_for(replica):
                save(self, *arguments)

    def _call_in_graph(self, save, value, arguments_of):
        """Calls `save` whenever the graph of a tensor runs, for the replica that is traced now."""
        replica = self._replica_here()
        call_in_graph(self._save_for, value, lambda found: (replica, save, *arguments_of(found)))

    def _make_replica_session(self):
        session = self._make_session()
        session.set_config(self._core_configuration())
        if self._rules:
            self._rules.join_worker(session)
        return session

    # --- what a watched tape tells ---

    def tape_entered(self, tape):
        """Begins a step, unless another tape has."""
        open_tapes = self._open_tapes()
        outer = open_tapes[-1]() if open_tapes else None
        tape.smdebug_step = outer.smdebug_step if outer is not None else self._new_step()
        open_tapes.append(weakref.ref(tape))

    def tape_left(self, tape):
        self._tapes.open = [each for each in self._open_tapes() if each() not in (tape, None)]

    def gradients_taken(self, tape, target, sources, gradients):
        """Records what `tape.gradient(target, sources)` gave; returns it."""
        step = tape.smdebug_step
        if step is None or self._failure:
            return gradients
        with self.tape_unharmed():
            step.record(self._tape_tensors.sorted_out(step, target, sources, gradients))
        is_held = self._rules or self._native_optimizers
        return step.held(gradients) if is_held else gradients

    def _open_tapes(self):
        """Those that this thread has entered and not left. One that was never left does not
        outlive its owner here."""
        if not hasattr(self._tapes, "open"):
            self._tapes.open = []
        self._tapes.open = [each for each in self._tapes.open if each() is not None]
        return self._tapes.open

    def _new_step(self):
        if self._failure or self._session is None or self._has_own_steps():
            return None
        replica = replica_here()
        if replica is not None:
            strategy = tf.distribute.get_strategy()
            self.follow_strategy(strategy)
            if not self._session.records(replica):
                self._say_not_recorded(strategy)
                return None
        if tf.executing_eagerly():
            return EagerStep(self, self.begin_native_step(replica), replica)
        if not tf.inside_function() or not is_compilation_known() or self._graph_steps is None:
            return None
        self.check_configuration()
        self.graph_made(tf.compat.v1.get_default_graph())
        if is_compiled():
            return self._compiled_steps.new_step(replica)
        step = GraphStep(self, replica)
        self._graph_steps.add(step)
        return step

    def _has_own_steps(self):
        """Whether steps are counted by something else just now, such as the callbacks of fit."""
        return False

    # --- steps ---

    def begin_native_step(self, replica=None):
        """Begins the step of a loop of the user's own, of one replica or of all; returns whether
        anything is due in it."""
        if self._failure:
            return False
        try:
            with self.speaking_for(replica):
                self._put_optimizers()
                mode = ModeKeys.TRAIN if self.mode is ModeKeys.GLOBAL else self.mode
                self._session.set_mode(mode)
                is_due = self._begin_step()
            if is_due:
                self._write_graph(mode)
            return is_due
        except SMDebugError:  # the configuration makes no sense
            raise
        except Exception as error:
            self._latch("at the beginning of a step", error)
            return False

    def begin_in_graph(self, replica=None):
        """Begins a step from inside a graph; returns which KINDS are due in it, bool (3,)."""
        try:
            is_due = self.begin_native_step(replica)
            self._begun_in_graph = True
            with self.speaking_for(replica):
                return np.array([is_due and self.is_kind_due(kind) for kind in KINDS])
        except Exception as error:
            self._latch("at the beginning of a step", error)
            return np.zeros(len(KINDS), bool)

    def check_configuration(self):
        """Raises the user's mistakes while a function is traced: a graph that runs cannot."""
        if not self._has_begun:
            self._hand_over_configuration()

    def is_kind_due(self, kind):
        return self._tape_tensors.is_due(kind)

    def is_kind_coming(self, kind):
        """Whether the next step will save any tensor of that kind."""
        return self.is_next_due() and self._tape_tensors.can_match(kind)

    def is_next_due(self):
        """Whether anything will be due in the next step."""
        if self._failure:
            return False
        if self._has_begun:
            with contextlib.suppress(SMDebugError):  # the beginning of the step tells it
                self._take_up_edits()
        return self._session.is_next_due()

    def tape_unharmed(self):
        """A context in which our own mistakes stay our own."""
        return self._unharmed("in a step of a tf.GradientTape")

    def optimizer_variables(self):
        """The variables that wrapped optimizers have by now."""
        return [each for optimizer in self._native_optimizers for each in variables_of(optimizer)]

    # --- rules ---

    @property
    def has_rules(self):
        return bool(self._rules)

    def end_if_asked(self, replica=None):
        """Has the rules judge the step so far, of one replica or of all, and raises what one asks
        for: what `on_fire` says, or what it raises where it is a function."""
        if not self._rules:
            return
        with self.tape_unharmed(), self.speaking_for(replica):
            self._session.before_update()
        self._rules.apply()

    def end_graph_if_asked(self, replica=None):
        """The same from inside a graph, which turns every exception into one of its own: what is
        to be raised is kept for the caller of the function."""
        try:
            self.end_if_asked(replica)
        except BaseException as error:
            self._ending = error
            raise RuntimeError(f"smdebug ends the training: {error!r}") from error

    def take_ending(self):
        """The exception that a graph was ended by, once; None where there is none."""
        ending, self._ending = self._ending, None
        return ending

    def _own_step(self):
        """A graph begins a step on a thread of its own; it is this one's once it has returned."""
        is_main = threading.current_thread() is threading.main_thread()
        if self._begun_in_graph and is_main and self._session:
            self._session.bind_to_current_thread()

    def _is_bias(self, name):
        return any(re.search(each, name) for each in self.get_collection("biases").include_regex)

    def _put_optimizers(self):
        """The state of optimizers, at the end of the step that they acted in."""
        if not self._native_optimizers or not self._session.is_capturing():
            return
        if self._has_own_steps():
            return
        for variable in self.optimizer_variables():
            site = self._session.tensor(names.variable_name(variable), ["optimizer_variables"])
            if self.are_replicas_apart:
                put_copies(self._session, site, variable)
            else:
                put_variable(site, variable)

    # --- the end ---

    def _detach(self):
        self._end_native_steps()
        self._compiled_steps.close()
        for step in self._graph_steps or ():
            step.close()
        self._graph_steps = None
        super()._detach()

    def _end_native_steps(self):
        """What the last step has left to read."""
        if self._session:
            with self.tape_unharmed():
                list(self._compiled_steps.take())
                self._put_optimizers()


class EagerStep:
    """A step of eager code: what is due is read at once."""

    def __init__(self, recorder, is_due, replica=None):
        self._recorder = recorder
        self._is_due = is_due
        self._replica = replica
        self.losses = 0

    def record(self, tensors):
        if self._is_due:
            with self._recorder.speaking_for(self._replica):
                for each in tensors:
                    each.put()

    def held(self, gradients):
        if self._is_due:
            self._recorder.end_if_asked(self._replica)
        return gradients
