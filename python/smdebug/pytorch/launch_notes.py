"""What `smdebug run` cannot record of a script, or changes in it: said once, when an optimizer acts
for the first time."""

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from smdebug import current_hook
from smdebug.autostart import complain
from smdebug.log import get_logger


class LaunchNotes:
    """Looks once at what was found by then. Its hook stays, and does nothing more: torch walks over
    its hooks when it calls one, so none can go then."""

    def __init__(self):
        self._has_looked = False
        register_optimizer_step_pre_hook(self._on_update)

    def _on_update(self, optimizer, arguments, keywords):
        if self._has_looked:
            return
        self._has_looked = True
        try:
            self._look()
        except Exception as error:
            complain(repr(error))

    def _look(self):
        hooks = current_hook.open_hooks()
        if not hooks:
            complain(
                "an optimizer acts, but no model with parameters to train was called: a model is "
                "recorded when it is called as model(x), not as model.forward(x)"
            )
        if any(map(_has_fast_path, hooks)):
            get_logger().info(
                "torch takes no fast path for TransformerEncoderLayer in evaluation while it is "
                "watched: results of evaluation may differ in the last bits, the training's do not"
            )


def _has_fast_path(hook):
    modules = getattr(hook, "registered_modules", list)()
    return any(isinstance(module, torch.nn.TransformerEncoderLayer) for module in modules)
