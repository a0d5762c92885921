"""`PinnedMemory`: host memory that an accelerator copies to, reused from step to step."""

import math

import torch

from smdebug.log import get_logger

logger = get_logger()

_ALIGNMENT = 512  # a view of any dtype may begin there
_FIRST_BLOCK_BYTES = 1 << 20


class PinnedMemory:
    """Hands out room, piece after piece, until `rewind` takes all of it back at once.

    Memory is pinned, so that a device writes to it while the program goes on; where it cannot be,
    ordinary memory serves, which is said once. It grows with what the largest step needs, up to
    `most_bytes`. One thread at a time.
    """

    def __init__(self, most_bytes):
        self._most_bytes = most_bytes
        self._blocks = []  # flat tensors of bytes; the last one is being filled
        self._used_bytes = 0  # of the last block; 0: nothing is in use
        self._next_bytes = _FIRST_BLOCK_BYTES
        self._is_pinnable = True

    @property
    def held_bytes(self):
        """The size of all blocks."""
        return sum(block.numel() for block in self._blocks)

    def room_for(self, shape, dtype):
        """A contiguous tensor of that shape and dtype, elements undefined; None where there is no
        room until `rewind` was called, or none at all. What was handed out is valid until then."""
        count_bytes = math.prod(shape) * dtype.itemsize
        padded = max(1, -(-count_bytes // _ALIGNMENT)) * _ALIGNMENT
        if not self._blocks or self._used_bytes + padded > self._blocks[-1].numel():
            if not self._add_block(padded):
                return None
        begin = self._used_bytes
        self._used_bytes += padded
        return self._blocks[-1][begin : begin + count_bytes].view(dtype).view(shape)

    def rewind(self):
        """Nothing that was handed out is used any more."""
        if len(self._blocks) > 1:  # the next step is likely to need as much: in one piece
            self._next_bytes = self.held_bytes
            self._blocks = []
        self._used_bytes = 0

    def _add_block(self, least_bytes):
        if least_bytes > self._most_bytes:
            return False
        if self._blocks and not self._used_bytes:
            self._blocks = []  # nothing is in use: a larger one takes its place
        left = self._most_bytes - self.held_bytes
        if least_bytes > left:
            return False
        wanted = max(least_bytes, self.held_bytes, self._next_bytes)
        self._blocks.append(self._allocate(min(wanted, left)))
        self._used_bytes = 0
        return True

    def _allocate(self, count_bytes):
        # Memory of an inference mode could not be written to outside of it.
        with torch.inference_mode(False):
            if self._is_pinnable:
                try:
                    return pinned(count_bytes)
                except RuntimeError as error:
                    self._is_pinnable = False
                    logger.warning(
                        "no pinned memory for copies from the device, they take longer: %s",
                        str(error).partition("\n")[0],
                    )
            return torch.empty(count_bytes, dtype=torch.uint8, device="cpu")


def pinned(count_bytes):
    """Pinned host memory, a flat tensor of bytes. Raises RuntimeError where there is none."""
    return torch.empty(count_bytes, dtype=torch.uint8, device="cpu", pin_memory=True)
