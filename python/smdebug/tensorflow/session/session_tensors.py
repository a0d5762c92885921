"""The tensors of a graph of TensorFlow 1 that a hook may save, and those of one run."""

import dataclasses
import functools
import re
from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from smdebug._core import GroupSlot
from smdebug.array_values import NotTaken
from smdebug.log import get_logger
from smdebug.tensorflow.replica_sessions import ReplicaSessions
from smdebug.tensorflow.session.optimizers import SessionOptimizers
from smdebug.tensorflow.session.session_graph import SessionGraph, run_key
from smdebug.tensorflow.tensors import as_array, dense, why_too_large

_logger = get_logger()


@dataclasses.dataclass
class Fetched:
    """A tensor of the graph with its name and collections. `shape` is that of the variable whose
    gradient it is, if it is a tf.IndexedSlices."""

    name: str
    collections: Sequence[str]
    session: ReplicaSessions
    tensor: Any
    shape: tuple[int, ...] | None = None

    @functools.cached_property
    def slot(self) -> GroupSlot:
        """Its slot, made where a run can return it: collections list each tensor that has one."""
        return self.session.tensor(self.name, self.collections)

    def is_due(self) -> bool:
        """Returns whether the open step saves it, without a slot."""
        return any(self.session.is_due(self.name, each) for each in self.collections)

    def put(self, value: Any) -> None:
        """Saves its value in a run."""
        try:
            if self.shape is not None:
                value = dense(value.values, value.indices, self.shape)
            self.slot.put(as_array(value))
        except NotTaken as error:
            self.slot.skip(str(error))


class SessionTensors:
    """The tensors of one graph that can be saved: `variables`, which are read before a run, and
    `tensors`, which are fetched with it.

    `wanted` has (collection, regular expressions): tensors whose names match belong to the
    collection. `bias_patterns` are regular expressions for the names of biases.
    """

    def __init__(
        self,
        session: ReplicaSessions,
        tf_graph: Any,
        graph: SessionGraph,
        optimizers: SessionOptimizers,
        wanted: Sequence[tuple[str, Sequence[str]]],
        bias_patterns: Sequence[str],
    ) -> None:
        self._session = session
        self._tf_graph = tf_graph
        self._graph = graph
        self._wanted = [(name, _compiled(found)) for name, found in wanted]
        self._bias_patterns = _compiled(bias_patterns)
        self._of_runs: dict[Any, list[Fetched]] = {}  # by (fetches, feeds)
        self.variables: list[Fetched] = self._trainable() + self._of_optimizers(optimizers)
        found = self._losses(optimizers) + self._gradients(optimizers) + self._matching()
        self.tensors: list[Fetched] = found

    def of_run(self, fetches: Any, feeds: Iterable[Any]) -> list[Fetched]:
        """Returns those of `tensors` that a run of `fetches`, given `feeds`, can return without
        any effect."""
        key = run_key(fetches, feeds)
        if key not in self._of_runs:
            computed = self._graph.computed(fetches, feeds)
            known, found = {}, []
            for each in self.tensors:
                parts = tf.nest.flatten(each.tensor, expand_composites=True)
                if all(self._graph.is_harmless(part, computed, known) for part in parts):
                    found.append(each)
            self._of_runs[key] = found
        return self._of_runs[key]

    def _trainable(self):
        variables = self._tf_graph.get_collection(tf.compat.v1.GraphKeys.TRAINABLE_VARIABLES)
        found = []
        for variable in variables:
            is_bias = any(each.search(variable.name) for each in self._bias_patterns)
            found.append(self._fetched(variable, ["biases" if is_bias else "weights"]))
        return found

    def _of_optimizers(self, optimizers):
        own = optimizers.variables(self._tf_graph)
        return [self._fetched(variable, ["optimizer_variables"]) for variable in own]

    def _losses(self, optimizers):
        losses = self._tf_graph.get_collection(tf.compat.v1.GraphKeys.LOSSES)
        losses = [*losses, *optimizers.losses(self._tf_graph)]
        return [self._fetched(loss, ["losses"]) for loss in losses]

    def _gradients(self, optimizers):
        found = []
        for gradient, variable in optimizers.applied(self._tf_graph):
            if isinstance(gradient, tf.IndexedSlices):
                each = self._fetched(gradient, ["gradients"], gradient.values.name)
                each.shape = tuple(variable.shape)
                why = why_too_large(each.shape, gradient.dtype)
                if why:
                    each.slot.skip(why)
                else:
                    found.append(each)
            else:
                found.append(self._fetched(gradient, ["gradients"]))
        return found

    def _matching(self):
        if not self._wanted:
            return []
        variables = {each.tensor.name for each in self.variables}
        found = []
        for tensor in self._graph.tensors():
            if tensor.name in variables:  # of the old kind: it is read with the variables
                continue
            collections = [
                name
                for name, patterns in self._wanted
                if any(pattern.search(tensor.name) for pattern in patterns)
            ]
            if collections:
                found.append(self._fetched(tensor, collections))
        return found

    def _fetched(self, tensor, collections, name=None):
        name = name or tensor.name
        return Fetched(name, collections, self._session, tensor)


def _compiled(patterns: Sequence[str]) -> list[re.Pattern[str]]:
    """Returns the patterns that compile. A list that was edited in place may hold others."""
    found = []
    for pattern in patterns:
        try:
            found.append(re.compile(pattern))
        except (re.error, TypeError) as error:
            _logger.warning("the pattern %r finds no tensor of the graph: %s", pattern, error)
    return found
