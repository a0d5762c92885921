"""Steps of loops inside a tf.function that XLA compiles.

Compiled code calls nobody. It leaves what is due in variables, which are read when the function has
returned; what is due is said to it, in another variable, before it is called. Both happen where
functions are called (function_calls.py). A call is one step, also of a function that holds a loop:
then the last turn is recorded.
"""

import threading
import weakref

import tensorflow as tf

from smdebug.tensorflow.replicas import device_of
from smdebug.tensorflow.tape.function_calls import function_calls
from smdebug.tensorflow.tape.function_lifetime import keep_with_graph
from smdebug.tensorflow.tape.tape_tensors import KINDS, put_array


class CompiledSteps:
    """The compiled graphs of one recorder."""

    def __init__(self, recorder):
        self._recorder = recorder
        self._references = []

    def new_step(self, replica=None):
        """A step of the graph that is being made, which it lives as long as. What it records is
        that of `replica`, where there are several."""
        self.watch_calls()
        with self._recorder.speaking_for(replica):
            due = [self._recorder.is_next_due()] * len(KINDS)
        step = CompiledStep(due, replica)
        keep_with_graph(step)
        self._references.append(weakref.ref(step))
        return step

    def watch_calls(self):
        """Has this told of calls of functions."""
        function_calls.add(self)

    def close(self):
        for step in self._steps():
            step.close()
        function_calls.remove(self)
        self._references = []

    def _steps(self):
        self._references = [each for each in self._references if each() is not None]
        return [step for step in (each() for each in self._references) if step is not None]

    # --- what function_calls tells ---

    def before_call(self):
        steps = self._steps()
        if steps:
            self.after_call()  # what the call left that made the graph: nobody was told of it
            with self._recorder.tape_unharmed():
                for step in steps:
                    with self._recorder.speaking_for(step.replica):
                        step.say_due([self._recorder.is_kind_coming(kind) for kind in KINDS])

    def after_call(self):
        for step in self.take():
            self._recorder.end_if_asked(step.replica)

    def failed_call(self):
        """The exception of ours that ended a call, or None."""
        return self._recorder.take_ending()

    def take(self):
        """Records what compiled code has left; yields after each step that is saved."""
        for step in self._steps():
            for turns_left in reversed(range(step.take_runs())):
                is_due = self._recorder.begin_native_step(step.replica)
                if is_due and turns_left == 0:
                    speaking = self._recorder.speaking_for(step.replica)
                    with self._recorder.tape_unharmed(), speaking:
                        step.put()
                    yield step


class CompiledStep:
    """The step of one graph."""

    def __init__(self, due, replica):
        self.replica = replica
        self.losses = 0
        self._said_due = due
        self._kept = {kind: [] for kind in KINDS}  # (tensor of a tape, its variables)
        self._seen_runs = 0
        self._device = None if replica is None else device_of(replica)
        self._due, self._runs = self._made_outside(
            lambda: (
                tf.Variable(due, trainable=False, name="smdebug_due"),
                tf.Variable(0, dtype=tf.int64, trainable=False, name="smdebug_runs"),
            )
        )
        self._runs.assign_add(1)

    def record(self, tensors):
        for number, kind in enumerate(KINDS):
            kept = [each for each in tensors if each.kind == kind and self._can_be_kept(each)]
            if kept:
                self._keep(kind, self._due[number], kept)

    def held(self, gradients):
        """The rules judge when the function has returned, and its update is made."""
        return gradients

    def close(self):
        """Has the graph keep nothing any more, and lets go of the places in the run. The graph may
        go on, and needs its variables."""
        self.say_due([False] * len(KINDS))
        self._variables = [own for kept in self._kept.values() for _, own in kept]
        self._kept = {kind: [] for kind in KINDS}

    def say_due(self, due):
        if due != self._said_due:
            self._due.assign(due)
            self._said_due = due

    def take_runs(self):
        """How often the graph has run since the last call."""
        runs = int(self._runs)
        new, self._seen_runs = runs - self._seen_runs, runs
        return new

    def put(self):
        for number, kind in enumerate(KINDS):
            if not self._said_due[number]:
                continue
            for each, variables in self._kept[kind]:
                if each.site.is_due():
                    put_array(each.site, each.whole([variable.numpy() for variable in variables]))

    def _can_be_kept(self, each):
        is_known = all(spec.shape.is_fully_defined() for spec in each.specs())
        if not is_known:
            each.site.skip("its shape changes from call to call, and XLA compiles the function")
        return is_known

    def _keep(self, kind, is_due, tensors):
        specs = [each.specs() for each in tensors]
        variables = self._made_outside(lambda: tf.nest.map_structure(_room_for, specs))
        first = len(self._kept[kind])
        self._kept[kind] += zip(tensors, variables, strict=True)

        # TensorFlow may keep the branch, and what it refers to.
        def keep():
            for each, own in self._kept[kind][first:]:
                for variable, part in zip(own, each.parts(), strict=True):
                    variable.assign(part)
            return tf.constant(True)

        tf.cond(is_due, keep, lambda: tf.constant(False))

    def _made_outside(self, make):
        """What `make` makes, outside of the graph that is being made: the thread that makes the
        graph may make variables in its first call only, and they would be the function's. It lies
        on the replica's device: compiled code reaches no other."""
        made = []

        def make_there():
            with tf.device(self._device):
                made.append(make())

        thread = threading.Thread(target=make_there)
        thread.start()
        thread.join()
        return made[0]


def _room_for(spec):
    return tf.Variable(tf.zeros(spec.shape, spec.dtype), trainable=False, name="smdebug_kept")
