"""Steps of Keras where they are eager code without TensorFlow: on torch."""

import keras

# What a step function raises when the data ended.
END_OF_DATA = (StopIteration,)


def graph():
    """The graph that is being made: none."""
    return None


def makes_graphs(model):
    """Whether the steps of `model` are graphs."""
    return False


def are_replicas_known(strategy):
    return False


def unknown_replicas():
    return None


def flat(structure, graph):
    """The tensors in a structure that have values. Keras tries a layer out without any."""
    found = keras.tree.flatten(structure)
    return [each for each in found if _is_tensor(each) and each.device.type != "meta"]


def _is_tensor(thing):
    return keras.ops.is_tensor(thing) and hasattr(thing, "device")


def why_not(tensor, graph):
    """Why a tensor cannot be handed out, or None."""
    return None


def kept(gradient):
    """A gradient as it is now: an optimizer may compute in its place."""
    return gradient.detach().clone()


def dense(tensor):
    return tensor.to_dense() if tensor.is_sparse else tensor


def unscaled(gradient, scale):
    return gradient / scale
