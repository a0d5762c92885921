"""`ShardPlacement`: which part of a larger tensor a worker saved."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ShardPlacement:
    """The result of `Tensor.placement`: two tuples with one int per dimension.

    `global_shape` is the shape of the whole tensor, `offsets` the position of the shard's first
    element in it: the shard is `whole[offsets[0] : offsets[0] + shape[0], ...]`.
    """

    global_shape: tuple[int, ...]
    offsets: tuple[int, ...]
