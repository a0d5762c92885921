"""`ReplicaCaptures`: how tensors leave a step that every replica of a strategy runs."""

import tensorflow as tf

from smdebug.tensorflow.private_names import left_alone
from smdebug.tensorflow.replaced_method import ReplacedMethod


class ReplicaCaptures:
    """Within it a step that `strategy.run` runs on every replica may hand out tensors under `key`
    of its result, a dict: they come back as a dict of tuples, one tensor for each replica. Keras
    adds up what comes back as a value of replicas, and leaves tuples of tensors alone.

    Each replica must have such a key. What only some of them hand out is left out: `skip` is told
    its name and why.
    """

    def __init__(self, strategy, key, skip):
        self._strategy = strategy
        self._key = key
        self._skip = skip
        self._graph = None  # that in which `strategy.run` is called; None: eager code

    def __enter__(self):
        self._replaced = ReplacedMethod(self._strategy, "run", left_alone(self._run))
        return self

    def __exit__(self, *exception):
        self._replaced.undo()

    def of_replica(self, tensors):
        """What the step of one replica is to hand out for `tensors`, a dict."""
        if _graph() is self._graph:
            return _OfReplica(tensors)
        return tensors  # out of a function of its own, which all replicas share

    def _run(self, *arguments, **keywords):
        self._graph = _graph()
        result = self._replaced.original(*arguments, **keywords)
        if not isinstance(result, dict) or self._key not in result:
            return result
        return {**result, self._key: self._apart(result[self._key])}

    def _apart(self, found):
        results = self._strategy.experimental_local_results
        if isinstance(found, dict):
            return {
                name: value if isinstance(value, tuple) else results(value)
                for name, value in found.items()
            }
        replicas = [each.tensors for each in results(found)]
        shared = set.intersection(*map(set, replicas))
        for name in sorted(set().union(*replicas) - shared):
            self._skip(name, "some replicas have it and others have not")
        return {
            name: tuple(each[name] for each in replicas) for name in replicas[0] if name in shared
        }


class _OfReplica:
    """Tensors of one replica. TensorFlow takes it for a value, and does not look inside: it fails
    where dicts of replicas differ in their keys."""

    def __init__(self, tensors):
        self.tensors = tensors


def _graph():
    return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
