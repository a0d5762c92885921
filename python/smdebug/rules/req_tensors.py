"""Import path of the original library."""

from smdebug.rules.required_tensors import RequiredTensors

__all__ = ["RequiredTensors"]
