"""Steps of loops inside a tf.function.

The Python code of such a loop runs while TensorFlow builds a graph of it, once for many steps. So
the graph itself queries what is due each time it runs, and exports only that. There is one graph:
the random numbers of a graph continue from call to call, and two graphs would split the sequence.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from smdebug.log import get_logger
from smdebug.tensorflow.private_names import is_compiled
from smdebug.tensorflow.tape.function_lifetime import keep_with_graph, weakly
from smdebug.tensorflow.tape.recomputed import recomputed
from smdebug.tensorflow.tape.tape_steps import NOTHING_DUE, TapeSteps
from smdebug.tensorflow.tape.tape_tensors import KINDS, StepTensors, TapeTensor, put_array
from smdebug.tensorflow.user_values import UserValue
from smdebug.tensorflow.variable_values import value_of

# Returned by calls out of a graph that have no result.
_DONE = np.bool_(True)

_logger = get_logger()


class FunctionStep:
    """A step that begins each time the graph runs past this point. It is made while the graph is
    built.

    `replica` is the number of the replica whose graph is built; None without several replicas.
    """

    def __init__(self, steps: TapeSteps, replica: int | None = None) -> None:
        self._steps: TapeSteps | None = steps
        self.replica = replica
        self._saved: list[Any] = []  # operations that export tensors
        self._passed_out: list[list[TapeTensor]] = []
        self.taken: StepTensors = StepTensors()
        keep_with_graph(self)
        self._due = tf.numpy_function(weakly(self._begin, NOTHING_DUE), [], tf.bool)
        self._due.set_shape(NOTHING_DUE.shape)
        # The previous step ends as this one begins, and the variables of optimizers are read then.
        # A write waits for the reads before it, so read them all here.
        with tf.control_dependencies([self._due]):
            for variable in steps.optimizer_variables():
                value_of(variable)

    def close(self) -> None:
        """Releases the hook: the graph may still run, and outlive it."""
        self._steps, self._passed_out = None, []

    def _begin(self):
        steps = self._steps
        return NOTHING_DUE if steps is None else steps.begin_in_graph(self.replica)

    def record(self, tensors: list[TapeTensor]) -> None:
        """Makes the graph export the tensors of one call of `tape.gradient` when they are due."""
        for number, kind in enumerate(KINDS):
            of_kind = [each for each in tensors if each.kind == kind]
            if of_kind:
                self._saved.append(self._pass_out(self._due[number], of_kind))

    def held(self, gradients: Any) -> Any:
        """Returns `gradients`, which become available once the step has begun and the rules have
        judged it."""
        steps = self._steps
        is_judged = steps is not None and steps.plan.has_rules
        with tf.control_dependencies([self._judged() if is_judged else self._due]):
            return tf.nest.map_structure(
                lambda each: None if each is None else tf.identity(each),
                gradients,
                expand_composites=True,
            )

    def _judged(self):
        with tf.control_dependencies(self._saved):
            return tf.cond(
                self._due[len(KINDS)],
                lambda: tf.numpy_function(weakly(self._judge, _DONE), [], tf.bool),
                lambda: tf.constant(False),
            )

    def _pass_out(self, is_due, tensors):
        number = len(self._passed_out)
        self._passed_out.append(tensors)
        taken = weakly(self._take, _DONE)

        # The parts are taken inside the branch, so that a variable is read only there. TensorFlow
        # may keep the branch, and all that it refers to.
        def take():
            parts = [
                [recomputed(part) for part in each.parts()] for each in self._passed_out[number]
            ]
            counts = [len(each) for each in parts]
            return tf.numpy_function(
                lambda *arrays: taken(number, counts, arrays), tf.nest.flatten(parts), tf.bool
            )

        return tf.cond(is_due, take, lambda: tf.constant(False))

    def _take(self, number, counts, arrays):
        steps, tensors = self._steps, self._passed_out[number:]
        if steps is None or not tensors:
            return _DONE
        with steps.isolate_errors(), steps.session.for_worker(self.replica):
            arrays = list(arrays)
            for each, count in zip(tensors[0], counts, strict=True):
                own, arrays = arrays[:count], arrays[count:]
                each.pass_out(own)
                if each.slot.is_due():
                    put_array(each.slot, each.whole(own))
        return _DONE

    def _judge(self):
        steps = self._steps
        if steps is not None:
            steps.judge_in_graph(self.replica)
        return _DONE


def call_in_graph(
    method: Callable[..., Any], value: UserValue, arguments_of: Callable[[Any], tuple[Any, ...]]
) -> None:
    """Calls the bound method `method` each time the graph of `value` runs, with
    `arguments_of(value)`, whose parts then are arrays. Its object is not kept alive."""
    if is_compiled():
        _logger.warning(
            "%s is not saved: XLA compiles the function around it; return it from the function and "
            "save it in the caller",
            value.parts[0],
        )
        return
    called = weakly(method, None)

    def call(*arrays):
        parts = [_zero_dimensional(each) if isinstance(each, bytes) else each for each in arrays]
        called(*arguments_of(UserValue(parts, value.join)))
        return _DONE

    tf.numpy_function(call, value.parts, tf.bool)


def _zero_dimensional(text):
    """Returns a tensor of one string, which TensorFlow passes as bytes. Objects keep a NUL at the
    end."""
    return np.array(text, object)
