"""Saves the values of variables once per step: weights, and the variables of an optimizer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from smdebug import _core
from smdebug.tensorflow import names
from smdebug.tensorflow.tensors import as_array


class VariableValues:
    """A list of variables, each with its slot in the run. `is_bias(name)` returns whether the
    weight of that name is a bias; only weights need it."""

    def __init__(self, session: Any, is_bias: Callable[[str], bool] | None = None) -> None:
        self._session = session
        self._is_bias = is_bias
        self._slots: list[Any] = []
        self._variables: list[Any] = []
        self._are_mirrored: list[bool] = []  # whether replicas hold copies, alike in theory

    def may_be_due(self) -> bool:
        """Returns whether one of the known variables is due, or none is known."""
        return not self._slots or any(slot.is_due() for slot in self._slots)

    def follow_weights(self, weights: Sequence[tuple[str, Any]]) -> None:
        """Takes the weights of a model: (name of the layer, variable) of each."""
        if self._is_known([variable for _, variable in weights]):
            return
        named = []
        for layer, variable in weights:
            name = names.variable_name(variable)
            collection = "biases" if self._is_bias(name) else "weights"
            named.append((_core.layer_weight_name(layer, name), collection, variable))
        self._follow(named)
        # A variable that is not trained moves with the replica's part of the data. Keras merges the
        # copies when the model is read.
        self._are_mirrored = [variable.trainable for _, variable in weights]

    def follow_optimizer(self, variables: Sequence[Any]) -> None:
        """Takes the variables of an optimizer."""
        if not self._is_known(variables):
            self._follow([(names.variable_name(v), "optimizer_variables", v) for v in variables])

    def put(self, values: Mapping[int, Any], is_per_replica: bool) -> None:
        """Saves the variables that are due: the entry of `values` under the variable's id, or the
        variable's present value. With `is_per_replica`, each replica's own copy is saved."""
        known = zip(self._slots, self._variables, self._are_mirrored, strict=True)
        for slot, variable, is_mirrored in known:
            if not slot.is_due():
                continue
            if is_mirrored and is_per_replica:
                put_copies(self._session, slot, variable)
            else:
                value = values.get(id(variable))
                slot.put(as_array(value_of(variable) if value is None else value))

    def _is_known(self, variables):
        return len(variables) == len(self._variables) and all(
            new is old for new, old in zip(variables, self._variables, strict=True)
        )

    def _follow(self, named):
        self._slots = [self._session.tensor(name, [collection]) for name, collection, _ in named]
        self._variables = [variable for _, _, variable in named]
        self._are_mirrored = [True] * len(named)


def put_copies(session: Any, slot: Any, variable: Any) -> None:
    """Saves each replica's copy of a variable, if it is due. `session` is a ReplicaSessions that
    has a session for each replica."""
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
