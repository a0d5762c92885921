"""`OptimizerVeto`: leaves out the step of an optimizer when a rule fires inside it."""

import weakref

from smdebug.rules.update_veto import UpdateVeto


class OptimizerVeto(UpdateVeto):
    """Skips a step by hiding the gradients from the optimizer until its step is over: no parameter
    and no state moves, weight decay and momentum included.

    Where the optimizer computes its gradients in a closure (LBFGS), none can be hidden.

    What is under way from a device is waited for: the rules are asked before the parameters move.
    """

    def __init__(self, session, rules, judges_every_worker, world_size, unharmed, device_copies):
        super().__init__(session, rules, judges_every_worker, world_size, unharmed)
        self._device_copies = device_copies
        self._hidden = weakref.WeakKeyDictionary()  # optimizer -> its parameters and gradients

    def before(self, optimizer, has_closure):
        with self._unharmed("copying from the device"):
            self._device_copies.hand_over()
        obstacle = "the optimizer computes its gradients in a closure" if has_closure else None
        if self.skips_update(obstacle):
            self._hide(optimizer)

    def after(self, optimizer):
        for parameter, gradient in self._hidden.pop(optimizer, ()):
            parameter.grad = gradient

    def _hide(self, optimizer):
        self._hidden[optimizer] = [
            (parameter, parameter.grad)
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        ]
        for parameter, _ in self._hidden[optimizer]:
            parameter.grad = None
