"""Finds the replica of a tf.distribute strategy that a thread runs."""

from typing import Any

import tensorflow as tf


def are_replicas_known(strategy: Any) -> bool:
    """Returns whether `strategy` has several replicas that can be distinguished: replicas of one
    process that mirror their variables."""
    is_mirrored = isinstance(strategy, tf.distribute.MirroredStrategy)
    return is_mirrored and strategy.num_replicas_in_sync > 1


def current_replica() -> int | None:
    """Returns the number of the replica that this thread runs or traces; None without several
    replicas, -1 if the number is unknown."""
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return None
    number = tf.get_static_value(tf.convert_to_tensor(context.replica_id_in_sync_group))
    return -1 if number is None else int(number)


def device_of(replica: int) -> str:
    """Returns the name of the device of a replica of the current strategy."""
    return tf.distribute.get_strategy().extended.worker_devices[replica]


def replica_copies(value: Any) -> list[Any] | None:
    """Returns the tensors of all replicas in a value that holds one of each, such as a result of
    `strategy.run`; None for any other value."""
    is_distributed = isinstance(value, tf.distribute.DistributedValues)
    if not is_distributed or callable(getattr(value, "assign", None)):
        return None
    copies = getattr(value, "values", None)
    return list(copies) if isinstance(copies, (list, tuple)) and copies else None
