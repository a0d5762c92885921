"""Import path of the original library."""

from smdebug._core import ModeKeys

__all__ = ["ModeKeys"]
