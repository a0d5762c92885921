"""Steps of loops inside a tf.function.

The Python of such a loop runs while TensorFlow makes a graph of it, once for many steps. So the
graph itself asks, each time it runs, what is due, and hands out only that. It stays one graph: the
stream of random numbers of a graph goes on from call to call, and two graphs would split it.
"""

import numpy as np
import tensorflow as tf

from smdebug.log import get_logger
from smdebug.tensorflow.private_names import is_compiled
from smdebug.tensorflow.tape.function_lifetime import keep_with_graph, weakly
from smdebug.tensorflow.tape.recomputed import recomputed
from smdebug.tensorflow.tape.tape_tensors import KINDS, put_array
from smdebug.tensorflow.variable_values import value_of

# What calls out of a graph return that have nothing to say.
_DONE = np.bool_(True)
_NOTHING_DUE = np.zeros(len(KINDS), bool)

logger = get_logger()


class GraphStep:
    """A step that begins whenever the graph runs past here. Made while the graph is."""

    def __init__(self, recorder, replica=None):
        """`replica` is the number of that whose graph is made, where there are several."""
        self._recorder = recorder
        self._replica = replica
        self._done = []
        self._handed_out = []  # lists of tensors
        self.losses = 0
        keep_with_graph(self)
        self._due = tf.numpy_function(weakly(self._begin, _NOTHING_DUE), [], tf.bool)
        self._due.set_shape([len(KINDS)])
        # The step before ends as this one begins, and what optimizers keep is read then: a write
        # waits for the reads that stand before it.
        with tf.control_dependencies([self._due]):
            for variable in recorder.optimizer_variables():
                value_of(variable)

    def close(self):
        """Lets go of the recorder: the graph may go on, and outlive it."""
        self._recorder, self._handed_out = None, []

    def _begin(self):
        recorder = self._recorder
        return _NOTHING_DUE if recorder is None else recorder.begin_in_graph(self._replica)

    def record(self, tensors):
        for number, kind in enumerate(KINDS):
            of_kind = [each for each in tensors if each.kind == kind]
            if of_kind:
                self._done.append(self._hand_out(self._due[number], of_kind))

    def held(self, gradients):
        """`gradients`, which are there once the step has begun and the rules have judged it."""
        recorder = self._recorder
        is_judged = recorder is not None and recorder.has_rules
        with tf.control_dependencies([self._judged() if is_judged else self._due]):
            return tf.nest.map_structure(
                lambda each: None if each is None else tf.identity(each),
                gradients,
                expand_composites=True,
            )

    def _judged(self):
        with tf.control_dependencies(self._done):
            return tf.cond(
                tf.reduce_any(self._due),
                lambda: tf.numpy_function(weakly(self._judge, _DONE), [], tf.bool),
                lambda: tf.constant(False),
            )

    def _hand_out(self, is_due, tensors):
        number = len(self._handed_out)
        self._handed_out.append(tensors)
        taken = weakly(self._take, _DONE)

        # Parts are taken inside the branch: a variable is read only there. TensorFlow may keep the
        # branch, and what it refers to.
        def take():
            parts = [
                [recomputed(part) for part in each.parts()] for each in self._handed_out[number]
            ]
            counts = [len(each) for each in parts]
            return tf.numpy_function(
                lambda *arrays: taken(number, counts, arrays), tf.nest.flatten(parts), tf.bool
            )

        return tf.cond(is_due, take, lambda: tf.constant(False))

    def _take(self, number, counts, arrays):
        recorder, tensors = self._recorder, self._handed_out[number:]
        if recorder is None or not tensors:
            return _DONE
        with recorder.tape_unharmed(), recorder.speaking_for(self._replica):
            arrays = list(arrays)
            for each, count in zip(tensors[0], counts, strict=True):
                own, arrays = arrays[:count], arrays[count:]
                if each.site.is_due():
                    put_array(each.site, each.whole(own))
        return _DONE

    def _judge(self):
        recorder = self._recorder
        if recorder is not None:
            recorder.end_graph_if_asked(self._replica)
        return _DONE


def is_symbolic(value):
    """Whether `value` is a tensor of a graph, which has a value when that runs."""
    return isinstance(value, tf.Tensor) and not hasattr(value, "numpy")


def call_in_graph(method, value, arguments_of):
    """Calls a bound method whenever the graph of a tensor runs, with what `arguments_of` makes of
    its value."""
    if is_compiled():
        logger.warning(
            "%s is not saved: XLA compiles the function around it, return it from there", value
        )
        return
    told = weakly(method, None)

    def call(array):
        told(*arguments_of(array))
        return _DONE

    tf.numpy_function(call, [value], tf.bool)
