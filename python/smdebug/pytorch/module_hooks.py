"""What is hung into a module: objects that torch calls, and that read one bool.

They survive what happens to models. A deep copy of the model keeps calling the same hooks; a
model that was saved and loaded carries hooks without state, which do nothing.
"""

from torch.compiler import is_compiling

from smdebug.pytorch.private_names import current_graph_task_id


class Gate:
    """Open while a step wants tensors. All hooks of one smdebug hook share one."""

    def __init__(self):
        self.is_open = False
        self.has_loss = False  # a loss module ran in this step


_SHUT = Gate()


class _Stateless:
    gate = _SHUT
    site = None

    def __init__(self, gate, site):
        self.gate = gate
        self.site = site

    def __deepcopy__(self, memo):
        return self

    def __getstate__(self):
        return {}


class InputHook(_Stateless):
    """A forward pre-hook: an in-place module overwrites its input before a forward hook runs."""

    def __call__(self, module, arguments):
        if self.gate.is_open and not is_compiling():
            if current_graph_task_id() == -1:  # not a recomputation inside backward
                self.site.capture_inputs(arguments)


class OutputHook(_Stateless):
    def __call__(self, module, arguments, output):
        if self.gate.is_open and not is_compiling():
            if current_graph_task_id() == -1:
                self.site.capture_outputs(output)


class LossHook(OutputHook):
    def __call__(self, module, arguments, output):
        self.gate.has_loss = True
        super().__call__(module, arguments, output)


class RootHook(_Stateless):
    """A forward pre-hook of the root: where a step begins. `site` is a function."""

    def __call__(self, module, arguments):
        if self.site is not None and current_graph_task_id() == -1:
            self.site()


class WatchedModule:
    """One module and the hooks in it, which come out while nothing of it can be saved."""

    def __init__(self, module, gate, site, output_hook=OutputHook):
        self.module = module
        self.site = site
        self._input_hook = InputHook(gate, site)
        self._output_hook = output_hook(gate, site)
        self._input_handle = None
        self._output_handle = None

    def install(self):
        if self._input_handle is None:
            self._input_handle = self.module.register_forward_pre_hook(self._input_hook)
        if self._output_handle is None:
            self._output_handle = self.module.register_forward_hook(self._output_hook)

    def run_input_hook(self, arguments):
        """For a call that had begun when the hooks were installed."""
        self._input_hook(self.module, arguments)

    def prune(self):
        """Takes out what can never save anything. False: the module was not called yet."""
        if not self.site.was_called:
            return False
        if self._input_handle is not None and not self.site.can_match_input():
            self._input_handle.remove()
            self._input_handle = None
        if self._output_handle is not None and not self.site.can_match_output():
            self._output_handle.remove()
            self._output_handle = None
        return True

    def remove(self):
        for handle in (self._input_handle, self._output_handle):
            if handle is not None:
                handle.remove()
        self._input_handle = self._output_handle = None
