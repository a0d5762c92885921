"""Import path of the original library."""

from smdebug.log import get_logger

__all__ = ["get_logger"]
