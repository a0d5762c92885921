"""`RandomDraws`: has one graph draw the random numbers that another one has drawn.

Each function that TensorFlow traces holds the state of its stateful random operations, such as
those of tf.nn.dropout: a second function would draw others.
"""

import re

import tensorflow as tf

from smdebug.tensorflow.private_names import replace_input

_RANDOM = re.compile(
    "^(Random(Uniform|UniformInt|StandardNormal|Shuffle|Gamma|Poisson|PoissonV2)"
    "|TruncatedNormal|ParameterizedTruncatedNormal|Multinomial|.*CandidateSampler)$"
)


def is_random(operation):
    """Whether an operation of that type draws from a state of its own."""
    return bool(_RANDOM.match(operation))


class RandomDraws:
    """The numbers of one run of a step: what each random operation of its graph gave."""

    def __init__(self):
        self._variables = []

    @staticmethod
    def of(graph):
        """The tensors that random operations of `graph` give, in their order."""
        operations = [each for each in graph.get_operations() if is_random(each.type)]
        return [output for operation in operations for output in operation.outputs]

    def say(self, values):
        """Before a run of a graph that `replace` was called for, or is to be."""
        if not self._variables:
            self._variables = [_room_for(value) for value in values]
        for variable, value in zip(self._variables, values, strict=True):
            variable.assign(value)

    def replace(self, graph):
        """Has what was drawn in `graph`, while it is made, be what `say` says."""
        for drawn, variable in zip(self.of(graph), self._variables, strict=True):
            said = variable.read_value()
            said.set_shape(drawn.shape)
            for consumer in drawn.consumers():
                for index, tensor in enumerate(consumer.inputs):
                    if tensor is drawn:
                        replace_input(consumer, index, said)


def _room_for(value):
    return tf.Variable(value, trainable=False, shape=tf.TensorShape(None), name="smdebug_drawn")
