"""Logs once what `smdebug run` cannot record of a script, or changes in it: when an optimizer acts
for the first time."""

from __future__ import annotations

from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from smdebug import current_hook
from smdebug.autostart import complain
from smdebug.log import get_logger


class LaunchNotes:
    """Checks once what was found by then. Its hook stays installed and inactive, because torch
    iterates over its hooks while it calls one, so none can be removed."""

    def __init__(self) -> None:
        self._has_looked = False
        register_optimizer_step_pre_hook(self._on_update)

    def _on_update(self, optimizer: Any, arguments: Any, keywords: Any) -> None:
        if self._has_looked:
            return
        self._has_looked = True
        try:
            self._look()
        except Exception as error:
            complain(repr(error))

    def _look(self) -> None:
        hooks = current_hook.open_hooks()
        if not hooks:
            complain(
                "an optimizer acts, but no model with trainable parameters was called: a model is "
                "recorded when it is called as model(x), not as model.forward(x)"
            )
        if any(map(_has_fast_path, hooks)):
            get_logger().info(
                "torch does not use the fast path of TransformerEncoderLayer in evaluation while "
                "it is recorded: evaluation results may differ in the last bits, training results "
                "do not"
            )


def _has_fast_path(hook: Any) -> bool:
    modules = getattr(hook, "registered_modules", list)()
    return any(isinstance(module, torch.nn.TransformerEncoderLayer) for module in modules)
