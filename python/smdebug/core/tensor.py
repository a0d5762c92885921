"""Import path of the original library."""

from smdebug._core import StepState
from smdebug.trials.tensor import Tensor

__all__ = ["StepState", "Tensor"]
