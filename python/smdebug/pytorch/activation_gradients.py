"""The gradients of module outputs: collection `activation_gradients`.

`activation_gradient/<path>_output_<i>` is the gradient of `<path>_output_<i>`. It is saved when the
backward pass reaches that output, so outputs that the backward pass does not reach have none.
Compiled models have none either, because torch.compile does not support hooks on inner tensors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from smdebug import _core
from smdebug.log import get_logger
from smdebug.pytorch.compiled import has_real_values
from smdebug.pytorch.module_hooks import PicklableHook

if TYPE_CHECKING:
    from smdebug._core import Session
    from smdebug.pytorch.module_hooks import CaptureSwitch
    from smdebug.pytorch.roots import Root

_logger = get_logger()


class ActivationGradientHook(PicklableHook):
    """A forward hook that registers a gradient hook on each output that is due."""

    def __call__(self, module: Any, arguments: Any, output: Any) -> None:
        """Watches the gradients of the outputs of a saved step."""
        if self.switch.is_on and has_real_values():
            self.target.watch_gradients(output)


class ActivationGradients:
    """The forward hooks of all modules of a hook, installed only while a step is saved."""

    def __init__(self, session: Session, switch: CaptureSwitch) -> None:
        self._session = session
        self._switch = switch
        self._is_saved = False
        self._has_warned = False
        self._handles: list[Any] = []

    def follow_plan(self) -> None:
        """Checks whether the current plan saves the collection."""
        self._is_saved = self._session.saves("activation_gradients")

    def follow(self, roots: Iterable[Root], is_saved_step: bool) -> None:
        """Installs the hooks for a saved step and removes them for any other step."""
        wanted = is_saved_step and self._is_saved
        if wanted and not self._handles:
            for root in roots:
                self._open(root)
        elif not wanted:
            self.close()

    def join(self, root: Root) -> None:
        """Installs the hooks of a root that is registered during a saved step."""
        if self._is_saved:
            self._open(root)

    def _open(self, root: Root) -> None:
        if root.is_compiled:
            self._warn(root)
            return
        for module, path in root.paths.items():
            slots = self._session.module(_core.activation_gradient_module(path))
            hook = ActivationGradientHook(self._switch, slots)
            self._handles.append(module.register_forward_hook(hook))

    def _warn(self, root: Root) -> None:
        if not self._has_warned:
            self._has_warned = True
            _logger.warning(
                "activation gradients of the compiled model '%s' are not saved: to save them, "
                "register the model before torch.compile and call it uncompiled",
                root.name,
            )

    def close(self) -> None:
        """Removes all hooks."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
