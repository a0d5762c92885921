"""`StepVariables`: the variables that the graphs of a Keras step read and write, to run one without
effect."""

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from smdebug.tensorflow.keras.random_draws import is_random
from smdebug.tensorflow.keras.step_effects import has_lasting_effects
from smdebug.tensorflow.private_names import (
    can_replace_inputs,
    function_graphs,
    variable_handles,
)

# By the id of a variable's handle: the handle, a resource tensor, and the dtype of the variable.
Handles = dict[int, tuple[Any, tf.DType]]


def can_be_repeated(graph: Any, can_set_draws: bool) -> bool:
    """Returns whether `graph` can run a second time without lasting effect: everything that it
    changes is known variables and, if `can_set_draws`, the state of its random operations."""
    graphs = list(function_graphs(graph))
    if not graphs or any(variable_handles(each) is None for each in graphs):
        return False
    is_set = can_set_draws and can_replace_inputs()
    return not has_lasting_effects(graph, is_random if is_set else lambda _: False)


class StepVariables:
    """The variables of all graphs that `note_graph` was called for.

    A graph captures every variable that it uses, regardless of its owner. Variables may be
    made while a graph is traced; these are read then, before the graph runs for the first time.
    """

    def __init__(self) -> None:
        self._graphs: weakref.WeakSet[Any] = weakref.WeakSet()
        self._are_settled = False  # whether no graph came since the last `end`
        self._all: AllVariables | None = None  # once they are settled
        self._open: Snapshot | None = None  # gets the variables that are made meanwhile

    def note_graph(self, graph: Any) -> None:
        """Adds the variables of a graph that was just traced."""
        self._graphs.update(function_graphs(graph))
        self._are_settled, self._all = False, None
        if self._open is not None:
            with tf.init_scope():
                self._open.add(self._handles())

    def begin(self) -> None:
        """Keeps the present values of the variables. `taken_back` may be used until `end`."""
        if self._are_settled and self._all is None:
            self._all = AllVariables(self._handles())
        self._open = self._snapshot(0)

    def end(self) -> None:
        """Releases the values that `begin` kept."""
        self._open = None
        self._are_settled = True

    @contextlib.contextmanager
    def taken_back(self) -> Iterator[None]:
        """Returns a context in which the variables have their values from `begin`. Afterwards they
        have the values from its start again."""
        before, self._open = self._open, self._snapshot(1)
        try:
            before.restore()
            yield
        finally:
            self._open.restore()

    def _snapshot(self, place):
        snapshot = Snapshot(self._all, place)
        if self._all is None:
            snapshot.add(self._handles())
        return snapshot

    def _handles(self):
        found = {}
        for graph in self._graphs:
            for handle, dtype in variable_handles(graph) or ():
                if id(handle) not in found and _has_value(handle):
                    found[id(handle)] = (handle, dtype)
        return found


class Snapshot:
    """The values of variables when the snapshot was made: of all `variables`, which keep them in
    their `place` 0 or 1, and of those that were added. `variables` may be None."""

    def __init__(self, variables: "AllVariables | None", place: int) -> None:
        self._variables, self._place = variables, place
        self._more: dict[int, tuple[Any, Any]] = {}  # id of a handle -> (handle, value)
        if variables is not None:
            variables.keep(place)

    def add(self, handles: Handles) -> None:
        """Adds the present values of those variables that it does not have."""
        for key, (handle, dtype) in handles.items():
            is_known = self._variables is not None and key in self._variables
            if key not in self._more and not is_known:
                self._more[key] = (handle, _value(handle, dtype))

    def restore(self) -> None:
        """Restores the values of the variables."""
        if self._variables is not None:
            self._variables.give_back(self._place)
        for handle, value in self._more.values():
            tf.raw_ops.AssignVariableOp(resource=handle, value=value)


class AllVariables:
    """A set of variables, with memory for two states of them. Each state is kept and restored in
    one call: one call per variable would take longer than a small step."""

    def __init__(self, handles: Handles) -> None:
        self._handles = handles
        self._kept = [[_room_for(*each) for each in handles.values()] for _ in range(2)]
        self._keep = [self._function(self._keep_all, place) for place in range(2)]
        self._give = [self._function(self._give_all, place) for place in range(2)]

    def __contains__(self, key: int) -> bool:
        return key in self._handles

    def keep(self, place: int) -> None:
        """Keeps the values of the variables in place 0 or 1."""
        self._keep[place]()

    def give_back(self, place: int) -> None:
        """Restores the values that are kept in place 0 or 1."""
        self._give[place]()

    @staticmethod
    def _function(method, place):
        return tf.function(lambda: method(place), autograph=False).get_concrete_function()

    def _keep_all(self, place):
        for (handle, dtype), kept in zip(self._handles.values(), self._kept[place], strict=True):
            kept.assign(tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype))

    def _give_all(self, place):
        for (handle, _), kept in zip(self._handles.values(), self._kept[place], strict=True):
            tf.raw_ops.AssignVariableOp(resource=handle, value=kept.read_value())


def _room_for(handle, dtype):
    with tf.device("CPU:0"):
        value = _value(handle, dtype)
        return tf.Variable(value, trainable=False, shape=tf.TensorShape(None), name="smdebug_kept")


def _has_value(handle):
    return bool(tf.raw_ops.VarIsInitializedOp(resource=handle))


def _value(handle, dtype):
    """Returns the value of a variable in host memory: a device may have no memory left."""
    with tf.device("CPU:0"):
        return tf.identity(tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype))
