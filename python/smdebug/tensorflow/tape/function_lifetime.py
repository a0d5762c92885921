"""What lives as long as a graph, and calls out of one that keep nothing alive.

TensorFlow holds the Python functions that a graph calls to the end of the process, whatever becomes
of the graph.
"""

import weakref

import tensorflow as tf


def keep_with_graph(thing):
    """Has `thing` live as long as the graph that is being made, or one around it: a function may
    outlive the one that it was first called in, and the graph of a loop's body is dropped."""
    graph = tf.compat.v1.get_default_graph()
    while graph is not None and graph.building_function:
        if not hasattr(graph, "smdebug_kept"):
            graph.smdebug_kept = []
        graph.smdebug_kept.append(thing)
        graph = graph.outer_graph


def weakly(method, otherwise):
    """A function that calls a bound method while its object lives; then it returns `otherwise`."""
    reference = weakref.WeakMethod(method)

    def call(*arguments):
        found = reference()
        return otherwise if found is None else found(*arguments)

    return call
