"""Import path of the original library."""

from smdebug.reduction_config import ALLOWED_NORMS, ALLOWED_REDUCTIONS, ReductionConfig

__all__ = ["ALLOWED_NORMS", "ALLOWED_REDUCTIONS", "ReductionConfig"]
