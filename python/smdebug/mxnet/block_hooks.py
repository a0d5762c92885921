"""Forward hooks registered on blocks. An idle hook costs one boolean check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from mxnet import gluon

from smdebug.mxnet.arrays import arrays_in, is_symbolic, put

if TYPE_CHECKING:
    from smdebug._core import ModuleSlots, TensorSlot
    from smdebug.mxnet.hybrid import Graphs


class CaptureSwitch:
    """On while the open step saves tensors. All hooks of one smdebug hook share it."""

    def __init__(self) -> None:
        self.is_on = False
        self.has_loss = False  # a loss block ran in this step
        # Called with the name of a loss block and its outputs, in every step.
        self.on_loss: Callable[[str, Iterable[Any]], None] | None = None
        # Called with a loss block, its name and arguments, in steps that save tensors.
        self.on_loss_arguments: Callable[[Any, str, tuple[Any, ...]], None] | None = None


class WatchedBlock:
    """One block and its hooks, which are removed while none of its tensors can be saved.

    `graphs` (hybrid.py) handles blocks that run inside a graph. `slots` number the inputs and
    outputs of the block, and `isolate` is a context that keeps smdebug's own errors from the
    training. A deep copy of the block calls the same hooks; an unpickled block has hooks without
    state, which do nothing.
    """

    _graphs: Graphs | None = None

    def __init__(
        self,
        block: gluon.Block,
        name: str,
        switch: CaptureSwitch,
        slots: ModuleSlots,
        graphs: Graphs,
        isolate: Callable[[str], AbstractContextManager[None]],
        is_loss: bool = False,
    ) -> None:
        self.block = block
        self.name = name
        self._slots = slots
        self._switch = switch
        self._graphs = graphs
        self._isolate = isolate
        self._is_loss = is_loss
        self._handles: list[Any] = []
        self._was_called = False

    def __deepcopy__(self, memo: dict[int, Any]) -> WatchedBlock:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def install(self) -> None:
        """Registers the hooks, unless they are registered."""
        if not self._handles:
            self._handles = [
                self.block.register_forward_pre_hook(self._before),
                self.block.register_forward_hook(self._after),
            ]

    def remove(self) -> None:
        """Removes the hooks."""
        for handle in self._handles:
            handle.detach()
        self._handles = []

    def prune(self) -> bool:
        """Removes the hooks of a block of which nothing can ever be saved.

        Returns False if the block was not called yet. Hooks of a block that runs as a graph stay,
        because the tensors inside it may be saved.
        """
        if not self._was_called:
            return False
        if not (self.can_match() or self._graphs.is_tapped(self.block)):
            self.remove()
        return True

    def can_match(self) -> bool:
        """Returns whether the coming plan may save any of its inputs or outputs."""
        return self._slots.may_match_input() or self._slots.may_match_output()

    def capture_inputs(self, values: Iterable[Any]) -> None:
        """Saves inputs: MXNet's or numpy's arrays, or None for one that is missing."""
        self._put(self._slots.next_input, values)

    def capture_outputs(self, values: Iterable[Any]) -> None:
        """Saves outputs: MXNet's or numpy's arrays, or None for one that is missing."""
        self._put(self._slots.next_output, values)

    def _put(self, next_slot: Callable[[], TensorSlot | None], values: Iterable[Any]) -> None:
        for value in values:
            slot = next_slot()
            if slot is None:
                continue
            if value is None:
                slot.leave_out("the graph of its hybridized block does not show it")
            elif hasattr(value, "asnumpy"):
                put(slot, value)
            else:
                slot.put(value)

    def _before(self, block: gluon.Block, arguments: tuple[Any, ...]) -> None:
        if self._graphs is None or is_symbolic(arguments):
            return
        self._was_called = True
        with self._isolate("before a block"):
            self._graphs.enter(block)
            if self._switch.is_on:
                self.capture_inputs(arrays_in(arguments))

    def _after(self, block: gluon.Block, arguments: tuple[Any, ...], output: Any) -> None:
        if self._graphs is None:
            return
        if is_symbolic(arguments):
            self._graphs.trace(self, arguments, output)
            return
        with self._isolate("after a block"):
            self._graphs.leave(block, arguments)
            if self._is_loss:
                self._switch.has_loss = True
                if self._switch.on_loss is not None:
                    self._switch.on_loss(self.name, arrays_in(output))
                if self._switch.is_on and self._switch.on_loss_arguments is not None:
                    self._switch.on_loss_arguments(block, self.name, arguments)
            if self._switch.is_on:
                self.capture_outputs(arrays_in(output))
