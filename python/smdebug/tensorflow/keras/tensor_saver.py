"""`TensorSaver`: saves the tensors of a Keras training, for every backend."""

import re
from collections.abc import Iterable
from typing import Any

from smdebug.array_values import NotTaken
from smdebug.tensorflow.capture_sink import CaptureSink
from smdebug.tensorflow.replica_sessions import ReplicaSessions
from smdebug.tensorflow.tensors import as_array

_NUMBER = re.compile(r"_\d+$")
_OF_LAYER = re.compile(r"/(inputs|outputs)(_\d+)?$")


class TensorSaver:
    """Puts tensors into the slots of a session; logs once why a tensor cannot be saved."""

    def __init__(self, sink: CaptureSink, session: ReplicaSessions) -> None:
        self._sink = sink
        self._session = session

    def slot(self, name: str, collections: Iterable[str]) -> Any:
        """Returns the slot of a tensor, which belongs to `collections` beside those that its name
        matches."""
        return self._session.tensor(name, list(collections))

    def put(self, slot: Any, name: str, tensor: Any) -> None:
        """Saves a tensor if its slot is due.

        A tuple holds one tensor of each replica: each is saved under its own worker, or the first
        if the run has one worker.
        """
        if not slot.is_due():
            return
        try:
            if not isinstance(tensor, tuple):
                slot.put(as_array(tensor))
            elif self._session.is_per_replica:
                slot.put_each([as_array(each) for each in tensor])
            else:
                slot.put(as_array(tensor[0]))
        except NotTaken as why:
            self.skip(name, str(why))

    def skip(self, name: str, why: str) -> None:
        """Logs that a tensor is not saved, and lists it in no collection. Of the inputs and outputs
        of a layer, and of tensors that differ only in their number, logs the first."""
        layer = _OF_LAYER.sub("", name)
        if layer != name:
            subject, note = f"{layer}: {why}", f" (logged once for the layer '{layer}')"
        else:
            subject = _NUMBER.sub("_", name)
            note = "" if subject == name else " (logged only for the first number)"
        self._sink.warn_once(f"tensor '{name}' is not saved: {why}{note}", subject)
        self._session.tensor(name).leave_out(why)

    def skip_graph(self, why: str) -> None:
        """Logs once that nothing from inside a step is saved."""
        self._sink.warn_once(
            f"layers, gradients, inputs and outputs are not saved: {why}", subject=why
        )
