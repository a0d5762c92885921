"""The tensors of a call of `tape.gradient`, with their names and slots."""

import dataclasses
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from smdebug import _core
from smdebug._core import GroupSlot, UniqueNames
from smdebug.tensorflow import names, tensors
from smdebug.tensorflow.replica_sessions import ReplicaSessions
from smdebug.tensorflow.tape.loss_series import LossSeries
from smdebug.tensorflow.tensors import as_array, why_not
from smdebug.tensorflow.variable_values import value_of

# NUMBERS are losses that are noted in every step.
KINDS = NUMBERS, LOSSES, WEIGHTS, GRADIENTS = "numbers", "losses", "weights", "gradients"


class TapeTensors:
    """The slots of all tensors that tapes have reported. `is_bias(name)` returns whether the weight
    of that name is a bias."""

    def __init__(self, session: ReplicaSessions, is_bias: Callable[[str], bool]) -> None:
        self._session = session
        self._is_bias = is_bias
        self._slots: dict[str, dict[str, GroupSlot]] = {kind: {} for kind in KINDS}
        self.series: LossSeries | None = None  # None: losses are only saved

    def sorted_out(
        self,
        taken: "StepTensors",
        target: Any,
        sources: Any,
        gradients: Any,
        replica: int | None = None,
    ) -> list["TapeTensor"]:
        """Returns the tensors in `tape.gradient(target, sources)` and its result `gradients`,
        without the losses and weights in `taken`, those of the step so far, and adds the others to
        it. Skips values that cannot be saved, with a message. `replica` computes them, if there are
        several."""
        found: list[TapeTensor] = []
        sources = tf.nest.flatten(sources)
        for loss, name in taken.take_losses(tf.nest.flatten(target)):
            found.append(self._loss(name, loss, sources, replica))
        pairs = zip(sources, tf.nest.flatten(gradients), strict=True)
        for source, gradient in pairs:
            if not is_variable(source):
                continue
            weight = _core.weight_name(names.variable_name(source))
            if taken.take_weight(weight):
                collections = ["biases" if self._is_bias(weight) else WEIGHTS]
                found.append(Weight(WEIGHTS, self._slot(WEIGHTS, weight, collections), source))
            if gradient is not None:
                slot = self._slot(GRADIENTS, names.gradient_name(source), [GRADIENTS])
                found.append(_gradient(slot, source, gradient))
        return [each for each in found if _can_be_saved(each)]

    def is_due(self, kind: str) -> bool:
        """Returns whether the open step saves a tensor of that kind."""
        return any(slot.is_due() for slot in self._slots[kind].values())

    def can_match(self, kind: str) -> bool:
        """Returns whether any step may save a tensor of that kind."""
        return any(slot.can_match() for slot in self._slots[kind].values())

    @property
    def are_losses_noted(self) -> bool:
        """Whether NUMBERS are noted in every step."""
        return self.series is not None and self.series.is_on

    def _loss(self, name, loss, sources, replica):
        series = None
        if self.series is not None:
            variables = [names.variable_name(each) for each in sources if is_variable(each)]
            series = self.series.slot_of(name, loss, variables, replica)
        if series is None:
            return TapeTensor(LOSSES, self._slot(LOSSES, name, [LOSSES]), loss)
        return Number(NUMBERS, self._slot(NUMBERS, name, [LOSSES]), loss, self.series, series)

    def _slot(self, kind, name, collections):
        known = self._slots[kind]
        if name not in known:
            known[name] = self._session.tensor(name, collections)
        return known[name]


class StepTensors:
    """The losses and weights of one step that are recorded already. A script may take several
    gradients of a loss, and several of a weight."""

    def __init__(self) -> None:
        self._names = UniqueNames()
        self._losses: dict[int, Callable[[], Any]] = {}  # id of a loss -> a reference to it
        self._weights: set[str] = set()

    def take_losses(self, losses: Sequence[Any]) -> list[tuple[Any, str]]:
        """Returns (loss, name) of each loss that was not taken before, and takes it. The names are
        `loss`, `loss_1`, ..."""
        found = []
        for loss in losses:
            known = self._losses.get(id(loss))
            if known is None or known() is not loss:
                self._losses[id(loss)] = _reference(loss)
                found.append((loss, self._names.take(names.LOSS)))
        return found

    def take_weight(self, name: str) -> bool:
        """Returns whether the weight of that name was not taken before, and takes it."""
        is_new = name not in self._weights
        self._weights.add(name)
        return is_new


def _reference(tensor: Any) -> Callable[[], Any]:
    """Returns a function that returns `tensor` while it lives. Keeps it alive only if it takes no
    weak references, as the tensors of a graph do not, which the graph keeps."""
    try:
        return weakref.ref(tensor)
    except TypeError:
        return lambda: tensor


@dataclasses.dataclass
class TapeTensor:
    """A tensor of one of KINDS and its slot.

    A graph exports its `parts`, tensors of the graph; `whole` makes one array of them.
    """

    kind: str
    slot: GroupSlot
    tensor: Any

    def why_not(self) -> str | None:
        """Returns the reason why it cannot be saved; None if it can."""
        return why_not(self.tensor)

    def parts(self) -> list[Any]:
        """Returns its tensors."""
        return [self.tensor]

    def specs(self) -> list[tf.TensorSpec]:
        """Returns the shape and dtype of each part."""
        return [tf.TensorSpec(part.shape, part.dtype) for part in self.parts()]

    def whole(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Returns the array to save, given the values of the parts."""
        return arrays[0]

    def put(self) -> None:
        """Saves it in eager code, if it is due."""
        if self.slot.is_due():
            put_array(self.slot, self.whole([as_array(part) for part in self.parts()]))

    def note(self, tensor: Any) -> None:
        """Notes its eager value `tensor` in a series, if it has one."""

    def pass_out(self, arrays: Sequence[np.ndarray]) -> None:
        """Does the same for the values of the parts, which a graph passes out on any thread."""


@dataclasses.dataclass
class Number(TapeTensor):
    """A loss that is noted in every step."""

    losses: LossSeries
    series: _core.ScalarSlot

    def note(self, tensor: Any) -> None:
        """Notes its eager value `tensor`."""
        self.losses.note(self.series, tensor)

    def pass_out(self, arrays: Sequence[np.ndarray]) -> None:
        """Notes its value, which a graph passes out on any thread."""
        self.losses.pass_out(self.series, arrays[0])


class Weight(TapeTensor):
    """A variable, which is read when its value is needed."""

    def parts(self) -> list[Any]:
        """Returns the current value."""
        return [value_of(self.tensor)]

    def specs(self) -> list[tf.TensorSpec]:
        """Returns the shape and dtype, without a read."""
        return [tf.TensorSpec(self.tensor.shape, self.tensor.dtype)]


@dataclasses.dataclass
class SparseGradient(TapeTensor):
    """A tf.IndexedSlices: some rows of a gradient of that shape, which is zero elsewhere."""

    shape: tuple[int, ...]

    def why_not(self) -> str | None:
        """Returns the reason why it cannot be saved; None if it can."""
        return tensors.why_too_large(self.shape, self.tensor.dtype)

    def parts(self) -> list[Any]:
        """Returns the rows and their indices."""
        return [self.tensor.values, self.tensor.indices]

    def whole(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Returns the dense gradient; rows of the same index are added up."""
        return tensors.dense(*arrays, self.shape)


def _gradient(slot, source, gradient):
    if isinstance(gradient, tf.IndexedSlices):
        return SparseGradient(GRADIENTS, slot, gradient, tuple(source.shape))
    return TapeTensor(GRADIENTS, slot, gradient)


def is_variable(source: Any) -> bool:
    """Returns whether a source of gradients is a variable of TensorFlow or Keras."""
    return isinstance(source, tf.Variable) or callable(getattr(source, "assign", None))


def put_array(slot: GroupSlot, array: np.ndarray) -> None:
    """Saves an array; one without dimensions gets shape (1,)."""
    slot.put(array.reshape(1) if array.ndim == 0 else array)


def _can_be_saved(each):
    reason = each.why_not()
    if reason is not None:
        each.slot.skip(reason)
    return reason is None
