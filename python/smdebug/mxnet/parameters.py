"""The parameters of one registered model: their values and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mxnet import gluon
from mxnet.gluon.parameter import DeferredInitializationError
from mxnet.ndarray import NDArray

from smdebug._core import gradient_name
from smdebug.hook_arguments import encodable
from smdebug.mxnet.arrays import host_copy, put
from smdebug.mxnet.private_names import is_fresh, is_sparse

if TYPE_CHECKING:
    from smdebug import _core

_SPARSE = "it is stored sparse, so only its trainer can read it; its gradient is saved"


class ModelParameters:
    """Saves the parameters of `block`, by the names that Gluon gives them.

    They are looked up again in each saved step, so that parameters that get their shape late, or
    are replaced, are found. The value of a parameter is that on the first device: all devices hold
    the same. A gradient is the sum over the devices, as the trainer uses it.
    """

    def __init__(self, session: _core.Session, block: gluon.Block) -> None:
        self._session = session
        self._block = block
        self._value_slots: dict[str, _core.TensorSlot] = {}  # name of a parameter -> its slot
        self._gradient_slots: dict[str, _core.TensorSlot] = {}

    def put_values(self) -> None:
        """Saves the values that are due. Raises MXNetError if computing one failed."""
        for name, parameter in self._block.collect_params().items():
            slot = self._value_slots.get(name)
            if slot is not None and not slot.is_due():
                continue
            is_readable = not is_sparse(parameter)
            arrays = _present(parameter.list_data) if is_readable else []
            if is_readable and not arrays:
                continue  # without a slot, no collection lists it
            if slot is None:
                slot = self._value_slots[name] = self._session.tensor(encodable(name))
            if arrays:
                put(slot, arrays[0])
            elif slot.is_due():
                slot.skip(_SPARSE)

    def put_gradients(
        self,
        is_wanted: Callable[[gluon.Parameter], bool],
        is_reduced: bool = False,
        fresh_only: bool = False,
    ) -> None:
        """Saves the due gradients of the parameters for which `is_wanted` is true.

        `fresh_only` skips parameters without a backward pass since their last update. `is_reduced`
        means that each device holds the sum. Raises MXNetError if computing one failed.
        """
        for name, parameter in self._block.collect_params().items():
            if parameter.grad_req == "null" or not is_wanted(parameter):
                continue
            slot = self._gradient_slots.get(name)
            if slot is not None and not slot.is_due():
                continue
            if fresh_only and not any(map(is_fresh, _present(parameter.list_data))):
                continue
            gradients = _present(parameter.list_grad)
            if slot is None and gradients:
                slot = self._session.tensor(gradient_name(encodable(name)))
                self._gradient_slots[name] = slot
            if len(gradients) == 1 or (gradients and is_reduced):
                put(slot, gradients[0])
            elif gradients and slot.is_due():
                slot.put(sum(host_copy(gradient) for gradient in gradients))


def _present(list_arrays: Callable[[], list[NDArray]]) -> list[NDArray]:
    """Returns a parameter's arrays, one per device; none if it is not initialized yet."""
    try:
        return list_arrays()
    except (DeferredInitializationError, RuntimeError):
        return []
