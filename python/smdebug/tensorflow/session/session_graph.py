"""Finds the tensors of a graph of TensorFlow 1 that can be fetched beside a run without any effect
on it.

A fetch makes TensorFlow compute everything that it depends on. So a tensor may be fetched if its
run computes it anyway, or if nothing that is computed for it has an effect: a fetch must not draw a
random number, take a batch from a queue, assign to a variable, or need a placeholder that is not
fed.
"""

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

# They have state but only read it. A variable without a value cannot be read.
_READS = ("VarHandleOp", "ReadVariableOp", "VarIsInitializedOp", "Variable", "VariableV2")
_PLACEHOLDERS = ("Placeholder", "PlaceholderV2")
# Only one of the branches that begin here is computed.
_BRANCHES = ("Switch", "RefSwitch")
_BRANCH_ENDS = ("Merge", "RefMerge", "Exit", "RefExit")


class SessionGraph:
    """A tf.Graph in its present state: make a new SessionGraph after the graph has grown."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._version = graph.version
        self._in_branches = _operations_in_branches(graph)
        self._computed: dict[Any, set[Any]] = {}

    def is_of(self, graph: Any) -> bool:
        """Returns whether this object still describes `graph`."""
        return graph is self._graph and graph.version == self._version

    def tensors(self) -> list[Any]:
        """Returns every tensor that can be fetched."""
        return [
            tensor
            for operation in self._graph.get_operations()
            if operation not in self._in_branches and self._graph.is_fetchable(operation)
            for tensor in operation.outputs
            if tensor.dtype not in (tf.resource, tf.variant)
            and tensor.dtype == tensor.dtype.base_dtype  # no reference to a variable
        ]

    def computed(self, fetches: Any, feeds: Iterable[Any]) -> set[Any]:
        """Returns the operations that a run of `fetches`, given `feeds`, computes. They are found
        once for each such run."""
        key = run_key(fetches, feeds)
        if key not in self._computed:
            self._computed[key] = self._look_up(fetches, feeds)
        return self._computed[key]

    def _look_up(self, fetches, feeds):
        # By id: tensors of a graph have no hash if TensorFlow 2 behavior is enabled.
        fed = {id(element) for each in feeds for element in self._elements(each)}
        wanted = self._elements(fetches)
        found, todo = set(), [_operation(each) for each in wanted if id(each) not in fed]
        while todo:
            operation = todo.pop()
            if operation in found:
                continue
            found.add(operation)
            todo += [each.op for each in operation.inputs if id(each) not in fed]
            todo += operation.control_inputs
        return found

    def is_harmless(self, tensor: Any, computed: set[Any], known: dict[Any, bool]) -> bool:
        """Returns whether `tensor` can be fetched beside a run that computes the operations
        `computed`. `known` caches the answers about operations, for further calls about the same
        run."""
        todo = [tensor.op]
        while todo:
            operation = todo[-1]
            if operation in computed or operation in known:
                todo.pop()
                continue
            if not _has_no_effect(operation) or operation in self._in_branches:
                known[operation] = False
                todo.pop()
                continue
            before = [each.op for each in operation.inputs] + list(operation.control_inputs)
            open_ones = [each for each in before if each not in computed and each not in known]
            if open_ones:
                todo += open_ones
                continue
            known[operation] = all(each in computed or known[each] for each in before)
            todo.pop()
        return tensor.op in computed or known[tensor.op]

    def _elements(self, thing):
        """Returns the tensors and operations that a fetch or a feed names."""
        try:
            return [self._graph.as_graph_element(thing, allow_tensor=True, allow_operation=True)]
        except (TypeError, ValueError, KeyError):
            pass
        if isinstance(thing, dict):
            return [element for each in thing.values() for element in self._elements(each)]
        if isinstance(thing, (list, tuple)):
            return [element for each in thing for element in self._elements(each)]
        parts = tf.nest.flatten(thing, expand_composites=True)
        if len(parts) == 1 and parts[0] is thing:
            return []
        return [element for each in parts for element in self._elements(each)]


def run_key(fetches: Any, feeds: Iterable[Any]) -> tuple[Any, ...]:
    """Returns a key that distinguishes the kinds of runs."""
    parts = (*tf.nest.flatten(fetches, expand_composites=True), None, *feeds)
    return tuple(each if isinstance(each, str) else id(each) for each in parts)


def _operation(element):
    return element if isinstance(element, tf.Operation) else element.op


def _has_no_effect(operation):
    if operation.type in _READS:
        return True
    if operation.type in _PLACEHOLDERS:
        return False
    definition = operation.op_def
    if definition is None or definition.is_stateful:
        return False
    return not any(argument.is_ref for argument in definition.input_arg)


def _operations_in_branches(graph):
    """Returns the operations in loops, and those that a run computes only on some branches."""
    found = set()
    for operation in graph.get_operations():
        if operation.type in _BRANCH_ENDS:
            continue
        before = [each.op for each in operation.inputs] + list(operation.control_inputs)
        if operation.type in _BRANCHES or any(each in found for each in before):
            found.add(operation)
    return found
