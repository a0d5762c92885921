"""Import path of the original library."""

from smdebug.error_handling_agent import BASE_ERROR_MESSAGE, ErrorHandlingAgent

__all__ = ["BASE_ERROR_MESSAGE", "ErrorHandlingAgent"]
