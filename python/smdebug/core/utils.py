"""Import path of the original library."""

from smdebug.error_handling_agent import error_handling_agent
from smdebug.framework_names import FRAMEWORK
from smdebug.log import get_logger
from smdebug.trials.s3_trial import is_s3

__all__ = ["FRAMEWORK", "error_handling_agent", "get_logger", "is_s3"]
