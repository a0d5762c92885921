"""The private names of TensorFlow that loops rely on, each with what holds without it.

| name | used for | without it |
|---|---|---|
| control_flow_util.GraphOrParentsInXlaContext | whether XLA compiles a function | see below |
| Function.__call__ | what a compiled function leaves behind | nothing of those is recorded |

Where it cannot be told whether a function is compiled, no step is recorded from inside of one: a
graph with our calls in it could not be compiled.
"""

import tensorflow as tf

try:
    from tensorflow.python.ops.control_flow_util import GraphOrParentsInXlaContext
except ImportError:
    GraphOrParentsInXlaContext = None


def is_compilation_known():
    return GraphOrParentsInXlaContext is not None


def is_compiled():
    """Whether XLA compiles the function that is being traced."""
    return bool(GraphOrParentsInXlaContext) and GraphOrParentsInXlaContext(
        tf.compat.v1.get_default_graph()
    )


def function_class():
    """The class of what tf.function gives."""
    return type(tf.function(lambda: None))
