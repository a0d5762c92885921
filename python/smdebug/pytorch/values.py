"""The values that a script passes to a hook for PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from smdebug.array_values import NotTaken
from smdebug.pytorch.shards import local_part


def readable(value: Any) -> Any:
    """Returns a list with tensors in it as one tensor, and any other value unchanged. Raises
    NotTaken if they do not fit together, and for a parameter of a lazy module before its first
    call."""
    if isinstance(value, torch.Tensor) and torch.nn.parameter.is_lazy(value):
        raise NotTaken("the parameter has no values before the first call of its module")
    if not isinstance(value, (list, tuple)) or not _has_tensors(value):
        return value
    try:
        with torch.no_grad():
            return _stacked(value)
    except Exception as error:
        raise NotTaken(f"its tensors cannot be stacked: {error}") from None


def readable_number(value: Any) -> Any:
    """Returns a tensor, or a list with one tensor in it, such that its `item` works: the part of a
    DTensor in this process, a dense or dequantized tensor. Any other value is unchanged."""
    value = readable(value)
    if not isinstance(value, torch.Tensor):
        return value
    try:
        with torch.no_grad():
            part = local_part(value)
            tensor = value if part is None else part[0]
            if tensor.is_quantized:
                return tensor.dequantize()
            return tensor if tensor.layout is torch.strided else tensor.to_dense()
    except Exception as error:
        raise NotTaken(f"its value cannot be read: {error}") from None


def _has_tensors(values: list[Any] | tuple[Any, ...]) -> bool:
    return any(
        _has_tensors(each) if isinstance(each, (list, tuple)) else isinstance(each, torch.Tensor)
        for each in values
    )


def _stacked(values: list[Any] | tuple[Any, ...]) -> torch.Tensor:
    parts = [
        _stacked(each) if isinstance(each, (list, tuple)) else torch.as_tensor(each).detach().cpu()
        for each in values
    ]
    return torch.stack(
        [each if each.layout is torch.strided else each.to_dense() for each in parts]
    )
