"""The statistics of a tensor, made on the accelerator that it lies on.

Where a run keeps of a tensor only what `_core.TensorStatistics` holds, its elements stay where they
are: operations of torch make ten numbers of each piece of it, and those are copied to host memory.
Nothing here waits for the device, and no shape depends on values.

All is computed in float64, from any dtype, as the core does in host memory: counts and bounds are
the same, sums and the absolutes of complex numbers to rounding. A device without float64 (mps)
raises, and its elements are copied: squares in float32 would leave its range from 1e19 on and
below 1e-19.
"""

import torch

from smdebug import _core

# The statistics of a piece take 22 launches (28 of float64): a tenth of a millisecond of the
# program's time, estimated, whatever its size. To go through a megabyte in host memory takes as
# long: what is smaller is copied.
_LEAST_BYTES = 1 << 20

# Of a piece. Up to four float64 tensors of that size are held meanwhile, 64 MiB of the device.
_MOST_ELEMENTS = 1 << 21

_INFINITY = float("inf")

# By numpy's names, as the core has them.
_NAMES = {
    getattr(torch, name): name
    for name in (
        *("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("bool", "complex64", "complex128"),
    )
    if hasattr(torch, name)
}

# Their sum may leave the range of float64 where their mean does not.
_WIDE = (torch.float64, torch.complex128)


def are_worth_it(tensor):
    """Whether statistics on the device cost less than a copy of the elements."""
    return tensor.nbytes >= _LEAST_BYTES and tensor.dtype in _NAMES


def begin_statistics(tensor):
    """Has the device begin with the statistics of a strided tensor that is not empty.

    Returns a flat float64 tensor on the device, for `put_statistics` once it was copied to host
    memory. Raises what torch raises where the device cannot do it.
    """
    plain = tensor.detach().as_subclass(torch.Tensor)
    return torch.stack([number for piece in _pieces(plain) for number in _numbers_of(piece)])


def put_statistics(slot, dtype, shape, numbers):
    """Captures in `slot`, a TensorSlot, the tensor that `numbers` were made of."""
    whole = _core.TensorStatistics()
    for row in numbers.view(-1, _NUMBERS).tolist():
        whole.merge(_statistics_from(*row))
    slot.put_statistics(_NAMES[dtype], shape, whole)


def _pieces(tensor):
    """Views that make up `tensor`, none of more than _MOST_ELEMENTS."""
    if tensor.numel() <= _MOST_ELEMENTS:
        yield tensor
        return
    if tensor.is_contiguous():
        tensor = tensor.view(-1)
    rows = _MOST_ELEMENTS // (tensor.numel() // len(tensor))
    for part in tensor.split(max(1, rows)):
        yield from _pieces(part if rows else part[0])


def _numbers_of(piece):
    """What `_statistics_from` takes, as float64 tensors without dimensions."""
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


_NUMBERS = 10


def _in_float64(piece):
    if not piece.is_complex():
        return piece.to(torch.float64)
    # Complex elements count by their absolute value, infinite where either part is.
    return torch.hypot(piece.real.to(torch.float64), piece.imag.to(torch.float64))


def _count_nonzero(values):
    # torch.count_nonzero makes a tensor of int64 in between.
    return torch.linalg.vector_norm(values, ord=0)


def _statistics_from(
    count,
    count_others,
    sum_signs,
    count_infinite,
    count_nonzero,
    least,
    greatest,
    mean,
    m2,
    sum_abs,
):
    """The statistics of a piece; the counts of the first five are of finite elements, of others,
    of infinite ones and of finite ones that are not 0, `sum_signs` is that of the infinite ones."""
    return _core.TensorStatistics(
        count=int(count + count_others),
        nan=int(count_others - count_infinite),
        positive_inf=int(count_infinite + sum_signs) // 2,
        negative_inf=int(count_infinite - sum_signs) // 2,
        zeros=int(count - count_nonzero),
        min=least if count else 0.0,
        max=greatest if count else 0.0,
        mean=mean,
        m2=m2,
        sum_abs=sum_abs,
        sum_squares=m2 + count * mean * mean,
    )
