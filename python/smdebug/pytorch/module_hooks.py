"""What is hung into a module: objects that torch calls, and that read one bool.

They survive what happens to models. A deep copy of the model keeps calling the same hooks; a
model that was saved and loaded carries hooks without state, which do nothing.
"""

import torch
from torch.compiler import is_compiling

from smdebug.pytorch.private_names import current_graph_task_id


def leaves_inputs_alone(module):
    """Whether a forward hook still finds the inputs as they were: of torch's own layers, which
    only an `inplace` one overwrites. A layer that holds others, or one of the user's, may."""
    is_torchs_own = type(module).__module__.startswith("torch.nn.modules.")
    has_children = next(module.children(), None) is not None
    return is_torchs_own and not has_children and not getattr(module, "inplace", False)


class Gate:
    """Open while a step wants tensors. All hooks of one smdebug hook share one."""

    def __init__(self):
        self.is_open = False
        self.has_loss = False  # a loss module ran in this step
        # Outputs inside a compiled model: a compiled hook can only keep a copy. Site -> copy.
        self.kept = {}

    def put_kept(self):
        """Hands over what compiled hooks kept in the step that is open."""
        for site, output in self.kept.items():
            site.capture_outputs(output)
        self.kept.clear()


_SHUT = Gate()


class Stateless:
    """A hook that a copy of the model shares, and a saved and loaded model holds empty."""

    gate = _SHUT
    site = None

    def __init__(self, gate, site):
        self.gate = gate
        self.site = site

    def __deepcopy__(self, memo):
        return self

    def __getstate__(self):
        return {}


class InputHook(Stateless):
    """A forward pre-hook: an in-place module overwrites its input before a forward hook runs."""

    def __call__(self, module, arguments, keywords):
        if self.gate.is_open and not is_compiling():
            if current_graph_task_id() == -1:  # not a recomputation inside backward
                self.site.capture_inputs(arguments, keywords)


class OutputHook(Stateless):
    def __call__(self, module, arguments, output):
        if self.gate.is_open:
            if is_compiling():
                if isinstance(output, torch.Tensor):
                    self.gate.kept[self.site] = output.detach().clone()
            elif current_graph_task_id() == -1:
                self.site.capture_outputs(output)


class CallHook(OutputHook):
    """A forward hook that takes inputs and outputs, for modules that leave their inputs alone."""

    takes_inputs = True

    def __call__(self, module, arguments, keywords, output):
        if not self.gate.is_open:
            return
        if is_compiling() or not self.takes_inputs:
            super().__call__(module, arguments, output)
        elif current_graph_task_id() == -1:
            self.site.capture_call(arguments, keywords, output)


class LossHook(OutputHook):
    def __call__(self, module, arguments, output):
        self.gate.has_loss = True
        super().__call__(module, arguments, output)


class RootHook(Stateless):
    """A forward pre-hook of the root: where a step begins. `site` is a function that takes the
    root's arguments, positional and by keyword."""

    @torch.compiler.disable  # a step begins outside of compiled code
    def __call__(self, module, arguments, keywords):
        if self.site is not None and current_graph_task_id() == -1:
            self.site(arguments, keywords)


class WatchedModule:
    """One module and the hooks in it, which come out while nothing of it can be saved.

    The output hook stays: a compiled model knows only the hooks that it was compiled with. The
    input hook is there in steps that are saved, so that the others do not pay for it.
    The inputs of a root come from its RootHook, which sees each call of it.
    """

    def __init__(self, module, gate, site, output_hook=None, is_root=False):
        self.module = module
        self.site = site
        self._is_root = is_root
        leaves_inputs = output_hook is None and leaves_inputs_alone(module)
        self._call_hook = CallHook(gate, site) if leaves_inputs else None
        self._input_hook = None if leaves_inputs else InputHook(gate, site)
        self._output_hook = self._call_hook or (output_hook or OutputHook)(gate, site)
        self._input_handle = None
        self._output_handle = None
        self._takes_inputs = True

    def install(self):
        self._take_inputs(True)
        if self._output_handle is None:
            self._output_handle = self.module.register_forward_hook(
                self._output_hook, with_kwargs=self._call_hook is not None
            )

    def open_inputs(self):
        if self._is_root or not self._input_hook or not self._takes_inputs:
            return
        if self._input_handle is None:
            self._input_handle = self.module.register_forward_pre_hook(
                self._input_hook, with_kwargs=True
            )

    def close_inputs(self):
        if self._input_handle is not None:
            self._input_handle.remove()
            self._input_handle = None

    def run_input_hook(self, arguments, keywords):
        """For a call of a root."""
        if self._input_hook and self._takes_inputs:
            self._input_hook(self.module, arguments, keywords)

    def prune(self):
        """Takes out what can never save anything. False: the module was not called yet."""
        if not self.site.was_called:
            return False
        if not self.site.can_match_input():
            self._take_inputs(False)
        needs_output_hook = self.site.can_match_output() or (
            self._call_hook is not None and self._takes_inputs
        )
        if self._output_handle is not None and not needs_output_hook:
            self._output_handle.remove()
            self._output_handle = None
        return True

    def remove(self):
        self.close_inputs()
        if self._output_handle is not None:
            self._output_handle.remove()
            self._output_handle = None

    def _take_inputs(self, takes_inputs):
        self._takes_inputs = takes_inputs
        if self._call_hook is not None:
            self._call_hook.takes_inputs = takes_inputs
        if not takes_inputs:
            self.close_inputs()
