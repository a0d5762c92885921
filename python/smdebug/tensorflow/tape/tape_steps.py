"""`TapeSteps`: the steps of loops with a tf.GradientTape, in eager code and in graphs.

Three kinds of code use it: eager code (`EagerStep`, here), a tf.function (function_steps.py), and a
tf.function that XLA compiles (compiled_steps.py).
"""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from smdebug._core import ModeKeys
from smdebug.error_isolation import isolate_errors
from smdebug.tensorflow import names
from smdebug.tensorflow.capture_sink import CaptureContext, PlanView
from smdebug.tensorflow.optimizers import optimizer_variables
from smdebug.tensorflow.replica_sessions import ReplicaSessions
from smdebug.tensorflow.tape.loss_series import LossSeries
from smdebug.tensorflow.tape.tape_facts import TapeFacts
from smdebug.tensorflow.tape.tape_tensors import (
    KINDS,
    NUMBERS,
    StepTensors,
    TapeTensor,
    TapeTensors,
)
from smdebug.tensorflow.variable_values import put_variable

# The result of `TapeSteps.begin_in_graph` where nothing is due.
NOTHING_DUE: np.ndarray = np.zeros(len(KINDS) + 1, bool)


class TapeSteps:
    """Begins steps, has the rules judge them, and saves the variables of optimizers at their end.

    Where a method takes `replica`, None means all replicas. `is_counted_elsewhere()` returns
    whether Keras counts the steps at present, as in `fit`.
    """

    def __init__(self, context: CaptureContext, is_counted_elsewhere: Callable[[], bool]) -> None:
        self._sink = context.sink
        self.plan: PlanView = context.plan
        self.session: ReplicaSessions = context.session
        self.tensors: TapeTensors = TapeTensors(self.session, self.plan.is_bias)
        self._is_counted_elsewhere = is_counted_elsewhere
        self._optimizers: list[Any] = []
        self._begun_in_graph = False
        self._ending: BaseException | None = None  # the exception that stopped a graph
        self.facts: TapeFacts | None = None  # None: they are not reported

    def isolate_errors(self) -> isolate_errors:
        """See CaptureSink."""
        return self._sink.isolate_errors("in a step of a tf.GradientTape")

    # --- the losses of every step ---

    def note_losses(self, series: LossSeries) -> None:
        """Notes the losses of every step in `series`."""
        self.tensors.series = series

    def end_losses(self) -> None:
        """Notes the losses that are left. No further one is noted."""
        if self.tensors.series is not None:
            self.tensors.series.close()

    def report_facts(self, facts: TapeFacts) -> None:
        """Reports `facts` in saved steps."""
        self.facts = facts
        if self.tensors.series is not None:
            self.tensors.series.facts = facts

    # --- the beginning ---

    def begin(self, replica: int | None = None) -> bool:
        """Begins a step and returns whether it saves anything."""
        if not self._sink.is_recording:
            return False
        with self.isolate_errors(), self.session.for_worker(replica):
            self.put_optimizers()
            if self.tensors.series is not None and not replica:
                self.tensors.series.end_step()
            mode = self.plan.mode
            is_due = self._sink.begin_step(ModeKeys.TRAIN if mode is ModeKeys.GLOBAL else mode)
            if is_due and self.facts is not None and not replica:
                self.facts.end_step()
            return is_due
        return False

    def begin_in_graph(self, replica: int | None = None) -> np.ndarray:
        """Begins a step from inside a graph, where nothing may be raised. Returns which KINDS the
        graph exports in it, and whether the rules judge it: bool, shape (5,)."""
        with self.isolate_errors():
            is_due = self.begin(replica)
            self._begun_in_graph = True
            with self.session.for_worker(replica):
                due = [is_due and self.tensors.is_due(kind) for kind in KINDS]
            return np.array([*self._with_noted(due), any(due)])
        return NOTHING_DUE

    def next_due_kinds(self) -> list[bool]:
        """Returns which KINDS the next step may save, or notes."""
        is_due = self.plan.is_next_due()
        return self._with_noted([is_due and self.tensors.can_match(kind) for kind in KINDS])

    def unknown_due_kinds(self) -> list[bool]:
        """Returns the same before the tensors of the step are known."""
        return self._with_noted([self.plan.is_next_due()] * len(KINDS))

    def _with_noted(self, due):
        is_noted = self.tensors.are_losses_noted and self._sink.is_recording
        return [
            each or (kind is NUMBERS and is_noted) for kind, each in zip(KINDS, due, strict=True)
        ]

    def bind_to_current_thread(self) -> None:
        """Makes the main thread the owner of a step that a graph began on another thread."""
        is_main = threading.current_thread() is threading.main_thread()
        if self._begun_in_graph and is_main:
            self.session.bind_to_current_thread()

    # --- rules ---

    def judge(self, replica: int | None = None) -> None:
        """Lets the rules judge the step so far, and raises what one of them requests: see
        CaptureSink.judge_step."""
        with self.session.for_worker(replica):
            self._sink.judge_step()

    def judge_in_graph(self, replica: int | None = None) -> None:
        """Judges from inside a graph. TensorFlow replaces every exception that leaves a graph, so
        the one to raise is kept for `take_ending`."""
        try:
            self.judge(replica)
        except BaseException as error:
            self._ending = error
            raise RuntimeError(f"smdebug ends the training: {error!r}") from error

    def take_ending(self) -> BaseException | None:
        """Returns the exception that stopped a graph, or None. A second call returns None."""
        ending, self._ending = self._ending, None
        return ending

    # --- optimizers ---

    @property
    def has_optimizers(self) -> bool:
        """Whether an optimizer is recorded."""
        return bool(self._optimizers)

    def add_optimizer(self, optimizer: Any) -> None:
        """Saves the variables of a Keras optimizer at the end of each due step."""
        if not any(optimizer is each for each in self._optimizers):
            self._optimizers.append(optimizer)

    def optimizer_variables(self) -> list[Any]:
        """Returns the variables that the recorded optimizers have so far."""
        return [each for optimizer in self._optimizers for each in optimizer_variables(optimizer)]

    def put_optimizers(self) -> None:
        """Saves the variables of optimizers at the end of the step in which they acted."""
        if not self._optimizers or not self.session.is_capturing() or self._is_counted_elsewhere():
            return
        for variable in self.optimizer_variables():
            slot = self.session.tensor(names.variable_name(variable), ["optimizer_variables"])
            if slot.is_due():
                put_variable(self.session, slot, variable)


class EagerStep:
    """A step of eager code, which reads due tensors at once."""

    def __init__(self, steps: TapeSteps, is_due: bool, replica: int | None = None) -> None:
        self._steps = steps
        self._is_due = is_due
        self.replica = replica
        self.taken: StepTensors = StepTensors()

    def record(self, tensors: list[TapeTensor]) -> None:
        """Saves the tensors of one call of `tape.gradient`."""
        for each in tensors:
            each.note(each.tensor)
        if self._is_due:
            with self._steps.session.for_worker(self.replica):
                for each in tensors:
                    each.put()

    def held(self, gradients: Any) -> Any:
        """Returns `gradients` once the rules have judged the step; raises what they request."""
        if self._is_due:
            self._steps.judge(self.replica)
        return gradients
