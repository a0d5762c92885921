"""`StepSeries`: notes losses, learning rates and gradient scales of every step, saved or not."""

from __future__ import annotations

import contextlib
import math
import weakref
from typing import TYPE_CHECKING, Any

import torch

from smdebug import _core
from smdebug.log import get_logger
from smdebug.pytorch.optimizers import OptimizerNames

if TYPE_CHECKING:
    from collections.abc import Callable

    from smdebug.pytorch.device.device_copies import DeviceCopies

_logger = get_logger()

# A step of most trainings has one or two backward passes, and one optimizer with few groups.
_MOST_LOSSES = 4
_MOST_GROUPS = 4
# So many numbers on a device wait for the next saved step.
_MOST_LATE = 64


class StepSeries:
    """Scalar series of one hook.

    | series | value |
    |---|---|
    | `<loss>_output_0`, `_1`, … | the number from which a backward pass of the step starts |
    | `<module>_output_0`, `_1`, … | what a loss module returns in a step of evaluation |
    | `learning_rate/<optimizer>/<group>` | the learning rate, when the optimizer acts |
    | `gradient_scale` | the scale of the gradients, when a gradient scaler has used it |
    | `update_skipped` | 1 if a gradient scaler skips an update, else 0 |
    | `repeated_calls` | the calls of models beyond the first of each, if there are any |

    A loss of evaluation has the name of its saved tensor: if a step calls the module again, the
    numbering continues. Only single numbers are noted, of at most four calls, and no loss that
    compiled code computes.

    A number on a device is copied with the tensors of the next saved step, so that the training
    does not wait for it. No method raises.
    """

    def __init__(self, session: _core.Session, copies: DeviceCopies, loss: str) -> None:
        self._session = session
        self._copies = copies
        self._loss_slots = [session.scalar(f"{loss}_output_{i}") for i in range(_MOST_LOSSES)]
        self._losses = 0  # of the open step
        self._evaluation_slots: dict[str, list[_core.ScalarSlot]] = {}  # by name of a module
        self._evaluated: dict[str, int] = {}  # calls of loss modules, in the open step
        self._repeats_slot = session.scalar(_core.REPEATED_CALLS)
        self._called: set[int] = set()  # models, in the open step
        self._repeats = 0
        # (slot, step, number on a device)
        self._late: list[tuple[_core.ScalarSlot, Any, torch.Tensor]] = []
        self._names = OptimizerNames()
        self._rate_slots: weakref.WeakKeyDictionary[Any, list[_core.ScalarSlot]] = (
            weakref.WeakKeyDictionary()
        )
        # The optimizer that acted last, and its slots.
        self._last: Callable[[], Any] = lambda: None
        self._last_slots: list[_core.ScalarSlot] = []
        # The series of gradient scalers: the scale, whether an update is skipped.
        self._scaler_slots: tuple[_core.ScalarSlot, _core.ScalarSlot] | None = None
        self._is_off = False

    def end_step(self) -> None:
        """Notes the end of a step, before the copies of its tensors are waited for."""
        self._losses = self._repeats = 0
        self._called.clear()
        self._evaluated.clear()
        if self._late and self._session.is_capturing():
            self.copy_late()

    def close(self) -> None:
        """Copies the numbers that are left. No further one is noted."""
        self._is_off = True
        self.copy_late()

    def note_call(self, model: int) -> None:
        """Notes that a model is called."""
        if model not in self._called:
            self._called.add(model)
        elif not self._is_off:
            self._repeats += 1
            self._repeats_slot.note(self._repeats)

    def note_loss(self, loss: torch.Tensor) -> bool:
        """Notes the number from which a backward pass starts. Returns whether it is known already,
        and NaN or infinite."""
        if self._is_off or self._losses == _MOST_LOSSES:
            return False
        slot = self._loss_slots[self._losses]
        self._losses += 1
        try:
            if loss.is_cpu:
                value = loss.item()
                slot.note(value)
                return not math.isfinite(value)
            self._note_late(slot, loss.detach())
        except Exception as error:  # a tensor of another library, or without a value
            self._stop(error)
        return False

    def note_evaluation(self, name: str, output: Any) -> None:
        """Notes what the loss module of that name returns in a step of evaluation."""
        number = self._evaluated.get(name, 0)
        if self._is_off or number == _MOST_LOSSES:
            return
        self._evaluated[name] = number + 1
        with contextlib.suppress(Exception):  # it may have no value of its own, as under vmap
            if output.numel() != 1 or output.is_complex():
                return
            slot = self._evaluation_slot(name, number)
            if output.is_cpu:
                slot.note(output.item())
            else:  # the script may add to the loss in place
                self._note_late(slot, output.detach().clone())

    def _evaluation_slot(self, name: str, number: int) -> _core.ScalarSlot:
        slots = self._evaluation_slots.setdefault(name, [])
        while len(slots) <= number:
            slots.append(self._session.scalar(f"{name}_output_{len(slots)}"))
        return slots[number]

    def note_rates(self, optimizer: Any) -> None:
        """Notes the learning rates of an optimizer that is about to act."""
        if self._is_off:
            return
        try:
            if self._last() is not optimizer:
                self._follow(optimizer)
            for slot, group in zip(self._last_slots, optimizer.param_groups, strict=False):
                rate = group["lr"]
                if isinstance(rate, (float, int)) or rate.is_cpu:  # a tensor may be on a device
                    slot.note(float(rate))
        except Exception as error:  # an optimizer of a library may lack what torch's have
            self._stop(error)

    def note_scaler(self, scale: torch.Tensor, infinities: list[torch.Tensor]) -> None:
        """Notes the scale of the gradients of an update, which then changes in place. Of
        `infinities`, one is above 0 if the update is skipped; without any it is unknown."""
        if self._is_off:
            return
        try:
            if self._scaler_slots is None:
                self._scaler_slots = (
                    self._session.scalar(_core.GRADIENT_SCALE),
                    self._session.scalar(_core.UPDATE_SKIPPED),
                )
            scale_slot, skipped_slot = self._scaler_slots
            if scale.is_cpu:
                scale_slot.note(scale.item())
                if infinities:
                    skipped_slot.note(float(any(each.item() > 0 for each in infinities)))
                return
            self._note_late(scale_slot, scale.detach().clone())
            if len({each.device for each in infinities}) == 1:
                self._note_late(skipped_slot, torch.stack(infinities).amax())
        except Exception as error:
            self._stop(error)

    def _note_late(self, slot: _core.ScalarSlot, number: torch.Tensor) -> None:
        if self._copies.is_recorded(number.device):
            return
        self._late.append((slot, self._session.step, number))
        if len(self._late) >= _MOST_LATE:
            self.copy_late()

    def copy_late(self) -> None:
        """Copies the numbers that are on a device with the tensors of the open step."""
        late, self._late = self._late, []
        by_device: dict[torch.device, _LateNumbers] = {}
        for slot, step, number in late:
            by_device.setdefault(number.device, _LateNumbers()).add(slot, step, number)
        for numbers in by_device.values():
            numbers.begin(self._copies)

    def _follow(self, optimizer: Any) -> None:
        slots = self._rate_slots.get(optimizer)
        if slots is None:
            slots = self._rate_slots[optimizer] = self._make_rate_slots(optimizer)
        self._last, self._last_slots = weakref.ref(optimizer), slots

    def _make_rate_slots(self, optimizer: Any) -> list[_core.ScalarSlot]:
        groups = min(len(optimizer.param_groups), _MOST_GROUPS)
        if not all("lr" in group for group in optimizer.param_groups[:groups]):
            return []
        name = self._names.name_of(optimizer)
        return [self._session.scalar(_core.learning_rate_name(name, i)) for i in range(groups)]

    def _stop(self, error: Exception) -> None:
        self._is_off = True
        _logger.warning(
            "losses and learning rates are recorded in saved steps only from now on: %r", error
        )


class _LateNumbers:
    """Numbers of several steps on one device."""

    def __init__(self) -> None:
        self._places: list[tuple[_core.ScalarSlot, Any]] = []
        self._numbers: list[torch.Tensor] = []

    def add(self, slot: _core.ScalarSlot, step: Any, number: torch.Tensor) -> None:
        self._places.append((slot, step))
        self._numbers.append(number.reshape(()))

    def begin(self, copies: DeviceCopies) -> None:
        """Starts the copy. If the device does not take it, the numbers are missing."""
        copies.fetch(torch.stack([each.float() for each in self._numbers]), self._note)

    def _note(self, copy: torch.Tensor) -> None:
        for (slot, step), value in zip(self._places, copy.tolist(), strict=True):
            slot.note_at(step, value)
