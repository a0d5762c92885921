"""The gradients of what modules give: collection `activation_gradients`.

`activation_gradient/<path>_output_<i>` is the gradient of `<path>_output_<i>`. It is saved when
backward comes to that output, so only for outputs that backward passes through. Compiled models
have none: torch.compile takes no hook on a tensor inside.
"""

from smdebug import _core
from smdebug.log import get_logger
from smdebug.pytorch.compiled import is_live
from smdebug.pytorch.module_hooks import Stateless

logger = get_logger()


class ActivationGradientHook(Stateless):
    """A forward hook that hangs a gradient hook on each output that is due."""

    def __call__(self, module, arguments, output):
        if self.gate.is_open and is_live():
            self.site.watch_gradients(output)


class ActivationGradients:
    """The forward hooks of all modules of a hook, in only while a step is saved."""

    def __init__(self, session, gate):
        self._session = session
        self._gate = gate
        self._is_saved = False
        self._has_told = False
        self._handles = []

    def follow_plan(self):
        """Outputs are watched only where the plan has the collection."""
        self._is_saved = self._session.saves("activation_gradients")

    def follow(self, roots, is_saved_step):
        """Puts the hooks in for a step that is saved, takes them out for one that is not."""
        wanted = is_saved_step and self._is_saved
        if wanted and not self._handles:
            for root in roots:
                self._open(root)
        elif not wanted:
            self.close()

    def join(self, root):
        """For a root that is registered while a step is saved."""
        if self._is_saved:
            self._open(root)

    def _open(self, root):
        if root.is_compiled:
            self._tell(root)
            return
        for module, path in root.paths.items():
            site = self._session.module(_core.activation_gradient_module(path))
            hook = ActivationGradientHook(self._gate, site)
            self._handles.append(module.register_forward_hook(hook))

    def _tell(self, root):
        if not self._has_told:
            self._has_told = True
            logger.warning(
                "activation gradients of the compiled model '%s' are not saved: register the model "
                "before torch.compile, and call it uncompiled, to have them",
                root.name,
            )

    def close(self):
        for handle in self._handles:
            handle.remove()
        self._handles = []
