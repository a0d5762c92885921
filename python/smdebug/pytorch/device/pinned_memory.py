"""`PinnedMemory`: host memory that an accelerator copies to, reused from step to step."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from smdebug.log import get_logger

_logger = get_logger()

_ALIGNMENT = 512  # a view of any dtype may begin there
_FIRST_BLOCK_BYTES = 1 << 20


class PinnedMemory:
    """Allocates buffers one after another, until `rewind` frees all of them at once.

    The memory is pinned, so that a device can write to it while the program continues. If memory
    cannot be pinned, ordinary memory is used, with one log message. The memory grows to what the
    largest step needs, up to `most_bytes`. Not thread-safe.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._blocks: list[torch.Tensor] = []  # flat, of bytes; the last one is being filled
        self._used_bytes = 0  # of the last block; 0: nothing is in use
        self._next_bytes = _FIRST_BLOCK_BYTES
        self.is_pinnable: bool = True  # as far as known

    @property
    def held_bytes(self) -> int:
        """The size of all blocks in bytes."""
        return sum(block.numel() for block in self._blocks)

    def allocate(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor | None:
        """Returns a contiguous, uninitialized tensor, which is valid until `rewind`.

        Returns None if there is no space until `rewind` was called, or not even then.
        """
        count_bytes = math.prod(shape) * dtype.itemsize
        padded = max(1, -(-count_bytes // _ALIGNMENT)) * _ALIGNMENT
        if not self._blocks or self._used_bytes + padded > self._blocks[-1].numel():
            if not self._add_block(padded):
                return None
        begin = self._used_bytes
        self._used_bytes += padded
        return self._blocks[-1][begin : begin + count_bytes].view(dtype).view(shape)

    def rewind(self) -> None:
        """Frees all tensors that `allocate` returned."""
        if len(self._blocks) > 1:  # the next step is likely to need as much: in one piece
            self._next_bytes = self.held_bytes
            self._blocks = []
        self._used_bytes = 0

    def _add_block(self, least_bytes: int) -> bool:
        if least_bytes > self._most_bytes:
            return False
        if self._blocks and not self._used_bytes:
            self._blocks = []  # nothing is in use: a larger block replaces them
        left = self._most_bytes - self.held_bytes
        if least_bytes > left:
            return False
        wanted = max(least_bytes, self.held_bytes, self._next_bytes)
        self._blocks.append(self._make_block(min(wanted, left)))
        self._used_bytes = 0
        return True

    def _make_block(self, count_bytes: int) -> torch.Tensor:
        # Tensors made in inference mode cannot be written to outside of it.
        with torch.inference_mode(False):
            if self.is_pinnable:
                try:
                    return pinned(count_bytes)
                except RuntimeError as error:
                    self.is_pinnable = False
                    _logger.warning(
                        "host memory for copies from the device cannot be pinned, so copies take "
                        "longer: %s",
                        str(error).partition("\n")[0],
                    )
            return torch.empty(count_bytes, dtype=torch.uint8, device="cpu")


def pinned(count_bytes: int) -> torch.Tensor:
    """Returns pinned host memory, as a flat tensor of bytes. Raises RuntimeError if it cannot be
    allocated."""
    return torch.empty(count_bytes, dtype=torch.uint8, device="cpu", pin_memory=True)
