"""Steps of Keras that are eager code without TensorFlow: on torch."""

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import keras

# A step function raises one of these when the data ends.
END_OF_DATA = (StopIteration,)


class NoReplay:
    """Replaces BatchReplay: eager code captures tensors directly, so no batch runs twice."""

    is_possible = False

    def can_run(self, data: Any) -> bool:
        """No batch runs twice."""
        return False


def graph() -> None:
    """Returns the graph that is being built: none."""
    return None


def losses_reported(take: Callable[[Any], None]) -> AbstractContextManager[None]:
    """Returns a context that reports nothing: there are no graphs."""
    return contextlib.nullcontext()


def make_replay(model: Any) -> NoReplay:
    """Returns a NoReplay, for each step function of `model`."""
    return NoReplay()


def are_replicas_known(strategy: Any) -> bool:
    """Returns whether `strategy` has several replicas that can be distinguished: False, because
    only TensorFlow has strategies."""
    return False


def unknown_replicas() -> str | None:
    """Returns the name of a strategy whose replicas cannot be distinguished: none."""
    return None


def flat(structure: Any, graph: None) -> list[Any]:
    """Returns the tensors in a structure that have values. Keras calls a layer with some that have
    none to find out its shapes."""
    found = keras.tree.flatten(structure)
    return [each for each in found if _is_tensor(each) and each.device.type != "meta"]


def _is_tensor(thing):
    return keras.ops.is_tensor(thing) and hasattr(thing, "device")


def why_not(tensor: Any, graph: None) -> str | None:
    """Returns why a tensor cannot leave the step; None if it can."""
    return None


def kept(gradient: Any) -> Any:
    """Returns a copy of a gradient: an optimizer may change the gradient itself."""
    return gradient.detach().clone()


def dense(tensor: Any) -> Any:
    """Returns a sparse gradient as a dense tensor; any other tensor unchanged."""
    return tensor.to_dense() if tensor.is_sparse else tensor


def is_number(value: Any) -> bool:
    """Returns whether `numbers` takes a value: a number, or a tensor that is one."""
    return isinstance(value, (float, int)) or (_is_tensor(value) and value.ndim == 0)


def numbers(tensors: list[Any]) -> list[float]:
    """Returns the values of tensors with one element, or numbers. Waits for their devices."""
    late = [each.detach().float() for each in tensors if _is_tensor(each)]
    values = iter(keras.ops.stack(late).tolist() if late else ())
    return [next(values) if _is_tensor(each) else float(each) for each in tensors]


class VariableReader:
    """Reads a variable that holds one number; nothing waits for a device."""

    def __init__(self, variable: Any) -> None:
        self._variable = variable

    def read(self) -> list[Any]:
        """Returns the present value: torch changes variables in place."""
        value = self._variable.value.detach()
        return [value.item() if value.device.type == "cpu" else value.clone()]


def unscaled(gradient: Any, scale: Any) -> Any:
    """Returns a gradient divided by the scale of the loss."""
    return gradient / scale


def first_samples(tensor: Any, most_elements: int) -> Any:
    """Returns the first samples of a tensor as an array; None if it is no tensor of numbers."""
    if not _is_tensor(tensor) or tensor.is_sparse or tensor.is_complex():
        return None
    tensor = tensor.detach()
    if tensor.ndim:
        width = max(1, tensor.numel() // max(1, len(tensor)))
        tensor = tensor[: max(2, most_elements // width)]
    return (tensor.float() if tensor.is_floating_point() else tensor).cpu().numpy()


def uses_scores(predictions: Any) -> bool:
    """Returns whether a loss finds the scores behind `predictions`: only on TensorFlow."""
    return False
