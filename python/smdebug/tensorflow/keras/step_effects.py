"""Finds graphs of Keras steps that do more than compute results and change variables.

Python calls, printing, and changes of a table can be neither repeated nor undone.
"""

import re
from collections.abc import Callable
from typing import Any

from smdebug.tensorflow.private_names import is_stateful_operation

# TensorFlow calls them stateful, but their only state is variables and the iterator.
_OF_VARIABLES = re.compile(
    "^(VarHandleOp|VarIsInitializedOp|VariableShape|ReadVariableOp|_?ReadVariablesOp"
    "|Assign.*VariableOp|Resource(Apply|SparseApply|Gather|Scatter|StridedSlice|Count).*"
    "|Stateful(Uniform|StandardNormal|TruncatedNormal|Random).*|Rng(ReadAnd)?Skip.*|Stateless.*"
    "|(Stateful)?PartitionedCall|If|While|Case|Assert|CudnnRNN.*"
    "|IteratorGetNext.*|Placeholder.*|_Arg|_Retval)$"
)


def has_lasting_effects(
    graph: Any, is_allowed: Callable[[str], bool] = lambda operation: False
) -> bool:
    """Returns whether a tf.Graph, or a function that it calls, has effects beyond variables, or may
    have. `is_allowed(type)` returns whether operations of that type are allowed in the graph
    itself, not in its functions."""
    definition = graph.as_graph_def()
    inside = {node.op for function in definition.library.function for node in function.node_def}
    outside = {node.op for node in definition.node if not is_allowed(node.op)}
    return any(
        is_stateful_operation(operation) and not _OF_VARIABLES.match(operation)
        for operation in inside | outside
    )
