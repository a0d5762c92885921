"""The statistics of a tensor, computed on the accelerator that holds it.

If a run keeps only the members of `_core.TensorStatistics` of a tensor, its elements stay on the
device: torch reduces each piece of the tensor to ten numbers, and those are copied to host memory.
Nothing here waits for the device, and no shape depends on values.

All numbers are computed in float64, whatever the dtype, as in the core: counts and bounds are the
same, sums and the absolute values of complex numbers agree up to rounding. A device without float64
(mps) raises, and the elements are copied instead: squares in float32 would leave its range from
1e19 on and below 1e-19.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from smdebug import _core

# The statistics of a piece take 22 launches (28 for float64), whatever its size. A smaller tensor
# is copied and reduced in host memory in less time (benchmarks/device_statistics.py).
_LEAST_BYTES = 3 << 20

# Of a piece. Up to four float64 tensors of that size exist meanwhile, 64 MiB on the device.
_MOST_ELEMENTS = 1 << 21

_INFINITY = float("inf")

# The names of dtypes in numpy and in the core.
_NAMES = {
    getattr(torch, name): name
    for name in (
        *("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("bool", "complex64", "complex128"),
    )
    if hasattr(torch, name)
}

# Their sum may leave the range of float64 although their mean does not.
_WIDE = (torch.float64, torch.complex128)


def are_worth_it(tensor: torch.Tensor) -> bool:
    """Returns whether statistics on the device cost less than a copy of the elements."""
    return tensor.nbytes >= _LEAST_BYTES and tensor.dtype in _NAMES


def begin_statistics(tensor: torch.Tensor) -> torch.Tensor:
    """Starts to compute the statistics of a strided tensor that is not empty.

    Returns a flat float64 tensor on the device. Pass a copy of it in host memory to
    `put_statistics`. Raises what torch raises if the device does not support an operation.
    """
    plain = tensor.detach().as_subclass(torch.Tensor)
    return torch.stack([number for piece in _pieces(plain) for number in _numbers_of(piece)])


def put_statistics(
    slot: _core.TensorSlot, dtype: torch.dtype, shape: Sequence[int], numbers: torch.Tensor
) -> None:
    """Captures a tensor of that dtype and shape in `slot`, by the `numbers` of its statistics."""
    whole = _core.TensorStatistics()
    for row in numbers.view(-1, NUMBERS).tolist():
        whole.merge(_statistics_from(row))
    slot.put_statistics(_NAMES[dtype], shape, whole)


def put_row(
    slot: _core.TensorSlot, dtype: torch.dtype, shape: Sequence[int], row: list[float]
) -> None:
    """As `put_statistics`, with the row of a tensor in one piece."""
    slot.put_statistics(_NAMES[dtype], shape, _statistics_from(row))


def _pieces(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """Views that make up `tensor`, each of at most _MOST_ELEMENTS."""
    if tensor.numel() <= _MOST_ELEMENTS:
        yield tensor
        return
    if tensor.is_contiguous():
        tensor = tensor.view(-1)
    rows = _MOST_ELEMENTS // (tensor.numel() // len(tensor))
    for part in tensor.split(max(1, rows)):
        yield from _pieces(part if rows else part[0])


def _numbers_of(piece: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The row that `_statistics_from` takes, as float64 tensors without dimensions."""
    values = _in_float64(piece)
    finite = values.nan_to_num(0.0, 0.0, 0.0)  # 0 in place of all others
    others = values - finite  # NaN and infinities, 0 in place of all finite ones
    count_others = _count_nonzero(others)
    signs = others.nan_to_num_(0.0, 1.0, -1.0)  # of infinities
    sum_signs, count_infinite = signs.sum(), _count_nonzero(signs)
    del others, signs

    count = piece.numel() - count_others
    total, at_least_one = finite.sum(), count.clamp(min=1.0)
    mean = total / at_least_one
    if piece.dtype in _WIDE:
        mean = torch.where(total.isfinite(), mean, (finite / at_least_one).sum())
    count_nonzero, sum_abs = _count_nonzero(finite), finite.abs().sum()
    del finite

    least = values.nan_to_num(_INFINITY, _INFINITY, _INFINITY).amin()
    greatest = values.nan_to_num(-_INFINITY, -_INFINITY, -_INFINITY).amax()
    distances = (values - mean).nan_to_num_(0.0, 0.0, 0.0)
    m2 = distances.square_().sum()
    return (
        *(count, count_others, sum_signs, count_infinite, count_nonzero),
        *(least, greatest, mean, m2, sum_abs),
    )


NUMBERS = 10  # in a row


def _in_float64(piece: torch.Tensor) -> torch.Tensor:
    if not piece.is_complex():
        return piece.to(torch.float64)
    # A complex element counts by its absolute value, which is infinite if either part is.
    return torch.hypot(piece.real.to(torch.float64), piece.imag.to(torch.float64))


def _count_nonzero(values: torch.Tensor) -> torch.Tensor:
    # torch.count_nonzero allocates a tensor of int64 of the same shape.
    return torch.linalg.vector_norm(values, ord=0)


def _statistics_from(row: list[float]) -> _core.TensorStatistics:
    """The statistics of a piece, from the counts of its finite elements, of all others, of infinite
    elements (and the sum of their signs) and of finite elements that are not 0; then the moments of
    the finite elements."""
    finite, others, sum_signs, infinite, nonzero, least, greatest, mean, m2, sum_abs = row
    return _core.TensorStatistics(
        count=int(finite + others),
        nan=int(others - infinite),
        positive_inf=int(infinite + sum_signs) // 2,
        negative_inf=int(infinite - sum_signs) // 2,
        zeros=int(finite - nonzero),
        min=least if finite else 0.0,
        max=greatest if finite else 0.0,
        mean=mean,
        m2=m2,
        sum_abs=sum_abs,
        sum_squares=m2 + finite * mean * mean,
    )
