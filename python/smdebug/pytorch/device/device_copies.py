"""`DeviceCopies`: copies tensors from an accelerator while the program continues.

A tensor on a device that is due is copied to pinned host memory, on the stream that is current when
it is put, and an event marks the end of the copies of the step. The program waits for this one
event when the values are needed: at the end of the step, or before the rules decide whether the
optimizer may act. docs/decisions/0010-one-wait-per-step.md explains why not later.

If only the statistics of a tensor are kept, the device computes them, and they are copied instead
of the elements: by one kernel (cuda_statistics.py), or by operations of torch
(device_statistics.py).

Only public names of torch are used here. If an accelerator does not support an operation, a warning
is logged once, and the core copies tensor by tensor from then on.
"""

from __future__ import annotations

import collections
import functools
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch

from smdebug.log import get_logger
from smdebug.pytorch.device import device_statistics
from smdebug.pytorch.device.cuda_statistics import CudaStatistics
from smdebug.pytorch.device.pinned_memory import PinnedMemory
from smdebug.pytorch.device.rows import Rows

if TYPE_CHECKING:
    from smdebug._core import TensorSlot

_logger = get_logger()

_Memory = TypeVar("_Memory")

# Four times the core's queue. A step that saves more waits in between.
_MOST_BYTES = 256 << 20


class DeviceCopies:
    """The copies of one session that are in progress. Thread-safe; no method raises.

    `take` is the device transfer of the session. `accelerator`, by default that of this process,
    copies and waits. `most_bytes` limits the pinned memory.
    """

    def __init__(
        self, accelerator: TorchAccelerator | None = None, most_bytes: int = _MOST_BYTES
    ) -> None:
        self._accelerator = accelerator or TorchAccelerator()
        self._memory = PinnedMemory(most_bytes)
        # A signal handler may close the hook during a call here.
        self._lock = threading.RLock()
        self._rows = Rows(self._memory)
        # (slot, copy or number of a row, what takes it), in the order of their calls
        self._under_way: collections.deque[
            tuple[TensorSlot, torch.Tensor | int, Callable[[Any], None]]
        ] = collections.deque()
        self._events: dict[torch.Stream, torch.Event] = {}  # the end of the copies on each stream
        self._device: torch.device | None = None  # of the last copy
        self._is_off = False
        self._makes_statistics = True  # on the device
        self.wait_seconds: float = 0.0  # that the training has waited for copies

    def take(self, slot: TensorSlot, tensor: torch.Tensor) -> bool:
        """Starts to copy `tensor` for `slot`. Returns False if the core must copy it."""
        if self._is_off:
            return False
        with self._lock:
            try:
                if not self._accelerator.serves(tensor.device):
                    return False
                if self._accelerator.is_recorded(tensor.device):
                    slot.skip("it is computed while a graph is captured, which reads no values")
                    return True
                if self._takes_kernel(slot, tensor):
                    return self._begin_kernel(slot, tensor)
                source, put = self._what_to_copy(slot, tensor)
                copy = self._with_room(lambda: self._memory.allocate(source.shape, source.dtype))
            except Exception:  # the core reports what is wrong with this tensor
                return False
            if copy is None:
                return False
            return self._begin(
                slot, tensor.device, copy, put, lambda: self._accelerator.copy(source, copy)
            )

    def fetch(self, tensor: torch.Tensor, on_copy: Callable[[torch.Tensor], None]) -> None:
        """Starts to copy a tensor that belongs to no slot. `on_copy` receives the copy in host
        memory, and is not called if the device does not copy it."""
        self.take(cast("TensorSlot", _Receiver(on_copy)), tensor)

    def is_recorded(self, device: torch.device) -> bool:
        """Whether the current calls on `device` are recorded to run later."""
        return self._accelerator.is_recorded(device)

    def cannot_wait(self) -> bool:
        """Whether copies are in progress while a graph is captured: to wait for them now would end
        the capture with an error."""
        return (
            bool(self._under_way)
            and self._device is not None
            and self._accelerator.is_recorded(self._device)
        )

    def hand_over(self) -> None:
        """Waits for the copies that are in progress, if any, and captures them. While
        `cannot_wait`, does nothing."""
        if not self._under_way or self.cannot_wait():
            return
        with self._lock:
            error = self._wait()
            rows = self._rows.take()
            while self._under_way:
                slot, copy, put = self._under_way.popleft()
                if error is None:
                    put(rows[copy] if isinstance(copy, int) else copy)
                else:
                    slot.skip(f"the device did not copy it: {error!r}")
            self._memory.rewind()

    def after_fork_in_child(self) -> None:
        """Stops using the device, which belongs to the parent: neither waits for copies nor frees
        their memory."""
        self._is_off = True
        self._kept = self._under_way, self._events, self._memory
        self._under_way, self._events = collections.deque(), {}
        self._lock = threading.RLock()  # another thread of the parent may have held it

    def _takes_kernel(self, slot: TensorSlot, tensor: torch.Tensor) -> bool:
        return (
            self._makes_statistics
            and self._memory.is_pinnable
            and self._accelerator.has_kernel_for(tensor)
            and not slot.needs_elements()
        )

    def _begin_kernel(self, slot: TensorSlot, tensor: torch.Tensor) -> bool:
        """Starts the kernel that writes the statistics to pinned memory."""
        row = self._with_room(self._rows.allocate)
        if row is None:
            return False
        number, numbers = row
        put = functools.partial(device_statistics.put_row, slot, tensor.dtype, tensor.shape)
        return self._begin(
            slot, tensor.device, number, put, lambda: self._accelerator.reduce(tensor, numbers)
        )

    def _what_to_copy(
        self, slot: TensorSlot, tensor: torch.Tensor
    ) -> tuple[torch.Tensor, Callable[[torch.Tensor], None]]:
        """A contiguous tensor on the device, and what takes a copy of it in host memory."""
        if (
            self._makes_statistics
            and device_statistics.are_worth_it(tensor)
            and not slot.needs_elements()
        ):
            try:
                return device_statistics.begin_statistics(tensor), functools.partial(
                    device_statistics.put_statistics, slot, tensor.dtype, tensor.shape
                )
            except Exception as error:
                self._makes_statistics = False
                _logger.warning(
                    "tensors on '%s' are copied even if only statistics are saved: %r",
                    tensor.device,
                    error,
                )
        tensor = tensor.detach()
        if steps := slot.sample_steps(tensor.shape):
            tensor = tensor[tuple(slice(None, None, step) for step in steps)]
        source = _each_once(tensor.resolve_conj().resolve_neg())
        if source.shape == tensor.shape:
            return source.contiguous(), slot.put_copy
        shape = tensor.shape
        return source.contiguous(), lambda copy: slot.put_copy(copy.expand(shape))

    def _with_room(self, allocate: Callable[[], _Memory | None]) -> _Memory | None:
        """Calls `allocate`. If there is no room, hands the copies over and calls it again."""
        memory = allocate()
        if memory is None and self._under_way:
            self.hand_over()
            memory = allocate()
        return memory

    def _begin(
        self,
        slot: TensorSlot,
        device: torch.device,
        copy: torch.Tensor | int,
        put: Callable[[Any], None],
        start: Callable[[], torch.Stream],
    ) -> bool:
        """Calls `start`, which makes the device fill `copy`, for `put` to take later."""
        try:
            stream = start()
            self._device = device
            event = self._events.get(stream)
            if event is None:
                event = self._events[stream] = self._accelerator.make_event(device)
            event.record(stream)  # again: it marks the last of the copies
        except Exception as error:
            self._is_off = True  # the memory of the copies that began is never reused
            _logger.warning(
                "tensors on '%s' are copied one by one, and the training waits for each: %r",
                device,
                error,
            )
            return False
        self._under_way.append((slot, copy, put))
        return True

    def _wait(self) -> Exception | None:
        """Waits for all copies. Returns the error if that fails."""
        start = time.perf_counter()
        try:
            for event in self._events.values():
                event.synchronize()
            self._events = {}
        except Exception as error:
            self._is_off = True
            return error
        finally:
            self.wait_seconds += time.perf_counter() - start
        return None


def _each_once(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor without the dimensions along which it was expanded: each has extent 1."""
    for dimension, stride in enumerate(tensor.stride()):
        if stride == 0 and tensor.shape[dimension] > 1:
            tensor = tensor.narrow(dimension, 0, 1)
    return tensor


class _Receiver:
    """Takes a copy as a slot of a tensor does."""

    def __init__(self, put_copy: Callable[[torch.Tensor], None]) -> None:
        self.put_copy = put_copy

    def needs_elements(self) -> bool:
        return True

    def sample_steps(self, shape: Sequence[int]) -> list[int]:
        return []

    def skip(self, reason: str) -> None:
        """There is no copy."""


class TorchAccelerator:
    """The accelerator of this process, through the public names of torch."""

    _type: str | None = None

    def __init__(self) -> None:
        self._kernels: dict[torch.device, CudaStatistics | None] = {}

    def serves(self, device: torch.device) -> bool:
        """Returns whether tensors on `device` are on the accelerator.

        Looks for an accelerator only when a tensor is on a device: before that, the search could
        start the accelerator, which is then unusable in the children of a program that forks.
        """
        if self._type is None:
            known = hasattr(torch, "accelerator") and torch.accelerator.current_accelerator()
            self._type = known.type if known else ""
        return device.type == self._type

    def is_recorded(self, device: torch.device) -> bool:
        """Returns whether the current calls are recorded to run later. A copy would have no
        elements yet, and waiting for it would break the recording."""
        return device.type == "cuda" and torch.cuda.is_current_stream_capturing()

    def copy(self, source: torch.Tensor, copy: torch.Tensor) -> torch.Stream:
        """Starts the copy and returns its stream, the current one of the source's device.

        Everything that changes or frees the source later, an optimizer or the caching allocator,
        does so on a stream that runs after this copy. Each of them would have to wait for a side
        stream. For the same reason, `record_stream` is not needed.
        """
        copy.copy_(source, non_blocking=True)
        return torch.accelerator.current_stream(source.device)

    def has_kernel_for(self, tensor: torch.Tensor) -> bool:
        """Whether `reduce` takes the tensor. Compiles the kernels for the first tensor of a
        device."""
        if tensor.device not in self._kernels:
            self._kernels[tensor.device] = CudaStatistics.create(tensor.device)
        kernels = self._kernels[tensor.device]
        return kernels is not None and kernels.takes(tensor)

    def reduce(self, tensor: torch.Tensor, numbers: int) -> torch.Stream:
        """Starts to compute the statistics and returns the stream, the current one. They are
        written to the address `numbers`, in pinned memory."""
        kernels = self._kernels[tensor.device]
        assert kernels is not None
        return kernels.begin(tensor, numbers)

    def make_event(self, device: torch.device) -> torch.Event:
        """Returns an event of that type of device, which is not recorded yet."""
        return torch.Event(device.type)
