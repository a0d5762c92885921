"""Tensors that are distributed over processes: DTensor, and the models of fully_shard.

Each process records its own part, with the position of the part in the whole tensor, so that a
reader can combine the statistics of all parts. Nothing is gathered: no call here is a collective.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import torch

from smdebug import _core
from smdebug.pytorch.private_names import fsdp_parameters


def local_part(
    tensor: torch.Tensor,
) -> tuple[torch.Tensor, list[int] | None, list[int] | None] | None:
    """Returns (part in this process, shape of the whole, offsets of the part) of a DTensor, the
    tensor itself for the result of a collective operation, and None for any other tensor.

    Shape and offsets are None if the part is the whole, or is not a box in it, as with partial
    sums.
    """
    if not hasattr(tensor, "placements") or not hasattr(tensor, "to_local"):
        return (_awaited(tensor).detach(), None, None) if _is_pending(tensor) else None
    with torch.no_grad():
        part = _awaited(tensor.to_local())
    mesh = tensor.device_mesh
    offsets = offsets_of_part(
        tensor.shape, mesh.shape, mesh.get_coordinate(), tensor.placements, part.shape
    )
    return part.detach(), offsets and list(tensor.shape), offsets


def _is_pending(tensor: torch.Tensor) -> bool:
    """Whether `tensor` is the result of a collective operation that may still run."""
    return hasattr(tensor, "trigger_wait")


def _awaited(tensor: Any) -> torch.Tensor:
    return tensor.trigger_wait() if _is_pending(tensor) else tensor


def offsets_of_part(
    shape: Sequence[int],
    mesh_shape: Sequence[int],
    coordinate: Sequence[int] | None,
    placements: Sequence[Any],
    part_shape: Sequence[int],
) -> list[int] | None:
    """Returns where a part of shape `part_shape` begins in a tensor of shape `shape`.

    The tensor is cut along each dimension of a mesh as `placements` specify, like torch.chunk does.
    `coordinate` is the position of this process in the mesh. Returns None if nothing is cut, and if
    the parts are not boxes that make up the whole.
    """
    from torch.distributed.tensor import Replicate, Shard

    if coordinate is None:
        return None
    cuts = list(zip(placements, mesh_shape, coordinate, strict=True))
    if any(type(placement).__name__ == "_StridedShard" for placement in placements):
        cuts = _without_strides(shape, cuts)
    begin, extent = [0] * len(shape), list(shape)
    is_cut = False
    for placement, processes, position in cuts:
        if type(placement) is Replicate:
            continue
        if type(placement) is not Shard:  # partial sums, strides whose parts are not boxes
            return None
        is_cut = True
        dim = placement.dim
        chunk = -(-extent[dim] // processes)
        first = min(position * chunk, extent[dim])
        begin[dim] += first
        extent[dim] = min(chunk, extent[dim] - first)
    return begin if is_cut and tuple(extent) == tuple(part_shape) else None


def _without_strides(
    shape: Sequence[int], cuts: list[tuple[Any, int, int]]
) -> list[tuple[Any, int, int]]:
    """Returns the same parts as cuts without strides, in another order, if they are boxes.

    fully_shard uses a stride for a tensor that tensor parallelism has cut along the same dimension:
    each of its processes has a part of each of `split_factor` pieces. Such a cut is the inner one,
    although its dimension of the mesh is the outer one.
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


def managed_parameters(
    root: torch.nn.Module,
) -> dict[tuple[torch.nn.Module, str], tuple[dict[str, Any], str]]:
    """Returns (owner, key of owner) of the shard for the (module, key) of each parameter of `root`
    that fully_shard manages. During its forward pass, the module itself holds the whole parameter.
    """
    kind = _class_of_sharded_modules()
    found = {}
    for module in root.modules():
        if isinstance(module, kind):
            found.update(fsdp_parameters(module))
    return found


def class_name(module: torch.nn.Module) -> str:
    """Returns the name of the user's class, without the class that fully_shard adds to it."""
    kind = _class_of_sharded_modules()
    return next(c.__name__ for c in type(module).__mro__ if not issubclass(c, kind))


def _class_of_sharded_modules() -> Any:
    """FSDPModule; no class if nothing has imported it, so that no module is sharded."""
    return getattr(sys.modules.get("torch.distributed.fsdp"), "FSDPModule", ())


def rank_and_size() -> tuple[int, int]:
    """Returns the rank of this process and the number of processes of the training."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


_core.set_local_part(local_part)
