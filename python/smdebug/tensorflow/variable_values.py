"""Saves the values of variables once per step: weights, and the variables of an optimizer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from smdebug import _core
from smdebug._core import GroupSlot
from smdebug.tensorflow import names
from smdebug.tensorflow.replica_sessions import ReplicaSessions
from smdebug.tensorflow.tensors import as_array


class VariableValues:
    """A list of variables, each with its slot in the run. `is_bias(name)` returns whether the
    weight of that name is a bias; only weights need it."""

    def __init__(
        self, session: ReplicaSessions, is_bias: Callable[[str], bool] = lambda name: False
    ) -> None:
        self._session = session
        self._is_bias = is_bias
        # Slot, variable, and whether replicas hold copies, which should be equal.
        self._known: list[tuple[GroupSlot, Any, bool]] = []

    def may_be_due(self) -> bool:
        """Returns whether one of the known variables is due, or none is known."""
        return not self._known or any(slot.is_due() for slot, _, _ in self._known)

    def follow_weights(self, weights: Sequence[tuple[str, Any]]) -> None:
        """Takes the weights of a model: (name of the layer, variable) of each."""
        if self._knows([variable for _, variable in weights]):
            return
        self._known = []
        for layer, variable in weights:
            name = names.variable_name(variable)
            collection = "biases" if self._is_bias(name) else "weights"
            slot = self._session.tensor(_core.layer_weight_name(layer, name), [collection])
            # A variable that is not trained moves with the replica's part of the data. Keras merges
            # the copies when the model is read.
            self._known.append((slot, variable, variable.trainable))

    def follow_optimizer(self, variables: Sequence[Any]) -> None:
        """Takes the variables of an optimizer."""
        if not self._knows(variables):
            slots = [
                self._session.tensor(names.variable_name(each), ["optimizer_variables"])
                for each in variables
            ]
            self._known = [(*each, True) for each in zip(slots, variables, strict=True)]

    def put(self, values: Mapping[int, Any]) -> None:
        """Saves the variables that are due: the entry of `values` under the variable's id, or else
        the variable's present value, for each replica its own copy."""
        for slot, variable, is_mirrored in self._known:
            if not slot.is_due():
                continue
            value = values.get(id(variable))
            if value is None and is_mirrored:
                put_variable(self._session, slot, variable)
            else:
                slot.put(as_array(value_of(variable) if value is None else value))

    def _knows(self, variables):
        return len(variables) == len(self._known) and all(
            new is old for new, (_, old, _) in zip(variables, self._known, strict=True)
        )


def put_variable(session: ReplicaSessions, slot: GroupSlot, variable: Any) -> None:
    """Saves the present value of a variable, or the copy of each replica that has its own
    session."""
    if not session.is_per_replica:
        slot.put(as_array(value_of(variable)))
        return
    inner = variable if callable(variable.value) else variable.value  # of Keras 3
    copies = [as_array(copy.read_value()) for copy in session.copies(inner)]
    if len(copies) == 1:  # made outside of the strategy: the replicas share it
        slot.put(copies[0])
    else:
        slot.put_each(copies)


def value_of(variable: Any) -> Any:
    """Returns the present value of a variable of TensorFlow or Keras: a tensor of the framework."""
    value = variable.value
    value = value() if callable(value) else value  # tf.Variable; Keras 3 has it as a property
    read = getattr(value, "read_value", None)  # Keras 3 on TensorFlow: a tf.Variable inside
    return value if read is None else read()
