"""`LateNumbers`: numbers fetched from devices together, so that no step waits for its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smdebug.tensorflow.keras.step_backend import backend

# As many steps may wait, with a sum, a count and a learning rate of one replica each.
_MOST_LATE = 3 * 64


class LateNumbers:
    """Numbers in the order in which they were added."""

    def __init__(self) -> None:
        self._waiting: list[tuple[list[Any], Callable[[list[float]], None]]] = []
        self._count = 0

    def add(self, numbers: list[Any], take: Callable[[list[float]], None]) -> None:
        """Adds tensors with one element. `take` gets their values later."""
        self._waiting.append((numbers, take))
        self._count += len(numbers)

    @property
    def are_many(self) -> bool:
        """Whether to fetch them now, saved step or not."""
        return self._count >= _MOST_LATE

    def fetch(self) -> None:
        """Passes on the values of all numbers."""
        waiting, self._waiting, self._count = self._waiting, [], 0
        if not waiting:
            return
        values = backend.numbers([each for numbers, _ in waiting for each in numbers])
        begin = 0
        for numbers, take in waiting:
            end = begin + len(numbers)
            take(values[begin:end])
            begin = end
