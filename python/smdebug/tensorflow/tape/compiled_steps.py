"""Steps of loops inside a tf.function that XLA compiles.

Compiled code cannot call Python. It stores due tensors in variables, which are read after the
function has returned. Before the call, another variable is set to the kinds of tensors that are
due. Both happen where functions are called (function_calls.py). A call is one step. If the function
contains a loop, its last iteration is recorded.
"""

import threading
import weakref
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from smdebug.tensorflow.replicas import device_of
from smdebug.tensorflow.tape.function_calls import function_calls
from smdebug.tensorflow.tape.function_lifetime import keep_with_graph
from smdebug.tensorflow.tape.tape_steps import TapeSteps
from smdebug.tensorflow.tape.tape_tensors import KINDS, NUMBERS, StepTensors, TapeTensor, put_array


class CompiledSteps:
    """The compiled graphs of one hook."""

    def __init__(self, steps: TapeSteps) -> None:
        self._steps = steps
        self._references: list[weakref.ref[CompiledStep]] = []

    def new_step(self, replica: int | None = None) -> "CompiledStep":
        """Returns a step of the graph that is being built, which lives as long as the graph. Its
        tensors belong to `replica`, if there are several."""
        self.watch_calls()
        with self._steps.session.for_worker(replica):
            due = self._steps.unknown_due_kinds()
        step = CompiledStep(due, replica)
        keep_with_graph(step)
        self._references.append(weakref.ref(step))
        return step

    def watch_calls(self) -> None:
        """Follows the calls of functions from now on."""
        function_calls.add(self)

    def close(self) -> None:
        """Releases all graphs."""
        for step in self._live_steps():
            step.close()
        function_calls.remove(self)
        self._references = []

    def _live_steps(self):
        self._references = [each for each in self._references if each() is not None]
        return [step for step in (each() for each in self._references) if step is not None]

    # --- what function_calls reports ---

    def before_call(self) -> None:
        """Passes what is due to the compiled code."""
        steps = self._live_steps()
        if steps:
            self.after_call()  # the call that built the graph was not watched
            with self._steps.isolate_errors():
                for step in steps:
                    with self._steps.session.for_worker(step.replica):
                        step.set_due(self._steps.next_due_kinds())

    def after_call(self) -> None:
        """Records the tensors that the call has stored. Raises what the rules request."""
        for step in self.take():
            self._steps.judge(step.replica)

    def failed_call(self) -> BaseException | None:
        """Returns the exception of a rule that ended a call, or None."""
        return self._steps.take_ending()

    def take(self) -> Iterator["CompiledStep"]:
        """Records the tensors that compiled code has stored; yields after each saved step."""
        for step in self._live_steps():
            for turns_left in reversed(range(step.take_runs())):
                is_due = self._steps.begin(step.replica)
                if turns_left == 0:
                    with self._steps.isolate_errors():
                        step.note()
                if is_due and turns_left == 0:
                    with self._steps.isolate_errors(), self._steps.session.for_worker(step.replica):
                        step.put()
                    yield step


class CompiledStep:
    """The step of one graph. `due` has True for each of KINDS that the next call saves."""

    def __init__(self, due: list[bool], replica: int | None) -> None:
        self.replica = replica
        self.taken: StepTensors = StepTensors()
        self._is_due = due
        self._kept: dict[str, list[tuple[TapeTensor, list[Any]]]] = {kind: [] for kind in KINDS}
        self._seen_runs = 0
        self._device = None if replica is None else device_of(replica)
        self._due, self._runs = self._made_outside(
            lambda: (
                tf.Variable(due, trainable=False, name="smdebug_due"),
                tf.Variable(0, dtype=tf.int64, trainable=False, name="smdebug_runs"),
            )
        )
        self._runs.assign_add(1)

    def record(self, tensors: list[TapeTensor]) -> None:
        """Makes the compiled code store the due tensors of one call of `tape.gradient`."""
        for number, kind in enumerate(KINDS):
            kept = [each for each in tensors if each.kind == kind and self._can_be_kept(each)]
            if kept:
                self._keep(kind, self._due[number], kept)

    def held(self, gradients: Any) -> Any:
        """Returns `gradients`: the rules judge after the function has returned, when the update is
        made."""
        return gradients

    def close(self) -> None:
        """Makes the graph store nothing from now on, and releases the slots. The graph may still
        run, and needs its variables."""
        self.set_due([False] * len(KINDS))
        self._variables = [own for kept in self._kept.values() for _, own in kept]
        self._kept = {kind: [] for kind in KINDS}

    def set_due(self, due: list[bool]) -> None:
        """Passes to the compiled code which KINDS the next call saves."""
        if due != self._is_due:
            self._due.assign(due)
            self._is_due = due

    def take_runs(self) -> int:
        """Returns how often the graph has run since the last call of this."""
        runs = int(self._runs)
        new, self._seen_runs = runs - self._seen_runs, runs
        return new

    def note(self) -> None:
        """Notes the losses that the last call has stored."""
        if self._is_due[KINDS.index(NUMBERS)]:
            for each, variables in self._kept[NUMBERS]:
                each.note(variables[0].read_value())

    def put(self) -> None:
        """Saves the tensors that the last call has stored."""
        for number, kind in enumerate(KINDS):
            if not self._is_due[number]:
                continue
            for each, variables in self._kept[kind]:
                if each.slot.is_due():
                    put_array(each.slot, each.whole([variable.numpy() for variable in variables]))

    def _can_be_kept(self, each):
        is_known = all(spec.shape.is_fully_defined() for spec in each.specs())
        if not is_known:
            each.slot.skip("its shape changes from call to call, and XLA compiles the function")
        return is_known

    def _keep(self, kind, is_due, tensors):
        specs = [each.specs() for each in tensors]
        variables = self._made_outside(lambda: tf.nest.map_structure(_variable_for, specs))
        first = len(self._kept[kind])
        self._kept[kind] += zip(tensors, variables, strict=True)

        # TensorFlow may keep the branch, and all that it refers to.
        def keep():
            for each, own in self._kept[kind][first:]:
                for variable, part in zip(own, each.parts(), strict=True):
                    variable.assign(part)
            return tf.constant(True)

        tf.cond(is_due, keep, lambda: tf.constant(False))

    def _made_outside(self, make):
        """Returns the result of `make()`, which is called outside of the graph that is being built:
        the thread that builds it may make variables in its first call only, and they would belong
        to the function. They are placed on the replica's device, since compiled code reaches no
        other."""
        made = []

        def make_there():
            with tf.device(self._device):
                made.append(make())

        thread = threading.Thread(target=make_there)
        thread.start()
        thread.join()
        return made[0]


def _variable_for(spec):
    return tf.Variable(tf.zeros(spec.shape, spec.dtype), trainable=False, name="smdebug_kept")
