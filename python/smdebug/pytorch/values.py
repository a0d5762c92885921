"""The values that a script passes to a hook for PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from smdebug.array_values import NotTaken, check_depth
from smdebug.pytorch.shards import local_part

_LAYOUTS_WITH_STRIDES = (torch.strided, torch.jagged)


def readable(value: Any) -> Any:
    """Returns a list with tensors in it as one tensor, and any other value unchanged. Raises
    NotTaken if they do not fit together."""
    if not isinstance(value, (list, tuple)):
        return value
    check_depth(value)
    if not _has_tensors(value):
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
            tensor = _plain(value if part is None else part[0])
            return tensor.dequantize() if tensor.is_quantized else tensor
    except NotTaken:
        raise
    except Exception as error:
        raise NotTaken(f"its value cannot be read: {error}") from None


def _has_tensors(values: list[Any] | tuple[Any, ...]) -> bool:
    return any(
        _has_tensors(each) if isinstance(each, (list, tuple)) else isinstance(each, torch.Tensor)
        for each in values
    )


def _stacked(values: list[Any] | tuple[Any, ...]) -> torch.Tensor:
    return torch.stack(
        [
            _stacked(each)
            if isinstance(each, (list, tuple))
            else _plain(torch.as_tensor(each)).detach().cpu()
            for each in values
        ]
    )


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor, or the dense form of a sparse one. Raises for what torch does not check
    before it reads memory: elements that were freed, and indices outside of the shape."""
    if torch.nn.parameter.is_lazy(tensor):
        raise NotTaken("the parameter has no values before the first call of its module")
    if _is_freed(tensor):
        raise NotTaken("its memory was freed")
    if tensor.layout is torch.sparse_coo:
        indices, values, shape = tensor._indices(), tensor._values(), tensor.shape
        tensor = torch.sparse_coo_tensor(indices, values, shape, check_invariants=True)
    return tensor if tensor.layout in _LAYOUTS_WITH_STRIDES else tensor.to_dense()


def _is_freed(tensor: torch.Tensor) -> bool:
    """Whether a tensor has lost its memory, as the parameters of FSDP do between their uses."""
    if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        return False  # its elements are in other tensors
    try:
        return tensor.numel() > 0 and tensor.untyped_storage().nbytes() == 0
    except Exception:  # it has no memory of its own: sparse, nested, or of a function transform
        return False
