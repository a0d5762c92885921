"""`TensorSummary`: one tensor at one step, in a few numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class TensorSummary:
    """The result of `Tensor.summary`, in Python ints and floats.

    `count` elements, of which `nan`, `positive_inf`, `negative_inf` and `zeros` have that value.
    The others describe the finite elements, so that one NaN does not hide the rest: `min`, `max`,
    `mean`, `std` (of the population), `l1` and `l2` (norms of the flattened tensor). Without any
    finite element they are NaN, and 0.0 for the norms. Complex elements count by their absolute
    value.
    """

    count: int
    nan: int
    positive_inf: int
    negative_inf: int
    zeros: int
    min: float
    max: float
    mean: float
    std: float
    l1: float
    l2: float

    @classmethod
    def from_statistics(cls, statistics: Mapping[str, float]) -> TensorSummary:
        """A summary of the statistics that a run keeps of a tensor (docs/format.md)."""
        s = statistics
        finite = s["count"] - s["nan"] - s["positive_inf"] - s["negative_inf"]
        return cls(
            count=s["count"],
            nan=s["nan"],
            positive_inf=s["positive_inf"],
            negative_inf=s["negative_inf"],
            zeros=s["zeros"],
            min=s["min"] if finite else math.nan,
            max=s["max"] if finite else math.nan,
            mean=s["mean"] if finite else math.nan,
            std=math.sqrt(s["m2"] / finite) if finite else math.nan,
            l1=s["sum_abs"],
            l2=math.sqrt(s["sum_squares"]),
        )
