"""Recognizes a model that a script trains after the recorded ones, such as that of the next fold of
a cross-validation.

An optimizer that acts for the first time, and updates none of the recorded models, shows that there
is another one. So does a model that trains and was not called before the first update. Its second
call shows which kind it is: if a recorded model was called in between, both train in one loop, like
an actor and its critic. Otherwise the training of the recorded models has ended.
"""

from __future__ import annotations

import enum
import weakref
from typing import Any

import torch

# Backward passes in which the other model must be called.
_MOST_BACKWARDS = 16


class Place(enum.Enum):
    """Where a model that was found late belongs."""

    UNKNOWN = enum.auto()
    BESIDE = enum.auto()  # it trains in turn with the recorded models
    AFTER = enum.auto()  # it trains after them


class LaterModels:
    """Searches for the next model of a script."""

    def __init__(self) -> None:
        self.is_searching: bool = False
        self._optimizers: dict[int, weakref.ref[Any]] = {}  # by id: they need not be hashable
        self._former: dict[int, weakref.ref[torch.nn.Module]] = {}  # roots of runs that have ended
        # Models that were called, and the calls of the recorded models until then.
        self._found: dict[int, tuple[weakref.ref[torch.nn.Module], int]] = {}
        self._calls_at_begin = -1
        self._backwards = 0

    def is_first_update(self, optimizer: Any) -> bool:
        """Whether `optimizer` has not been given before in this run."""
        return _is_added(self._optimizers, optimizer)

    def begin(self, calls: int) -> None:
        """Begins a search. `calls` are those of the recorded models until now."""
        self.is_searching = True
        self._found = {}
        self._calls_at_begin = calls
        self._backwards = 0

    def trains(self, calls: int) -> bool:
        """Whether what happens now belongs to another model: no recorded model was called since the
        search began."""
        return calls == self._calls_at_begin

    def gives_up(self, calls: int) -> bool:
        """Call before each backward pass. Returns whether the search ends here without a model that
        trains, for example because its layers are called one by one."""
        self._backwards += 1
        if not self.is_searching or self._backwards < _MOST_BACKWARDS:
            return False
        self.is_searching = False
        return self.trains(calls)

    def note_end_of(self, roots: list[torch.nn.Module]) -> None:
        """Notes models whose run has ended: it does not begin again. To the next run, every
        optimizer is new."""
        self._optimizers = {}
        for root in roots:
            _is_added(self._former, root)

    def was_recorded(self, root: torch.nn.Module) -> bool:
        """Whether the run of `root` has ended."""
        reference = self._former.get(id(root))
        return reference is not None and reference() is root

    def place_of(self, root: torch.nn.Module, calls: int | None) -> Place:
        """Returns where a model belongs that is called now. `calls` are those of the recorded
        models until now; None if their run has ended. Ends the search unless it is unknown."""
        place = Place.AFTER
        if calls is not None:
            found, calls_before = self._found.get(id(root), (None, 0))
            if found is None or found() is not root:
                self._found[id(root)] = weakref.ref(root), calls
                return Place.UNKNOWN
            if calls != calls_before:
                place = Place.BESIDE
        self.is_searching = False
        self._calls_at_begin = -1
        return place


def _is_added(references: dict[int, weakref.ref[Any]], value: Any) -> bool:
    """Adds `value`, which is kept alive by others. Returns whether it is new."""
    reference = references.get(id(value))
    if reference is not None and reference() is value:
        return False
    references[id(value)] = weakref.ref(value)
    return True
