"""Steps of loops inside a tf.function.

The Python of such a loop runs while TensorFlow makes a graph of it, once for many steps. So the
graph itself asks, each time it runs, what is due, and hands out only that. It stays one graph: the
stream of random numbers of a graph goes on from call to call, and two graphs would split it.
"""

import numpy as np
import tensorflow as tf

from smdebug.log import get_logger
from smdebug.tensorflow.private_names import is_compiled
from smdebug.tensorflow.tape_tensors import KINDS, put_array
from smdebug.tensorflow.variable_values import value_of

logger = get_logger()


class GraphStep:
    """A step that begins whenever the graph runs past here. Made while the graph is."""

    def __init__(self, recorder):
        self._recorder = recorder
        self._done = []
        self.losses = 0
        self._due = tf.numpy_function(recorder.begin_in_graph, [], tf.bool)
        self._due.set_shape([len(KINDS)])
        # The step before ends as this one begins, and what optimizers keep is read then: a write
        # waits for the reads that stand before it.
        with tf.control_dependencies([self._due]):
            for variable in recorder.optimizer_variables():
                value_of(variable)

    def record(self, tensors):
        for number, kind in enumerate(KINDS):
            of_kind = [each for each in tensors if each.kind == kind]
            if of_kind:
                self._done.append(self._hand_out(self._due[number], of_kind))

    def held(self, gradients):
        """`gradients`, which are there once the step has begun and the rules have judged it."""
        with tf.control_dependencies([self._judged() if self._recorder.has_rules else self._due]):
            return tf.nest.map_structure(
                lambda each: None if each is None else tf.identity(each),
                gradients,
                expand_composites=True,
            )

    def _judged(self):
        with tf.control_dependencies(self._done):
            return tf.cond(
                tf.reduce_any(self._due),
                lambda: tf.numpy_function(self._judge, [], tf.bool),
                lambda: tf.constant(False),
            )

    def _hand_out(self, is_due, tensors):
        # Parts are taken inside the branch: a variable is read only there.
        def take():
            parts = [each.parts() for each in tensors]
            return tf.numpy_function(
                lambda *arrays: self._take(tensors, [len(each) for each in parts], arrays),
                tf.nest.flatten(parts),
                tf.bool,
            )

        return tf.cond(is_due, take, lambda: tf.constant(False))

    def _take(self, tensors, counts, arrays):
        with self._recorder.tape_unharmed():
            arrays = list(arrays)
            for each, count in zip(tensors, counts, strict=True):
                own, arrays = arrays[:count], arrays[count:]
                if each.site.is_due():
                    put_array(each.site, each.whole(own))
        return np.bool_(True)

    def _judge(self):
        self._recorder.end_graph_if_asked()
        return np.bool_(True)


def is_symbolic(value):
    """Whether `value` is a tensor of a graph, which has a value when that runs."""
    return isinstance(value, tf.Tensor) and not hasattr(value, "numpy")


def call_in_graph(function, value):
    """Calls `function` with the value of a tensor whenever its graph runs."""
    if is_compiled():
        logger.warning(
            "%s is not saved: XLA compiles the function around it, return it from there", value
        )
        return

    def call(array):
        function(array)
        return np.bool_(True)

    tf.numpy_function(call, [value], tf.bool)
