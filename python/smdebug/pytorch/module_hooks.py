"""What is hung into a module: objects that torch calls, and that read one bool.

They survive what happens to models. A deep copy of the model keeps calling the same hooks; a
model that was saved and loaded carries hooks without state, which do nothing.
"""

import functools

import torch

from smdebug.pytorch.compiled import (
    Places,
    is_live,
    is_traced,
    is_wanted,
    leave_call,
    look_ahead,
)
from smdebug.pytorch.detachable_hook import DetachableHook


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
        self.places = Places()


_SHUT = Gate()


class Stateless:
    """A hook that a copy of the model shares, and a saved and loaded model holds empty.

    `place` is the site in a compiled graph, see Places. Code that is compiled reads as little
    here as it can: what it read is looked at again before each run of the graph."""

    gate = _SHUT
    site = None
    place = ""

    def __init__(self, gate, site, place=""):
        self.gate = gate
        self.site = site
        self.place = place

    def __deepcopy__(self, memo):
        return self

    def __getstate__(self):
        return {}


class InputHook(Stateless):
    """A forward pre-hook: an in-place module overwrites its input before a forward hook runs."""

    def __call__(self, module, arguments, keywords):
        if is_traced():
            if is_wanted(self.place) and self.gate.is_open:
                leave_call((arguments, keywords), self.place)
        elif self.gate.is_open and is_live():
            self.site.capture_inputs(arguments, keywords)


class OutputHook(Stateless):
    def __call__(self, module, arguments, output):
        if is_traced():
            if is_wanted(self.place) and self.gate.is_open:
                leave_call(output, self.place)
        elif self.gate.is_open and is_live():
            self.site.capture_outputs(output)


class CallHook(OutputHook):
    """A forward hook that takes inputs and outputs, for modules that leave their inputs alone."""

    takes_inputs = True
    place_of_inputs = ""

    def __call__(self, module, arguments, keywords, output):
        if is_traced():
            if is_wanted(self.place_of_inputs) and self.gate.is_open:
                leave_call((arguments, keywords), self.place_of_inputs)
            super().__call__(module, arguments, output)
        elif not self.gate.is_open:
            return
        elif not self.takes_inputs:
            super().__call__(module, arguments, output)
        elif is_live():
            self.site.capture_call(arguments, keywords, output)


class LossHook(OutputHook):
    def __call__(self, module, arguments, output):
        self.gate.has_loss = True
        super().__call__(module, arguments, output)


class RootStart(Stateless):
    """A forward pre-hook of the root: where its steps begin. `site` is a function that takes the
    root's arguments, positional and by keyword.

    A root that is called inside compiled code begins its step there, when the graph that runs has
    been chosen already: by `coming`, which was asked when the step before began.
    """

    coming = False
    before_copy = None  # called before a copy of the root is made

    def __deepcopy__(self, memo):
        # torch copies the hooks of a module before the modules in it.
        if self.before_copy is not None:
            self.before_copy()
        return self

    def __call__(self, module, arguments, keywords):
        if is_traced():
            if is_wanted(self.place):
                look_ahead(self.place)
                self.gate.is_open = self.coming
                leave_call((arguments, keywords), self.place)
        else:
            self.begin(arguments, keywords)

    def begin(self, arguments, keywords):
        if self.site is not None and is_live():
            self.site(arguments, keywords)


# The hooks of a module that is called from outside may run before and after its compiled code
# rather than in it. There torch.compile would make a graph of each hook.
@torch.compiler.disable
def _run(hook, *arguments):
    hook(*arguments)


@torch.compiler.substitute_in_graph(_run, skip_signature_check=True)
def _run_in_graph(hook, *arguments):
    hook(*arguments)


def left_alone(hook):
    """`hook` as torch.compile takes it up inside compiled code, and only there."""
    return functools.partial(_run, hook)


class WatchedModule:
    """One module and the hooks in it, which are in while a step is saved: the other steps do not
    pay for them. What can never save anything is given up.

    Where a hook is part of compiled code, everything stays in and comes back as it was:
    torch.compile does not look for hooks that are new. Whoever calls `take_out` knows that there
    is none.

    The inputs of a root come from its RootStart, which sees each call of it. A root, or a loss, is
    called from outside.
    """

    def __init__(
        self,
        module,
        path,
        gate,
        site,
        output_hook=None,
        is_called_from_outside=False,
        is_root=False,
    ):
        self.module = module
        self.site = site
        self._is_root = is_root
        self._gate = gate
        self._inputs_name, self._outputs_name = f"{path}/input", f"{path}/output"
        leaves_inputs = output_hook is None and leaves_inputs_alone(module)
        self._call_hook = CallHook(gate, site) if leaves_inputs else None
        self._input_hook = None if leaves_inputs else InputHook(gate, site)
        self._output_hook = self._call_hook or (output_hook or OutputHook)(gate, site)
        as_called = left_alone if is_called_from_outside else lambda hook: hook
        self._before = None
        if self._input_hook and not is_root:
            self._before = DetachableHook(
                module, as_called(self._input_hook), is_before=True, takes_keywords=True
            )
        self._after = DetachableHook(
            module, as_called(self._output_hook), takes_keywords=self._call_hook is not None
        )
        self._takes_inputs = True
        self._takes_outputs = True
        self._keeps_inputs = False

    def install(self):
        """Takes everything again. Returns whether the hook behind the module had been given up."""
        self._take_inputs(True)
        was_given_up = not self._takes_outputs
        self._takes_outputs = True
        self._after.put_in()
        return was_given_up

    def put_in(self):
        """For a step that is saved."""
        if self._takes_outputs:
            self._after.put_in()
        if self._before is not None and self._takes_inputs:
            self._before.put_in()

    def keep_inputs(self):
        """For code that is compiled before its step begins: the hooks are in for good."""
        self._keeps_inputs = True
        self.put_in()

    def close_inputs(self):
        if self._before is not None and not self._keeps_inputs:
            self._before.take_out()

    def take_out(self):
        """For steps that are not saved. What is behind a root stays: torch may be looking at it."""
        self.close_inputs()
        if not self._is_root:
            self._after.take_out()

    def run_input_hook(self, arguments, keywords):
        """For a call of a root."""
        if self._input_hook and self._takes_inputs:
            self._input_hook(self.module, arguments, keywords)

    def prune(self):
        """Gives up what can never save anything. False: the module was not called yet."""
        if self._gate.places.are_traced:
            return True
        if not self.site.was_called:
            return False
        if not self.site.can_match_input():
            self._take_inputs(False)
        self._takes_outputs = self.site.can_match_output() or (
            self._call_hook is not None and self._takes_inputs
        )
        if not self._takes_outputs:
            self._after.take_out()
        return True

    def remove(self):
        self._keeps_inputs = False
        self.close_inputs()
        self._after.take_out()

    def find_places(self):
        """Says what code that is compiled from now on is to hand over, by the coming plan."""
        places, site = self._gate.places, self.site
        inputs = places.add(
            self._inputs_name,
            lambda tensors: site.capture_inputs(tuple(tensors), {}),
            site.may_match_input(),
        )
        outputs = places.add(self._outputs_name, site.capture_outputs, site.may_match_output())
        self._output_hook.place = outputs
        if self._call_hook is not None:
            self._call_hook.place_of_inputs = inputs
        else:
            self._input_hook.place = inputs

    def _take_inputs(self, takes_inputs):
        self._takes_inputs = takes_inputs
        if self._call_hook is not None:
            self._call_hook.takes_inputs = takes_inputs
        if not takes_inputs:
            self.close_inputs()
