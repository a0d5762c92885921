"""`RegistrationReminder`: warns if an optimizer acts before a model was registered."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from torch.compiler import is_compiling
from torch.optim.optimizer import register_optimizer_step_post_hook

if TYPE_CHECKING:
    from smdebug.pytorch.hook import Hook


class RegistrationReminder:
    """Makes `hook` warn once, at the first step of any optimizer, until `cancel`. Does not keep the
    hook alive."""

    def __init__(self, hook: Hook) -> None:
        reference = weakref.ref(hook)
        has_warned = False

        def remind(optimizer: Any, args: Any, kwargs: Any) -> None:
            nonlocal has_warned
            if is_compiling() or has_warned:
                return
            has_warned = True  # torch is iterating over its hooks, so this one stays
            found = reference()
            if found is not None:
                found.warn_of_no_module()

        self._handle = register_optimizer_step_post_hook(remind)

    def cancel(self) -> None:
        """Removes the hook of the optimizers."""
        self._handle.remove()
