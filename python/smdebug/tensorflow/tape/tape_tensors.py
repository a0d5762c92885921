"""The tensors of a call of `tape.gradient`: their names, their slots, and how each is read."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from smdebug.tensorflow import names
from smdebug.tensorflow.tensors import LARGEST_DENSE_BYTES, as_array, why_not
from smdebug.tensorflow.variable_values import value_of

KINDS = LOSSES, WEIGHTS, GRADIENTS = "losses", "weights", "gradients"


class CountsLosses(Protocol):
    """A step, as far as the names of its losses go."""

    losses: int  # recorded so far


class TapeTensors:
    """The slots of all tensors that tapes have shown. `is_bias(name)` returns whether the weight of
    that name is a bias."""

    def __init__(self, session: Any, is_bias: Callable[[str], bool]) -> None:
        self._session = session
        self._is_bias = is_bias
        self._slots: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}

    def sorted_out(
        self, step: CountsLosses, target: Any, sources: Any, gradients: Any
    ) -> list["TapeTensor"]:
        """The tensors in `tape.gradient(target, sources)` and its result `gradients`. `step` counts
        its losses. Values that cannot be saved are left out, with a message."""
        found = [self._loss(step, each) for each in tf.nest.flatten(target)]
        pairs = zip(tf.nest.flatten(sources), tf.nest.flatten(gradients), strict=True)
        for source, gradient in pairs:
            if not is_variable(source):
                continue
            name = names.variable_name(source)
            weight = names.tape_weight(name)
            collections = ["biases" if self._is_bias(weight) else WEIGHTS]
            found.append(Weight(WEIGHTS, self._slot(WEIGHTS, weight, collections), source))
            if gradient is not None:
                slot = self._slot(GRADIENTS, names.gradient(name), [GRADIENTS])
                found.append(_gradient(slot, source, gradient))
        return [each for each in found if _can_be_saved(each)]

    def is_due(self, kind: str) -> bool:
        """Whether the open step saves a tensor of that kind."""
        return any(slot.is_due() for slot in self._slots[kind].values())

    def can_match(self, kind: str) -> bool:
        """Whether any step may save a tensor of that kind."""
        return any(slot.can_match() for slot in self._slots[kind].values())

    def _loss(self, step, loss):
        name = names.LOSS if step.losses == 0 else f"{names.LOSS}_{step.losses}"
        step.losses += 1
        return TapeTensor(LOSSES, self._slot(LOSSES, name, [LOSSES]), loss)

    def _slot(self, kind, name, collections):
        known = self._slots[kind]
        if name not in known:
            known[name] = self._session.tensor(name, collections)
        return known[name]


@dataclasses.dataclass
class TapeTensor:
    """A tensor of one of KINDS and its slot.

    A graph passes out its `parts`, tensors of the graph; `whole` makes one array of them.
    """

    kind: str
    slot: Any
    tensor: Any

    def why_not(self) -> str | None:
        """Why it cannot be saved; None if it can."""
        return why_not(self.tensor)

    def parts(self) -> list[Any]:
        """The tensors that make it up."""
        return [self.tensor]

    def specs(self) -> list[tf.TensorSpec]:
        """Shape and dtype of each part."""
        return [tf.TensorSpec(part.shape, part.dtype) for part in self.parts()]

    def whole(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The array to save, given the values of the parts."""
        return arrays[0]

    def put(self) -> None:
        """Saves it in eager code, if it is due."""
        if self.slot.is_due():
            put_array(self.slot, self.whole([as_array(part) for part in self.parts()]))


class Weight(TapeTensor):
    """A variable, which is read when its value is needed."""

    def parts(self) -> list[Any]:
        """The current value."""
        return [value_of(self.tensor)]

    def specs(self) -> list[tf.TensorSpec]:
        """Shape and dtype, without a read."""
        return [tf.TensorSpec(self.tensor.shape, self.tensor.dtype)]


@dataclasses.dataclass
class SparseGradient(TapeTensor):
    """A tf.IndexedSlices: some rows of a gradient of that shape, which is zero elsewhere."""

    shape: tuple[int, ...]

    def why_not(self) -> str | None:
        """Why it cannot be saved; None if it can."""
        if not all(self.shape):
            return None
        dense_bytes = int(np.prod(self.shape, dtype=np.int64)) * self.tensor.dtype.size
        if dense_bytes <= LARGEST_DENSE_BYTES:
            return None
        return f"as a dense tensor it would take {dense_bytes} bytes"

    def parts(self) -> list[Any]:
        """The rows and their indices."""
        return [self.tensor.values, self.tensor.indices]

    def whole(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The dense gradient; rows of the same index are added up."""
        rows, indices = arrays
        dense = np.zeros(self.shape, rows.dtype)
        np.add.at(dense, indices, rows)
        return dense


def _gradient(slot, source, gradient):
    if isinstance(gradient, tf.IndexedSlices):
        return SparseGradient(GRADIENTS, slot, gradient, tuple(source.shape))
    return TapeTensor(GRADIENTS, slot, gradient)


def is_variable(source: Any) -> bool:
    """Whether a source of gradients is a variable of TensorFlow or Keras."""
    return isinstance(source, tf.Variable) or callable(getattr(source, "assign", None))


def put_variable(slot: Any, variable: Any) -> None:
    """Saves what a variable holds now, if it is due."""
    if slot.is_due():
        put_array(slot, as_array(value_of(variable)))


def put_array(slot: Any, array: np.ndarray) -> None:
    """Saves an array; one without dimensions gets shape (1,)."""
    slot.put(array.reshape(1) if array.ndim == 0 else array)


def _can_be_saved(each):
    reason = each.why_not()
    if reason is not None:
        each.slot.skip(reason)
    return reason is None
