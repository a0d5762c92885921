"""`GraphState`: the variables that graphs read and write, to run one without effect."""

import contextlib
import weakref

import tensorflow as tf

from smdebug.tensorflow.keras.random_draws import is_random
from smdebug.tensorflow.keras.step_effects import has_lasting_effects
from smdebug.tensorflow.private_names import (
    can_replace_inputs,
    function_graphs,
    variable_handles,
)


def can_be_repeated(graph, can_say_draws):
    """Whether all that running `graph` changes is variables that can be told, and, with
    `can_say_draws`, the state of its random operations."""
    graphs = list(function_graphs(graph))
    if not graphs or any(variable_handles(each) is None for each in graphs):
        return False
    is_said = can_say_draws and can_replace_inputs()
    return not has_lasting_effects(graph, is_random if is_said else lambda _: False)


class GraphState:
    """The variables of the graphs that it was told of.

    Whoever owns a variable, it is found among what a graph captures. Variables may be made while a
    graph is traced, and so are read then, before it runs for the first time.
    """

    def __init__(self):
        self._graphs = weakref.WeakSet()
        self._are_settled = False  # whether no graph is new since the last `end`
        self._all = None  # the AllVariables, once they are settled
        self._open = None  # the Snapshot that is not to lack a variable

    def note_graph(self, graph):
        """While a graph is traced."""
        self._graphs.update(function_graphs(graph))
        self._are_settled, self._all = False, None
        if self._open is not None:
            with tf.init_scope():
                self._open.add(self._handles())

    def begin(self):
        """From here to `end`, `taken_back` can be asked for."""
        if self._are_settled and self._all is None:
            self._all = AllVariables(self._handles())
        self._open = self._snapshot(0)

    def end(self):
        self._open = None
        self._are_settled = True

    @contextlib.contextmanager
    def taken_back(self):
        """Within it the variables have the values that they had at `begin`, after it those that
        they had at its start."""
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
    """The values that variables had when it was made: of AllVariables, where they are given, and of
    those added."""

    def __init__(self, variables, place):
        self._variables, self._place = variables, place
        self._more = {}  # id of a handle -> (handle, value)
        if variables is not None:
            variables.keep(place)

    def add(self, handles):
        """Those of `handles`, id -> (handle, dtype), that it does not have."""
        for key, (handle, dtype) in handles.items():
            is_known = self._variables is not None and key in self._variables
            if key not in self._more and not is_known:
                self._more[key] = (handle, _value(handle, dtype))

    def restore(self):
        if self._variables is not None:
            self._variables.give_back(self._place)
        for handle, value in self._more.values():
            tf.raw_ops.AssignVariableOp(resource=handle, value=value)


class AllVariables:
    """A set of variables with room for two states of them, each kept and given back in one call:
    variable by variable that would take longer than a small step. `handles`: id -> (handle, dtype).
    """

    def __init__(self, handles):
        self._handles = handles
        self._kept = [[_room_for(*each) for each in handles.values()] for _ in range(2)]
        self._keep = [self._function(self._keep_all, place) for place in range(2)]
        self._give = [self._function(self._give_all, place) for place in range(2)]

    def __contains__(self, key):
        return key in self._handles

    def keep(self, place):
        """Keeps what they hold in place 0 or 1."""
        self._keep[place]()

    def give_back(self, place):
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
    """In the memory of the host: that of a device may hold no more."""
    with tf.device("CPU:0"):
        return tf.identity(tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype))
