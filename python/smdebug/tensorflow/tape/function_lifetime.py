"""Objects that live as long as the graph of a tf.function, and calls that keep nothing alive.

TensorFlow keeps the Python functions that a graph calls until the process ends, even after the
graph.
"""

import weakref
from collections.abc import Callable
from typing import Any

import tensorflow as tf


def keep_with_graph(thing: Any) -> None:
    """Keeps `thing` alive as long as the graph that is being built, or a graph around it: a
    function may outlive the function that called it first, and the graph of a loop's body is
    dropped."""
    graph = tf.compat.v1.get_default_graph()
    while graph is not None and graph.building_function:
        if not hasattr(graph, "smdebug_kept"):
            graph.smdebug_kept = []
        graph.smdebug_kept.append(thing)
        graph = graph.outer_graph


def weakly(method: Callable[..., Any], otherwise: Any) -> Callable[..., Any]:
    """Returns a function that calls the bound method `method` while its object lives, and returns
    `otherwise` after that."""
    reference = weakref.WeakMethod(method)

    def call(*arguments):
        found = reference()
        return otherwise if found is None else found(*arguments)

    return call
