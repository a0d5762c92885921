"""`ReductionConfig`: what is saved of a tensor in place of its elements."""

from smdebug._core import ReductionConfig

ALLOWED_REDUCTIONS = ["min", "max", "median", "mean", "std", "variance", "sum", "prod"]
ALLOWED_NORMS = ["l1", "l2"]

__all__ = ["ALLOWED_NORMS", "ALLOWED_REDUCTIONS", "ReductionConfig"]
