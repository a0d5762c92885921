"""`GradientLimits`: the limits to which a loop clips its gradients. See `LoopFacts` in
include/smdebug/core/run_facts.h."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class _Limits:
    norm: float | None = None  # of all gradients together
    value: float | None = None  # of each element


class GradientLimits:
    """The limits that each update of a training has in common. They are unknown, and remain so,
    once an update had others, a kind of clipping twice, or one of only some of its parameters."""

    def __init__(self) -> None:
        self._common: _Limits | None = None  # of the updates so far; none so far
        self._next = _Limits()  # of the update that follows
        # The fewest parameters that a clipping of that update took; none so far.
        self._fewest: int | None = None
        self._is_unknown = False

    @property
    def norm(self) -> float | None:
        """The largest norm of all gradients together; None if it is not limited, or unknown."""
        return self._common.norm if self._common is not None and not self._is_unknown else None

    @property
    def value(self) -> float | None:
        """The largest element of a gradient; None if it is not limited, or unknown."""
        return self._common.value if self._common is not None and not self._is_unknown else None

    def give_up(self) -> bool:
        """Makes the limits unknown. Returns whether that is news."""
        is_news = self.norm is not None or self.value is not None
        self._is_unknown = True
        return is_news

    def note_clipping(self, is_of_norm: bool, parameters: int, limit: Any) -> None:
        """Notes a clipping of the gradients of some parameters."""
        if self._is_unknown or (isinstance(limit, float) and math.isinf(limit)):
            return
        known = self._next.norm if is_of_norm else self._next.value
        if known is not None or not isinstance(limit, (int, float)):
            parameters = 0  # unknown
        elif is_of_norm:
            self._next = replace(self._next, norm=float(limit))
        else:
            self._next = replace(self._next, value=float(limit))
        self._fewest = parameters if self._fewest is None else min(self._fewest, parameters)

    def note_update(self, optimizer: Any) -> bool:
        """Notes that an optimizer is about to act. Returns whether the limits have changed."""
        if self._is_unknown:
            return False
        limits, fewest = self._next, self._fewest
        if fewest is not None:
            self._next, self._fewest = _Limits(), None
            if fewest < sum(len(group["params"]) for group in optimizer.param_groups):
                return self.give_up()
        if self._common is None:
            self._common = limits
            return fewest is not None
        return limits != self._common and self.give_up()
