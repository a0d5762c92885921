"""`OptimizerVeto`: skips the step of an optimizer when a rule fires inside it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import torch

from smdebug.rules.update_veto import UpdateVeto

if TYPE_CHECKING:
    from smdebug._core import Session
    from smdebug.pytorch.device.device_copies import DeviceCopies
    from smdebug.rules.step_monitor import StepMonitor


class OptimizerVeto(UpdateVeto):
    """Skips a step by hiding the gradients from the optimizer until its step has ended: no
    parameter and no state changes, including weight decay and momentum.

    An optimizer that computes its gradients in a closure (LBFGS) cannot skip a step.

    Waits for tensors that are being copied from a device, because the rules judge them before the
    parameters change.
    """

    def __init__(
        self,
        session: Session,
        rules: StepMonitor,
        judges_every_worker: bool,
        world_size: Callable[[], int],
        isolate: Callable[[str], AbstractContextManager[None]],
        device_copies: DeviceCopies,
    ) -> None:
        super().__init__(session, rules, judges_every_worker, world_size, isolate)
        self._device_copies = device_copies
        self._hidden = weakref.WeakKeyDictionary()  # optimizer -> its parameters and gradients

    def before(self, optimizer: torch.optim.Optimizer, has_closure: bool) -> None:
        """Judges the step and hides the gradients if a rule asks to skip the update."""
        with self._isolate("copying from the device"):
            self._device_copies.hand_over()
        obstacle = "the optimizer computes its gradients in a closure" if has_closure else None
        if self.skips_update(obstacle):
            self._hide(optimizer)

    def after(self, optimizer: torch.optim.Optimizer) -> None:
        """Restores the gradients that `before` hid."""
        for parameter, gradient in self._hidden.pop(optimizer, ()):
            parameter.grad = gradient

    def _hide(self, optimizer: torch.optim.Optimizer) -> None:
        self._hidden[optimizer] = [
            (parameter, parameter.grad)
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        ]
        for parameter, _ in self._hidden[optimizer]:
            parameter.grad = None
