"""`FRAMEWORK`: the frameworks that smdebug watches, by name."""

from enum import Enum


class FRAMEWORK(Enum):
    PYTORCH = "pytorch"
    TENSORFLOW = "tensorflow"
    MXNET = "mxnet"
    XGBOOST = "xgboost"
