"""`SummedPasses`: the backward passes whose gradients each update adds up without a division."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from smdebug.pytorch.private_names import node_name

_ENOUGH_UPDATES, _WATCHED_UPDATES = 3, 5  # the updates that must agree
_DIVISIONS = ("Div", "Mul")


class SummedPasses:
    """Counts the backward passes of the first updates, if one optimizer makes them all."""

    def __init__(self) -> None:
        self.count: int | None = None  # None: unknown, one, or the losses are divided
        self._passes = 0  # since the last update
        self._counts: list[int] = []
        self._optimizer: Any = None
        self._is_on = True

    def note_backward(self, start: torch.Tensor | None) -> None:
        """Notes a backward pass that starts from one number."""
        if self._is_on:
            self._passes += 1
            # A number without a graph, or several: nothing is known.
            node = None if start is None else start.grad_fn
            self._is_on = node is not None and node_name(node) not in _DIVISIONS

    def note_update(self, optimizer: Any) -> bool:
        """Notes an update. Returns whether `count` has changed."""
        if not self._is_on:
            return False
        if self._optimizer is None:
            self._optimizer = weakref.ref(optimizer)
        self._counts.append(self._passes)
        self._passes = 0
        is_same = self._optimizer() is optimizer and len(set(self._counts)) == 1
        self._is_on = is_same and len(self._counts) < _WATCHED_UPDATES
        is_known = is_same and len(self._counts) >= _ENOUGH_UPDATES and self._counts[0] > 1
        before, self.count = self.count, self._counts[0] if is_known else None
        return self.count != before
