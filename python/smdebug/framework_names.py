"""`FRAMEWORK`: the frameworks that smdebug supports, by name."""

from enum import Enum


class FRAMEWORK(Enum):
    """A framework; its value is the name of its adapter's folder."""

    PYTORCH = "pytorch"
    TENSORFLOW = "tensorflow"
    MXNET = "mxnet"
    XGBOOST = "xgboost"
