"""`GraphState`: the variables that graphs read and write, to run one without effect."""

import contextlib
import weakref

import tensorflow as tf

from smdebug.tensorflow.graph_effects import has_lasting_effects
from smdebug.tensorflow.private_names import (
    can_replace_inputs,
    function_graphs,
    variable_handles,
)
from smdebug.tensorflow.random_draws import is_random


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
        self._values = None  # id of a handle -> (handle, value), while these are to be known

    def note_graph(self, graph):
        """While a graph is traced."""
        self._graphs.update(function_graphs(graph))
        if self._values is not None:
            with tf.init_scope():
                self._read()

    def begin(self):
        """From here to `end`, `taken_back` can be asked for."""
        self._values = {}
        self._read()

    def end(self):
        self._values = None

    @contextlib.contextmanager
    def taken_back(self):
        """Within it the variables have the values that they had at `begin`, after it those that
        they had at its start."""
        before, self._values = self._values, {}
        self._read()
        try:
            _assign(before)
            yield
        finally:
            _assign(self._values)

    def _read(self):
        for graph in self._graphs:
            for handle, dtype in variable_handles(graph) or ():
                if id(handle) not in self._values and _has_value(handle):
                    self._values[id(handle)] = (handle, _value(handle, dtype))


def _has_value(handle):
    return bool(tf.raw_ops.VarIsInitializedOp(resource=handle))


def _value(handle, dtype):
    """In the memory of the host: that of a device may hold no more."""
    with tf.device("CPU:0"):
        return tf.identity(tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype))


def _assign(values):
    for handle, value in values.values():
        tf.raw_ops.AssignVariableOp(resource=handle, value=value)
