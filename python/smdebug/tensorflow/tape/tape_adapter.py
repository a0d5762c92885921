"""`TapeAdapter`: records loops of a script with a tf.GradientTape.

A step begins when a watched tape is entered, and lasts until the next step begins. The arguments
and the result of `tape.gradient` are recorded when it is called, before the optimizer acts.
"""

import threading
import weakref
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from smdebug.array_values import NotTaken
from smdebug.exceptions import SMDebugTypeError
from smdebug.hook_arguments import name_hint, shown
from smdebug.tensorflow.capture_sink import CaptureContext
from smdebug.tensorflow.keras.facts import KerasFacts
from smdebug.tensorflow.private_names import is_compilation_known, is_compiled
from smdebug.tensorflow.replicas import are_replicas_known, current_replica, replica_copies
from smdebug.tensorflow.tape import tapes
from smdebug.tensorflow.tape.compiled_steps import CompiledStep, CompiledSteps
from smdebug.tensorflow.tape.function_lifetime import weakly
from smdebug.tensorflow.tape.function_steps import FunctionStep, call_in_graph
from smdebug.tensorflow.tape.loss_series import LossSeries
from smdebug.tensorflow.tape.tape_facts import TapeFacts
from smdebug.tensorflow.tape.tape_steps import EagerStep, TapeSteps
from smdebug.tensorflow.user_values import is_reachable, is_symbolic, user_value

TapeStep = EagerStep | FunctionStep | CompiledStep


class TapeAdapter:
    """Records loops with a tf.GradientTape for a hook.

    | tensor | name | collection |
    |---|---|---|
    | target i of `tape.gradient` | `loss`, `loss_1`, ... over the step | losses |
    | variable, before the update | `weights/<variable>` | biases if its pattern fits, or weights |
    | its gradient | `gradients/<variable without :0>Grad` | gradients |
    | variable of a wrapped optimizer | its own name | optimizer_variables |

    Tapes that are entered inside another watched tape share its step. The mode is TRAIN unless
    `set_mode` says otherwise. Gradients that are None and sources that are not variables are
    omitted; tf.IndexedSlices become dense tensors of up to 256 MiB.

    Inside a tf.function nothing is traced again, and a tensor leaves the graph only in a step that
    saves one of its kind. A call of a function that XLA compiles is one step, which is recorded
    when the function returns.

    `is_counted_elsewhere()` returns whether Keras counts the steps at present, as in `fit`.
    """

    def __init__(self, context: CaptureContext, is_counted_elsewhere: Callable[[], bool]) -> None:
        self.has_wrapped: bool = False  # a tape
        self.has_begun: bool = False  # a step
        self.has_gradients: bool = False  # of a wrapped tape, in any step
        self._sink, self._plan, self._session = context
        self._is_counted_elsewhere = is_counted_elsewhere
        self._tapes = threading.local()
        self._steps = TapeSteps(context, is_counted_elsewhere)
        self._facts: TapeFacts | None = None
        self._compiled_steps = CompiledSteps(self._steps)
        self._function_steps: weakref.WeakSet[FunctionStep] | None = weakref.WeakSet()
        if self._plan.has_rules:
            self._compiled_steps.watch_calls()

    def detach(self) -> None:
        """Saves the rest of the last step, and releases every graph."""
        with self._steps.isolate_errors():
            list(self._compiled_steps.take())
            self._steps.put_optimizers()
        self._steps.end_losses()
        self._compiled_steps.close()
        for step in self._function_steps or ():
            step.close()
        self._function_steps = None

    def note_losses(self, series: LossSeries) -> None:
        """Notes the losses of every step in `series`."""
        self._steps.note_losses(series)

    def report_facts(self, facts: KerasFacts) -> None:
        """Reports by `facts` what losses and variables the loops have."""
        self._facts = TapeFacts(facts)
        self._steps.report_facts(self._facts)

    # --- calls of a script ---

    def watch_tape(self, tape: Any) -> None:
        """Records the use of `tape`, a tf.GradientTape that was not entered yet. Raises
        SMDebugTypeError for anything else."""
        if not tapes.is_tape(tape):
            raise SMDebugTypeError(
                f"wrap_tape takes a tf.GradientTape, found {shown(tape)}"
                f"{name_hint(tape, 'the tape itself, tf.GradientTape()', tf.GradientTape)}"
            )
        self.has_wrapped = True
        tapes.watch(tape, self)

    def watch_optimizer(self, optimizer: Any) -> None:
        """Records the variables of a Keras optimizer after each update."""
        self._steps.add_optimizer(optimizer)

    def save(
        self,
        method: Callable[..., None],
        save: Callable[..., None],
        value: Any,
        arguments_of: Callable[[Any], tuple[Any, ...]],
    ) -> None:
        """Calls `save(*arguments_of(value))` for the replica that this thread runs, if it is
        recorded. Of a value that holds one tensor of each replica, each is saved for its replica,
        or the first if the run has one worker.

        For a tensor of a graph, calls the bound method `method` with the UserValue of its arrays
        instead, each time the graph runs. Its object is not kept alive, so `arguments_of` must not
        refer to it. Raises NotTaken for a value without elements.
        """
        copies = replica_copies(value)
        if copies is not None:
            return self._save_copies(save, copies, arguments_of)
        value, replica = user_value(value), current_replica()
        if any(map(is_symbolic, value.parts)):
            if not all(map(is_reachable, value.parts)):
                raise NotTaken(
                    "it is a tensor of another graph, which has a value only while that graph "
                    "runs: save the result of the run"
                )
            weak = weakly(method, None)
            call_in_graph(
                self._call_for_replica, value, lambda found: (replica, weak, *arguments_of(found))
            )
        else:
            self._steps.bind_to_current_thread()
            self._call_for_replica(replica, save, *arguments_of(value))

    def _save_copies(self, save, copies, arguments_of):
        self._steps.bind_to_current_thread()
        if self._session.size != len(copies):
            return save(*arguments_of(copies[0]))
        for replica, value in enumerate(copies):
            self._call_for_replica(replica, save, *arguments_of(value))

    def _call_for_replica(self, replica, save, *arguments):
        if replica is None:
            save(*arguments)
        elif self._session.has_worker(replica):
            with self._session.for_worker(replica):
                save(*arguments)

    # --- events of a watched tape (tapes.py) ---

    def tape_entered(self, tape: Any) -> None:
        """Begins a step, unless `tape` is inside another watched tape."""
        open_tapes = self._open_tapes()
        outer = open_tapes[-1]() if open_tapes else None
        tape.smdebug_step = outer.smdebug_step if outer is not None else self._new_step()
        open_tapes.append(weakref.ref(tape))
        if self._facts is not None and tape.smdebug_step is not None:
            self._facts.tape_entered(tape)

    def tape_left(self, tape: Any) -> None:
        """Forgets `tape`."""
        if self._facts is not None:
            self._facts.tape_left(tape)
        self._tapes.open = [each for each in self._open_tapes() if each() not in (tape, None)]

    def gradients_taken(self, tape: Any, target: Any, sources: Any, gradients: Any) -> Any:
        """Records a call of `tape.gradient(target, sources)` and its result. Returns the gradients
        to use, which have the same values."""
        self.has_gradients = True
        step = tape.smdebug_step
        if step is None or not self._sink.is_recording:
            return gradients
        if self._facts is not None:
            self._facts.gradients_taken(tape, target, sources)
        with self._steps.isolate_errors():
            step.record(
                self._steps.tensors.sorted_out(step.taken, target, sources, gradients, step.replica)
            )
        is_held = self._plan.has_rules or self._steps.has_optimizers
        return step.held(gradients) if is_held else gradients

    def _open_tapes(self):
        """Returns the tapes that this thread has entered and not left. They are held weakly: a tape
        that was never left must not outlive its owner."""
        if not hasattr(self._tapes, "open"):
            self._tapes.open = []
        self._tapes.open = [each for each in self._tapes.open if each() is not None]
        return self._tapes.open

    def _new_step(self):
        if not self._sink.is_recording or self._is_counted_elsewhere():
            return None
        replica = current_replica()
        if replica is not None:
            strategy = tf.distribute.get_strategy()
            self._session.follow_strategy(strategy)
            if not self._session.has_worker(replica):
                self._warn_not_recorded(strategy)
                return None
        self.has_begun = True
        if tf.executing_eagerly():
            return EagerStep(self._steps, self._steps.begin(replica), replica)
        return self._new_graph_step(replica)

    def _new_graph_step(self, replica):
        if not tf.inside_function() or not is_compilation_known() or self._function_steps is None:
            return None
        with self._steps.isolate_errors():
            self._plan.take_up()
        self._sink.offer_graph(tf.compat.v1.get_default_graph())
        if is_compiled():
            return self._compiled_steps.new_step(replica)
        step = FunctionStep(self._steps, replica)
        self._function_steps.add(step)
        return step

    def _warn_not_recorded(self, strategy):
        if self._session.records_all and not are_replicas_known(strategy):
            kind = type(strategy).__name__
            self._sink.warn_once(
                f"only the first replica of {kind} is recorded; a MirroredStrategy records all",
                kind,
            )
