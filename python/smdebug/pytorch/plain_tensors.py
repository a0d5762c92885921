"""Which tensors can be read without an effect on the training."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.compiler import is_compiling

# Devices on which reading a number computes nothing else.
_DEVICES = ("cpu", "cuda", "mps", "xpu")


def can_read(tensor: torch.Tensor) -> bool:
    """Whether reading the elements of the tensor has no effect."""
    if is_compiling() or tensor.device.type not in _DEVICES:
        return False
    return not (tensor.is_cuda and torch.cuda.is_current_stream_capturing())


def is_plain(tensor: Any) -> bool:
    """Whether an operation on the tensor runs at once and in this process only."""
    return type(tensor) in (torch.Tensor, nn.Parameter) and tensor.layout is torch.strided
