"""Whether a graph draws random numbers from a state of its own.

Each function that TensorFlow traces holds the state of its stateful random operations, such as
those of tf.nn.dropout: two functions that take turns would draw other numbers than one.
"""

import re

_RANDOM = re.compile(
    "^(Random(Uniform|UniformInt|StandardNormal|Shuffle|Gamma|Poisson|PoissonV2)"
    "|TruncatedNormal|ParameterizedTruncatedNormal|Multinomial|.*CandidateSampler)$"
)


def draws_random_numbers(graph):
    """Whether a tf.Graph, or a function that it calls, holds such an operation."""
    definition = graph.as_graph_def()
    bodies = [definition.node, *(function.node_def for function in definition.library.function)]
    return any(_RANDOM.match(node.op) for nodes in bodies for node in nodes)
