"""`OptimizerWatch`: lets a hook warn of a mistake when an optimizer acts."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch.compiler import is_compiling
from torch.optim.optimizer import register_optimizer_step_post_hook

if TYPE_CHECKING:
    from smdebug.pytorch.hook import Hook


class OptimizerWatch:
    """Calls `note(hook, optimizer)` after each step of any optimizer, until it returns True or
    `cancel` is called. Does not keep the hook alive."""

    def __init__(self, hook: Hook, note: Callable[[Hook, Any], bool]) -> None:
        reference = weakref.ref(hook)
        is_done = False

        def after(optimizer: Any, args: Any, kwargs: Any) -> None:
            nonlocal is_done
            if is_done or is_compiling():
                return
            found = reference()
            # torch is iterating over its hooks, so this one stays until `cancel`.
            is_done = found is None or note(found, optimizer)

        self._handle = register_optimizer_step_post_hook(after)

    def cancel(self) -> None:
        """Removes the hook of the optimizers."""
        self._handle.remove()
