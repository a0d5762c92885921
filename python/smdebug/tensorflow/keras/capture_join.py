"""`CaptureJoin`: joins the tensors that a step function captures to its result, and splits them off
again after the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from smdebug.tensorflow.keras.step_trace import StepTrace
from smdebug.tensorflow.keras.tensor_saver import TensorSaver

if TYPE_CHECKING:  # it needs TensorFlow
    from smdebug.tensorflow.keras.replica_captures import ReplicaCaptures

# Sorts after every name of a log: Keras uses the first tensor of a result for its own purposes.
CAPTURES = "~smdebug"
_DRAWS = "~smdebug_draws"
_OUTPUTS = "outputs"


class CaptureJoin:
    """The captured tensors of one step function, and their slots. `kind` is "train", "test" or
    "predict"."""

    def __init__(self, kind: str, saver: TensorSaver) -> None:
        self._kind = kind
        self._saver = saver
        self._slots: dict[str, Any] = {}  # by the name of a tensor in the graph
        self._returned: set[str] = set()  # names that the capturing function returns
        self.draws: Sequence[Any] = ()  # the random numbers that the last call returned

    # --- while a step is traced or runs eagerly ---

    def wanted(self, trace: StepTrace, is_graph: bool) -> dict[str, Any]:
        """Returns the tensors of a trace that the coming step saves, or, if the trace built a
        graph, that any step may save. By name."""
        found = {}
        for name, collections, tensor in trace.finished():
            slot = self._slots[name] = self._saver.slot(name, collections)
            if slot.is_next_due() or (slot.can_match() and is_graph):
                found[name] = tensor
        return found

    def note_returned(self, names: Mapping[str, Any]) -> None:
        """Notes the names of the tensors that a newly traced function returns."""
        self._returned |= set(names)

    def join(
        self,
        result: Any,
        captures: Mapping[str, Any] | None = None,
        draws: Sequence[Any] | None = None,
        replicas: ReplicaCaptures | None = None,
    ) -> Any:
        """Returns the result of a step with what it captures: `captures` by name, or the random
        numbers `draws`; None for nothing. Under a strategy, `replicas` joins the captures of one
        replica, also empty ones, since the results of replicas must be alike."""
        captures = captures or {}
        if not captures and not draws and replicas is None:
            return result
        if self._kind == "predict":
            result = {_OUTPUTS: result}
        if not isinstance(result, dict):
            if captures:
                self._saver.skip_graph(f"{self._kind}_step does not return a dict")
            return result
        if draws:
            return {**result, _DRAWS: draws}
        captures = captures if replicas is None else replicas.of_replica(captures)
        return {**result, CAPTURES: captures}

    # --- after a call ---

    def split(self, result: Any) -> tuple[Any, Mapping[str, Any] | None]:
        """Returns (the result that Keras expects, the captured tensors by name or None). Keeps
        `draws`."""
        self.draws = ()
        if not isinstance(result, dict) or not (CAPTURES in result or _DRAWS in result):
            return result, None
        result = dict(result)
        captures, self.draws = result.pop(CAPTURES, None), result.pop(_DRAWS, ())
        return (result[_OUTPUTS] if self._kind == "predict" else result), captures

    def put(self, captures: Mapping[str, Any]) -> None:
        """Saves those captured tensors that are due. A trace may have had others, which the last
        one lacks."""
        for name, tensor in captures.items():
            self._saver.put(self._slots[name], name, tensor)
        for name in self._slots.keys() - captures.keys():
            if self._slots[name].is_due():
                self._slots[name].leave_out("the step that was traced last has no such tensor")

    # --- what is due ---

    @property
    def is_known(self) -> bool:
        """Whether a step was traced, so that the names of its tensors are known."""
        return bool(self._slots)

    def next_due(self) -> set[str]:
        """Returns the names of the known tensors that the coming step saves."""
        return {name for name, slot in self._slots.items() if slot.is_next_due()}

    def lacks(self, names: set[str]) -> bool:
        """Returns whether the capturing function was traced without one of these tensors."""
        return bool(self._returned) and not names <= self._returned
