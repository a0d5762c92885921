"""`Rows`: where kernels write the statistics of tensors, in pinned memory."""

from __future__ import annotations

import torch

from smdebug.pytorch.device.device_statistics import NUMBERS
from smdebug.pytorch.device.pinned_memory import PinnedMemory

_ROWS_OF_BLOCK = 512
_ROW_BYTES = 8 * NUMBERS


class Rows:
    """Rows of ten float64 numbers, allocated one after another until `take`. A tensor of its own
    for each would take longer than the kernel. Not thread-safe."""

    def __init__(self, memory: PinnedMemory) -> None:
        self._memory = memory
        self._blocks: list[torch.Tensor] = []
        self._count = 0
        self._address = 0  # of the last block

    def allocate(self) -> tuple[int, int] | None:
        """Returns the number of the next row, from 0, and its address. None if there is no
        memory that a device can write to."""
        at = self._count % _ROWS_OF_BLOCK
        if at == 0:
            block = self._memory.allocate((_ROWS_OF_BLOCK, NUMBERS), torch.float64)
            if block is None or not self._memory.is_pinnable:
                return None
            self._blocks.append(block)
            self._address = block.data_ptr()
        self._count += 1
        return self._count - 1, self._address + at * _ROW_BYTES

    def take(self) -> list[list[float]]:
        """Returns all rows, by number, and frees them: before the memory is rewound."""
        rows = []
        for block in self._blocks:
            rows += block[: self._count - len(rows)].tolist()
        self._blocks, self._count = [], 0
        return rows
