"""`RandomDraws`: makes one graph use the random numbers that another one has drawn.

Each function that TensorFlow traces holds the state of its own stateful random operations, such as
those of tf.nn.dropout, so a second function would draw other numbers.
"""

import re
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from smdebug.tensorflow.private_names import replace_input

_RANDOM = re.compile(
    "^(Random(Uniform|UniformInt|StandardNormal|Shuffle|Gamma|Poisson|PoissonV2)"
    "|TruncatedNormal|ParameterizedTruncatedNormal|Multinomial|.*CandidateSampler)$"
)


def is_random(operation: str) -> bool:
    """Returns whether operations of that type draw from their own state."""
    return bool(_RANDOM.match(operation))


class RandomDraws:
    """The random numbers of one run of a step: the results of each random operation."""

    def __init__(self) -> None:
        self._variables: list[tf.Variable] = []

    @staticmethod
    def of(graph: Any) -> list[Any]:
        """Returns the tensors that random operations of `graph` produce, in their order."""
        operations = [each for each in graph.get_operations() if is_random(each.type)]
        return [output for operation in operations for output in operation.outputs]

    def set(self, values: Sequence[Any]) -> None:
        """Sets the random numbers for the next run of each graph that `replace` changes."""
        if not self._variables:
            self._variables = [_variable_for(value) for value in values]
        for variable, value in zip(self._variables, values, strict=True):
            variable.assign(value)

    def replace(self, graph: Any) -> None:
        """Makes `graph`, while it is built, use the numbers passed to `set` instead of its own
        draws."""
        for drawn, variable in zip(self.of(graph), self._variables, strict=True):
            value = variable.read_value()
            value.set_shape(drawn.shape)
            for consumer in drawn.consumers():
                for index, tensor in enumerate(consumer.inputs):
                    if tensor is drawn:
                        replace_input(consumer, index, value)


def _variable_for(value):
    return tf.Variable(value, trainable=False, shape=tf.TensorShape(None), name="smdebug_drawn")
