"""Tensors that are spread over processes: torch's DTensor, and what fully_shard makes of a model.

What is recorded is the part that lies in this process, with its place in the whole beside it, so
that a reader can put the statistics of all parts together. Nothing is gathered: no call here is a
collective.
"""

import math
import sys

import torch

from smdebug import _core
from smdebug.pytorch.private_names import fsdp_parameters


def local_part(tensor):
    """What the core asks of a tensor without elements of its own.

    Returns (local tensor, shape of the whole, offsets) of a DTensor; shape and offsets are None
    where the part is the whole, or is no box of it, as with partial sums. None for other tensors.
    """
    if not hasattr(tensor, "placements") or not hasattr(tensor, "to_local"):
        return None
    with torch.no_grad():
        part = tensor.to_local()
    if hasattr(part, "trigger_wait"):  # what redistributes it is still on its way
        part = part.trigger_wait()
    offsets = offsets_of_part(
        tensor.shape, tensor.device_mesh.shape, tensor.device_mesh.get_coordinate(),
        tensor.placements, part.shape,
    )  # fmt: skip
    return part.detach(), offsets and list(tensor.shape), offsets


def offsets_of_part(shape, mesh_shape, coordinate, placements, part_shape):
    """Where a part of shape `part_shape` begins in a tensor of shape `shape` that is cut along
    each dimension of a mesh as `placements` say, as torch.chunk cuts; `coordinate` is this
    process's place in the mesh.

    None where nothing is cut, and where the parts are no boxes that make up the whole.
    """
    from torch.distributed.tensor import Replicate, Shard

    if coordinate is None:
        return None
    cuts = list(zip(placements, mesh_shape, coordinate, strict=True))
    if any(type(placement).__name__ == "_StridedShard" for placement in placements):
        cuts = _without_strides(shape, cuts)
    begin, extent = [0] * len(shape), list(shape)
    for placement, processes, position in cuts:
        if type(placement) is Replicate:
            continue
        if type(placement) is not Shard:  # partial sums, strides that leave no box
            return None
        dim = placement.dim
        chunk = -(-extent[dim] // processes)
        first = min(position * chunk, extent[dim])
        begin[dim] += first
        extent[dim] = min(chunk, extent[dim] - first)
    is_cut = any(type(placement) is Shard for placement, _, _ in cuts)
    return begin if is_cut and tuple(extent) == tuple(part_shape) else None


def _without_strides(shape, cuts):
    """The same parts as cuts without strides, in another order, where they are boxes.

    fully_shard over a tensor that is cut along the same dimension already (tensor parallelism) says
    so by a stride: of each of `split_factor` pieces its processes have a part. It is the inner cut
    then, although its dimension of the mesh is the outer one.
    """
    from torch.distributed.tensor import Shard

    outer, inner = [], []
    for number, (placement, processes, position) in enumerate(cuts):
        if type(placement).__name__ != "_StridedShard":
            outer.append((placement, processes, position))
            continue
        dim = placement.dim
        pieces = math.prod(
            count
            for other, count, _ in cuts[number + 1 :]
            if type(other) is Shard and other.dim == dim
        )
        is_even = shape[dim] % (pieces * processes) == 0
        is_box = is_even and pieces == getattr(placement, "split_factor", None)
        inner.append((Shard(dim) if is_box else placement, processes, position))
    return outer + inner


def managed_parameters(root):
    """The parameters of `root` that fully_shard manages: (module, key) -> (owner, key of owner)
    of the shard. While the module computes it holds the whole parameter, gathered for the moment.
    """
    if "torch.distributed.fsdp" not in sys.modules:
        return {}
    from torch.distributed.fsdp import FSDPModule

    found = {}
    for module in root.modules():
        if isinstance(module, FSDPModule):
            found.update(fsdp_parameters(module))
    return found


def class_name(module):
    """The name of the user's class: fully_shard puts one of its own in front of it."""
    if "torch.distributed.fsdp" not in sys.modules:
        return type(module).__name__
    from torch.distributed.fsdp import FSDPModule

    return next(c.__name__ for c in type(module).__mro__ if not issubclass(c, FSDPModule))


_core.set_local_part(local_part)
