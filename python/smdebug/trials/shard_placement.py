"""`ShardPlacement`: which part of a larger tensor a worker saved."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ShardPlacement:
    """What `Tensor.placement` answers: two tuples of int, as long as the tensor has dimensions.

    `global_shape` is the shape of the whole tensor, `offsets` the place in it of the shard's first
    element: the shard is `whole[offsets[0] : offsets[0] + shape[0], ...]`.
    """

    global_shape: tuple[int, ...]
    offsets: tuple[int, ...]
