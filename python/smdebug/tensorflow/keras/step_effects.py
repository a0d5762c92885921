"""Whether a graph does more than compute its results and change variables.

What calls Python, prints, or changes a table can neither be done twice nor be taken back.
"""

import re

from smdebug.tensorflow.private_names import is_stateful_operation

# Stateful by TensorFlow's book, but of no state except for variables and the iterator.
_OF_VARIABLES = re.compile(
    "^(VarHandleOp|VarIsInitializedOp|VariableShape|ReadVariableOp|_?ReadVariablesOp"
    "|Assign.*VariableOp|Resource(Apply|SparseApply|Gather|Scatter|StridedSlice|Count).*"
    "|Stateful(Uniform|StandardNormal|TruncatedNormal|Random).*|Rng(ReadAnd)?Skip.*|Stateless.*"
    "|(Stateful)?PartitionedCall|If|While|Case|Assert|CudnnRNN.*"
    "|IteratorGetNext.*|Placeholder.*|_Arg|_Retval)$"
)


def has_lasting_effects(graph, but=lambda operation: False):
    """Whether a tf.Graph, or a function that it calls, does so, or that cannot be told. `but` says
    of a type of operation whether the graph, not its functions, may hold it."""
    definition = graph.as_graph_def()
    inside = {node.op for function in definition.library.function for node in function.node_def}
    outside = {node.op for node in definition.node if not but(node.op)}
    return any(
        is_stateful_operation(operation) and not _OF_VARIABLES.match(operation)
        for operation in inside | outside
    )
