"""Import path of the original library."""

from smdebug.error_handling_agent import error_handling_agent
from smdebug.framework_names import FRAMEWORK

__all__ = ["FRAMEWORK", "error_handling_agent"]
