"""`TapeFacts`: what the first steps of loops with a tape show of their losses and variables.

In a tf.function, the graph has the operations of a loss. Eager code has none, so that those of the
first three tapes are recorded while they are open: TensorFlow then reports each operation, which
changes neither its result nor the functions that it calls.
"""

from __future__ import annotations

import threading
from typing import Any

import tensorflow as tf

from smdebug.tensorflow.keras.facts import KerasFacts
from smdebug.tensorflow.operations import OperationRecorder
from smdebug.tensorflow.tape.late_variables import LateVariables

_RECORDED_TAPES = 3


class TapeFacts:
    """Gives `facts` what the tapes of one hook show. No method raises."""

    def __init__(self, facts: KerasFacts) -> None:
        self._facts = facts
        self._late = LateVariables()
        self._left = _RECORDED_TAPES
        self._open = threading.local()

    def tape_entered(self, tape: Any) -> None:
        """Notes that `tape` is entered. One inside another is part of its step."""
        self._late.begin_step()
        if self._left == 0 or not tf.executing_eagerly() or self._recorder() is not None:
            return
        recorder = OperationRecorder()
        if recorder.start():
            self._left -= 1
            self._open.recorder, self._open.tape = recorder, tape
            tape.smdebug_operations = recorder
        else:
            self._left = 0

    def tape_left(self, tape: Any) -> None:
        """Notes that `tape` is left, perhaps by an exception."""
        recorder = self._recorder()
        if recorder is not None and self._open.tape is tape:
            recorder.stop()
            self._open.recorder = self._open.tape = None

    def gradients_taken(self, tape: Any, target: Any, sources: Any) -> None:
        """Notes a call of `tape.gradient(target, sources)`."""
        self._late.note_call(tape, sources)
        recorder = getattr(tape, "smdebug_operations", None)
        if not tf.executing_eagerly():
            self._facts.written.note_graph(target)
        elif recorder is not None:
            for each in target if isinstance(target, (list, tuple)) else [target]:
                loss = recorder.value_of(each)
                if loss is not None:
                    self._facts.written.note_operations(loss)

    @property
    def wants_values(self) -> bool:
        """Whether it matters if the losses are finite."""
        return self._facts.written.wants_value

    def note_value(self, loss: float, step: int) -> None:
        """Notes the value of a loss of the global `step`."""
        self._facts.written.note_value(loss, step)

    def end_step(self) -> None:
        """Reports what is new. Call as a saved step begins, on its thread."""
        self._facts.layers_outside += self._late.take()
        self._facts.end_step(is_saved=True)

    def _recorder(self):
        return getattr(self._open, "recorder", None)
