"""Tensors on an accelerator: copied while the program goes on, handed over before their step ends.

A tensor that is due and lies on a device is copied to pinned host memory on the stream that is
current where it is put, and an event marks the end of the step's copies. The program waits for
that one event where the values are needed: when the step ends, or before the rules are asked
whether the optimizer may act. docs/decisions/0010-one-wait-per-step.md says why not later.

Of a tensor whose statistics say all that is kept of it, those are made on the device and copied in
place of its elements (device_statistics.py).

Only public names of torch are used. What the accelerator cannot do is said once, and the core
copies tensor by tensor then.
"""

import collections
import functools
import threading
import time

import torch

from smdebug.log import get_logger
from smdebug.pytorch.device import device_statistics
from smdebug.pytorch.device.pinned_memory import PinnedMemory

logger = get_logger()

# Four times the core's queue. A step that saves more waits in between.
_MOST_BYTES = 256 << 20


class DeviceCopies:
    """The copies of one session that have not arrived yet. Any thread; nothing here raises.

    The session gets `take` as its device transfer. `accelerator` does the copying and the
    waiting, see TorchAccelerator. `most_bytes` bounds the pinned memory.
    """

    def __init__(self, accelerator=None, most_bytes=_MOST_BYTES):
        self._accelerator = accelerator or TorchAccelerator()
        self._memory = PinnedMemory(most_bytes)
        # A signal may close the hook inside of a call here.
        self._lock = threading.RLock()
        # (slot, copy, what takes the copy), in the order of their calls
        self._under_way = collections.deque()
        self._events = {}  # stream -> what marks the end of the copies on it
        self._is_off = False
        self._makes_statistics = True  # on the device
        self.wait_seconds = 0.0  # of the training, for copies

    def take(self, slot, tensor):
        """Starts to copy `tensor` for `slot`, a TensorSlot. False: it did not."""
        if self._is_off:
            return False
        with self._lock:
            try:
                if not self._accelerator.serves(tensor.device):
                    return False
                if self._accelerator.is_recorded(tensor.device):
                    slot.skip("it is computed while a graph is captured, which reads no values")
                    return True
                source, put = self._what_to_copy(slot, tensor)
                copy = self._room_for(source)
            except Exception:  # the core tells what is wrong with this one
                return False
            return copy is not None and self._begin(slot, source, copy, put)

    def hand_over(self):
        """Waits for the copies that are under way, if any, and captures them."""
        if not self._under_way:
            return
        with self._lock:
            error = self._wait()
            while self._under_way:
                slot, copy, put = self._under_way.popleft()
                if error is None:
                    put(copy)
                else:
                    slot.skip(f"the device did not copy it: {error!r}")
            self._memory.rewind()

    def after_fork_in_child(self):
        """The device is the parent's: nothing is waited for, nothing given back to it."""
        self._is_off = True
        self._kept = self._under_way, self._events, self._memory
        self._under_way, self._events = collections.deque(), {}
        self._lock = threading.RLock()  # another thread of the parent may have held it

    def _what_to_copy(self, slot, tensor):
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
                logger.warning(
                    "tensors on '%s' are copied, for statistics too: %r", tensor.device, error
                )
        return tensor.detach().resolve_conj().resolve_neg().contiguous(), slot.put_copy

    def _room_for(self, source):
        copy = self._memory.room_for(source.shape, source.dtype)
        if copy is None and self._under_way:
            self.hand_over()
            copy = self._memory.room_for(source.shape, source.dtype)
        return copy

    def _begin(self, slot, source, copy, put):
        try:
            stream = self._accelerator.copy(source, copy)
            event = self._events.get(stream)
            if event is None:
                event = self._events[stream] = self._accelerator.make_event(source.device)
            event.record(stream)  # again: it marks the last of the copies
        except Exception as error:
            self._is_off = True  # the memory of what was begun is never handed out again
            logger.warning(
                "tensors on '%s' are copied one by one, and waited for: %r", source.device, error
            )
            return False
        self._under_way.append((slot, copy, put))
        return True

    def _wait(self):
        """What went wrong, or None."""
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


class TorchAccelerator:
    """The accelerator of this process, through torch's public names."""

    _type = None

    def serves(self, device):
        """Asked of a device that a tensor lies on: before there is one, to look for an accelerator
        could start it, and a program that forks later would find it unusable in the child."""
        if self._type is None:
            known = hasattr(torch, "accelerator") and torch.accelerator.current_accelerator()
            self._type = known.type if known else ""
        return device.type == self._type

    def is_recorded(self, device):
        """Whether what runs now is recorded to run later: a copy would have no elements yet, and
        to wait for it would break the recording."""
        return device.type == "cuda" and torch.cuda.is_current_stream_capturing()

    def copy(self, source, copy):
        """Begins the copy and returns its stream, the current one of the source's device.

        Whatever changes or frees the source afterwards, an optimizer in place or the caching
        allocator, does so on a stream that runs behind this copy; a side stream would have to be
        waited for by each of them. So `record_stream` is not needed either.
        """
        copy.copy_(source, non_blocking=True)
        return torch.accelerator.current_stream(source.device)

    def make_event(self, device):
        return torch.Event(device.type)
