"""`ReplicaCaptures`: how tensors leave a step that every replica of a strategy runs."""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from smdebug.tensorflow.private_names import left_alone
from smdebug.tensorflow.replaced_method import ReplacedMethod


class ReplicaCaptures:
    """A context in which a step that `strategy.run` runs on every replica may return tensors under
    `key` of its result, a dict. They come back as a dict of tuples, one tensor of each replica:
    Keras adds up the values of replicas, but leaves tuples of tensors as they are.

    Each replica must return such a key. Tensors that only some replicas return are omitted:
    `skip(name, why)` is called for each.
    """

    def __init__(self, strategy: Any, key: str, skip: Callable[[str, str], None]) -> None:
        self._strategy = strategy
        self._key = key
        self._skip = skip
        self._graph: Any = None  # in which `strategy.run` is called; None in eager code

    def __enter__(self) -> "ReplicaCaptures":
        self._replaced = ReplacedMethod(self._strategy, "run", left_alone(self._run))
        return self

    def __exit__(self, *exception: object) -> None:
        self._replaced.undo()

    def of_replica(self, tensors: Mapping[str, Any]) -> Any:
        """Returns the value that the step of one replica returns for `tensors`."""
        if _graph() is self._graph:
            return _OfReplica(tensors)
        return tensors  # in a function that all replicas share

    def _run(self, *arguments, **keywords):
        self._graph = _graph()
        result = self._replaced.original(*arguments, **keywords)
        if not isinstance(result, dict) or self._key not in result:
            return result
        return {**result, self._key: self._per_replica(result[self._key])}

    def _per_replica(self, found):
        results = self._strategy.experimental_local_results
        if isinstance(found, dict):
            return {
                name: value if isinstance(value, tuple) else results(value)
                for name, value in found.items()
            }
        replicas = [each.tensors for each in results(found)]
        shared = set.intersection(*map(set, replicas))
        for name in sorted(set().union(*replicas) - shared):
            self._skip(name, "only some replicas have it")
        return {
            name: tuple(each[name] for each in replicas) for name in replicas[0] if name in shared
        }


class _OfReplica:
    """Tensors of one replica. TensorFlow treats this object as a value and does not look inside; it
    fails for dicts of replicas with different keys."""

    def __init__(self, tensors):
        self.tensors = tensors


def _graph():
    return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
