"""Which tensors of a batch belong to which input and which output of a model with several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from smdebug.hook_arguments import encodable
from smdebug.measured_loss import LossKind
from smdebug.tensorflow.keras.loss_kinds import loss_kind, loss_kinds
from smdebug.tensorflow.keras.model_parts import is_made_of_layers


@dataclass(frozen=True)
class Structure:
    """The form of the inputs, labels or predictions of a batch, whose tensors have numbers."""

    count: int = 0  # of its tensors; 0: there are none, or it is unknown which is which
    keys: tuple[str, ...] | None = None  # of a dict, by number; None: they have an order

    @staticmethod
    def of(data: Any, tensors: list[Any]) -> Structure:
        """The form of `data`, in which `tensors` were found."""
        if isinstance(data, Mapping):
            elements, keys = list(data.values()), tuple(sorted(map(str, data)))
        elif isinstance(data, (list, tuple)):
            elements, keys = list(data), None
        else:
            elements, keys = [data], None
        # Containers in containers, or elements that are no tensors.
        is_known = {id(each) for each in elements} == {id(each) for each in tensors}
        return Structure(len(tensors), keys) if is_known else Structure()


@dataclass(frozen=True)
class Output:
    """An output of a model with the loss that it is trained by."""

    name: str  # empty: it has none, or is the only one
    loss: LossKind
    label: int | None  # the number of its labels; None: unknown
    prediction: int | None


def input_position(model: Any, inputs: Structure, number: int) -> int | None:
    """The position in `model.inputs` of the input `number` of a batch; None if it is unknown."""
    if not is_made_of_layers(model) or inputs.count != len(model.inputs or ()):
        return None
    if inputs.keys is None or inputs.count == 1:
        return number
    names = [str(each.name).partition(":")[0] for each in model.inputs]
    wanted = inputs.keys[number]
    return names.index(wanted) if names.count(wanted) == 1 else None


def outputs_of(model: Any, labels: Structure, predictions: Structure) -> list[Output]:
    """The outputs of a model that have a loss, with their labels and predictions in a batch."""
    kinds = loss_kinds(model)
    if predictions.count > 1 and len(kinds) > 0:
        return _several_outputs(model, labels, predictions) or _unknown(kinds)
    if len(kinds) == labels.count == predictions.count == 1:
        return [Output("", kinds[0], 0, 0)]
    return _unknown(kinds)


def _unknown(kinds):
    return [Output("", kind, None, None) for kind in kinds]


def _several_outputs(model, labels, predictions):
    """The outputs; empty if it is unknown to which of them a loss belongs."""
    names = predictions.keys or _output_names(model, predictions.count)
    given = model.loss
    if isinstance(given, Mapping):
        losses = [given.get(name) for name in names]
        if set(given) - set(names):
            return []
    elif isinstance(given, (list, tuple)):
        if predictions.keys is not None or len(given) != len(names):
            return []
        losses = list(given)
    else:
        losses = [given] * len(names)
    found = [
        Output(encodable(name), loss_kind(loss), _label(labels, predictions, name, number), number)
        for number, (name, loss) in enumerate(zip(names, losses, strict=True))
        if loss is not None
    ]
    return found if len(found) > 1 else [replace(each, name="") for each in found]


def _output_names(model, count):
    names = list(getattr(model, "output_names", None) or ())
    return names if len(names) == count else [""] * count


def _label(labels, predictions, name, number):
    if labels.keys is not None:
        return labels.keys.index(name) if name in labels.keys else None
    is_same = predictions.keys is None and labels.count == predictions.count
    return number if is_same else None
