"""Steps of Keras on TensorFlow: graphs, unless Keras is told to run them as eager code."""

import tensorflow as tf

from smdebug.tensorflow import tensors
from smdebug.tensorflow.keras.random_draws import RandomDraws as RandomDraws
from smdebug.tensorflow.keras.repeated_batch import BatchRepeater as BatchRepeater
from smdebug.tensorflow.keras.repeated_batch import can_be_given_twice as can_be_given_twice
from smdebug.tensorflow.keras.repeated_batch import takes_one_batch as takes_one_batch
from smdebug.tensorflow.keras.replica_captures import ReplicaCaptures as ReplicaCaptures
from smdebug.tensorflow.keras.step_variables import GraphState as GraphState
from smdebug.tensorflow.keras.step_variables import can_be_repeated as can_be_repeated
from smdebug.tensorflow.replicas import are_replicas_known as are_replicas_known

_TENSORS = (tf.Tensor, tf.IndexedSlices, tf.RaggedTensor, tf.SparseTensor)

# What a step function raises when the data ended.
END_OF_DATA = (StopIteration, tf.errors.OutOfRangeError)


def graph():
    """The graph that is being made, or None in eager code."""
    return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()


def makes_graphs(model):
    """Whether the steps of `model` are graphs."""
    return not model.run_eagerly


def unknown_replicas():
    """The name of the present strategy, if it has several replicas that cannot be told apart."""
    strategy = tf.distribute.get_strategy()
    is_unknown = strategy.num_replicas_in_sync > 1 and not are_replicas_known(strategy)
    return type(strategy).__name__ if is_unknown else None


def flat(structure, graph):
    """The tensors in a structure: those of the graph, or, where that is None, those that have
    values. Keras 3 may try a layer out in a graph to build it."""
    found = [structure] if isinstance(structure, _TENSORS) else tf.nest.flatten(structure)
    found = [each for each in found if isinstance(each, _TENSORS)]
    return [each for each in found if graph is not None or not tf.is_symbolic_tensor(each)]


def why_not(tensor, graph):
    """Why a tensor cannot be handed out, or None."""
    if isinstance(tensor, tf.IndexedSlices):
        size = tensors.dense_bytes(tensor)
        if size is None or size > tensors.LARGEST_DENSE_BYTES:
            return "it is sparse, and would be too large when filled up"
        tensor = tensor.values
    why = tensors.why_not(tensor)
    if why is None and graph is not None and tensor.graph is not graph:
        why = "it is made inside a loop or function of the model"
    return why


def kept(gradient):
    """A gradient as it is now: these never change."""
    return gradient


def dense(tensor):
    """A sparse gradient as a tensor with zeros; any other tensor as it is."""
    return tf.convert_to_tensor(tensor) if isinstance(tensor, tf.IndexedSlices) else tensor


def unscaled(gradient, scale):
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient / scale
    return tf.IndexedSlices(gradient.values / scale, gradient.indices, gradient.dense_shape)
