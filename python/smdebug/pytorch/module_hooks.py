"""Forward hooks registered on modules. An idle hook costs one boolean check.

They survive copies of the model: a deep copy calls the same hooks. A pickle of the model contains
nothing of smdebug, so that it can be loaded without it: in place of the hooks it has a function of
Python that does nothing.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from smdebug.pytorch.compiled import (
    GraphPoints,
    after_compiler_import,
    emit_capture_op,
    has_real_values,
    is_captured,
    is_traced,
    refresh_capture_flag,
)
from smdebug.pytorch.detachable_hook import DetachableHook
from smdebug.pytorch.private_names import never_compile

if TYPE_CHECKING:
    from smdebug._core import ModuleSlots


def leaves_inputs_alone(module: torch.nn.Module) -> bool:
    """Whether a forward hook still finds the inputs unchanged. True for torch's own layers unless
    they are `inplace`. A layer with submodules, or one of the user, may overwrite its inputs."""
    is_torchs_own = type(module).__module__.startswith("torch.nn.modules.")
    has_children = next(module.children(), None) is not None
    return is_torchs_own and not has_children and not getattr(module, "inplace", False)


class CaptureSwitch:
    """On while a step saves tensors. All forward hooks of one smdebug hook share one switch."""

    def __init__(self) -> None:
        self.is_on: bool = False
        self.has_loss: bool = False  # a loss module ran in this step
        self.points: GraphPoints = GraphPoints()
        # Called with the module, its arguments and its output after a loss module ran in a saved
        # step, outside of compiled code.
        self.on_loss: Callable[[Any, Any, Any], None] = lambda module, arguments, output: None


# Unpickles to a function that takes any arguments and does nothing.
_NOTHING = (getattr, (contextlib.nullcontext(), "__exit__"))
_NO_KEYWORDS: dict[str, Any] = {}
_MISSING: Any = object()


class PicklableHook:
    """A forward hook that a copy of the model shares. In a model that was pickled and loaded a
    function that does nothing takes its place.

    torch's quantization registers the hooks of a module on another one and then omits the keyword
    arguments, so they are optional.

    `target` takes the tensors: the ModuleSlots of the module, or for a RootStart a function.
    `point` names the hook in a compiled graph, see GraphPoints. Compiled code reads as few
    attributes here as possible, because torch checks all of them before each run of the graph."""

    def __init__(self, switch: CaptureSwitch, target: Any, point: str = "") -> None:
        self.switch: CaptureSwitch = switch
        self.target: Any = target
        self.point: str = point

    def __deepcopy__(self, memo: object) -> PicklableHook:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _NOTHING


class InputHook(PicklableHook):
    """A forward pre-hook, because an in-place module overwrites its input before a forward hook
    runs."""

    def __call__(self, module: Any, arguments: Any, keywords: Any = _NO_KEYWORDS) -> None:
        """Captures the inputs of one call."""
        if is_traced():
            if is_captured(self.point) and self.switch.is_on:
                emit_capture_op((arguments, keywords), self.point)
        elif self.switch.is_on and has_real_values():
            self.target.capture_inputs(arguments, keywords)


class OutputHook(PicklableHook):
    """A forward hook that captures the outputs of a module."""

    def __call__(self, module: Any, arguments: Any, output: Any) -> None:
        """Captures the outputs of one call."""
        if is_traced():
            if is_captured(self.point) and self.switch.is_on:
                emit_capture_op(output, self.point)
        elif self.switch.is_on and has_real_values():
            self.target.capture_outputs(output)


class CallHook(OutputHook):
    """A forward hook that captures inputs and outputs, for modules that do not change their
    inputs."""

    takes_inputs = True
    point_of_inputs = ""

    def __call__(  # type: ignore[override]
        self, module: Any, arguments: Any, keywords: Any, output: Any = _MISSING
    ) -> None:
        """Captures the inputs and the outputs of one call."""
        if is_traced():
            if is_captured(self.point_of_inputs) and self.switch.is_on:
                emit_capture_op((arguments, keywords), self.point_of_inputs)
            super().__call__(module, arguments, output)
            return
        if not self.switch.is_on:
            return
        if output is _MISSING:
            keywords, output = _NO_KEYWORDS, keywords
        if not self.takes_inputs:
            super().__call__(module, arguments, output)
        elif has_real_values():
            self.target.capture_call(arguments, keywords, output)


class LossHook(OutputHook):
    """A forward hook of a loss module."""

    def __call__(self, module: Any, arguments: Any, output: Any) -> None:
        """Notes that a loss module ran, and captures its outputs."""
        self.switch.has_loss = True
        super().__call__(module, arguments, output)
        if not is_traced() and self.switch.is_on and has_real_values():
            self.switch.on_loss(module, arguments, output)


class RootStart(PicklableHook):
    """A forward pre-hook of the root, which begins its steps. `target` is a function of the
    positional and keyword arguments of the root.

    A root that is called inside compiled code begins its step there, after torch has chosen the
    graph to run. `coming`, which was computed at the beginning of the previous step, makes that
    choice.
    """

    coming: bool = False
    before_copy: Callable[[], None] | None = None  # called before the root is copied

    def __deepcopy__(self, memo: object) -> RootStart:
        # torch copies the hooks of a module before the modules in it.
        if self.before_copy is not None:
            self.before_copy()
        return self

    def __call__(self, module: Any, arguments: Any, keywords: Any = _NO_KEYWORDS) -> None:
        """Begins the step of one call of the root."""
        if is_traced():
            if is_captured(self.point):
                refresh_capture_flag(self.point)
                self.switch.is_on = self.coming
                emit_capture_op((arguments, keywords), self.point)
        else:
            self.begin(arguments, keywords)

    def begin(self, arguments: Any, keywords: Any) -> None:
        """Begins the step of a call that is not inside compiled code."""
        if has_real_values():
            self.target(arguments, keywords)


def _call(hook: Any, *arguments: Any) -> None:
    hook(*arguments)


# The hooks of a module that is called from outside run before and after its compiled code, not in
# it. There, torch.compile would compile a graph for each hook.
_call_outside_graph = _call


def _run(hook: Any, *arguments: Any) -> None:
    _call_outside_graph(hook, *arguments)


def _inform_compiler() -> None:
    global _call_outside_graph
    _call_outside_graph = torch.compiler.disable(_call)
    never_compile(_run)
    torch.compiler.substitute_in_graph(_run, skip_signature_check=True)(_call)


after_compiler_import(_inform_compiler)


class _OutsideGraph(functools.partial):  # type: ignore[type-arg]
    """A partial, which torch.compile knows, that is copied and pickled as its hook."""

    def __deepcopy__(self, memo: Any) -> _OutsideGraph:
        copy.deepcopy(self.args[0], memo)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _NOTHING


def outside_compiled_graph(hook: PicklableHook) -> Callable[..., None]:
    """`hook`, such that torch.compile compiles it only inside compiled code."""
    return _OutsideGraph(_run, hook)


def is_ours(hook: Any) -> bool:
    """Whether a forward hook of a module is one of smdebug's."""
    return isinstance(hook, (PicklableHook, _OutsideGraph))


class WatchedModule:
    """One module and its hooks, which are installed while a step is saved, so that other steps do
    not pay for them. Hooks that can never save anything are removed for good.

    If a hook is part of compiled code, all hooks stay installed, because torch.compile does not
    check for new ones. Call `take_out` only if there is no compiled code.

    The inputs of a root come from its RootStart, which sees each of its calls. Roots and losses are
    called from outside.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        path: str,
        switch: CaptureSwitch,
        target: ModuleSlots,
        output_hook: type[OutputHook] | None = None,
        is_called_from_outside: bool = False,
        is_root: bool = False,
    ) -> None:
        self.module: torch.nn.Module = module
        self.target: ModuleSlots = target
        self._is_root = is_root
        self._switch = switch
        self._inputs_name, self._outputs_name = f"{path}/input", f"{path}/output"
        leaves_inputs = output_hook is None and leaves_inputs_alone(module)
        self._call_hook = CallHook(switch, target) if leaves_inputs else None
        self._input_hook = None if leaves_inputs else InputHook(switch, target)
        self._output_hook = self._call_hook or (output_hook or OutputHook)(switch, target)
        as_called = outside_compiled_graph if is_called_from_outside else lambda hook: hook
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

    def install(self) -> bool:
        """Installs all hooks again. Returns whether the forward hook had been removed for good."""
        self._take_inputs(True)
        was_given_up = not self._takes_outputs
        self._takes_outputs = True
        self._after.put_in()
        return was_given_up

    def put_in(self) -> None:
        """Installs the hooks for a saved step."""
        if self._takes_outputs:
            self._after.put_in()
        if self._before is not None and self._takes_inputs:
            self._before.put_in()

    def keep_inputs(self) -> None:
        """Installs the hooks for good, for code that is compiled before its step begins."""
        self._keeps_inputs = True
        self.put_in()

    def close_inputs(self) -> None:
        """Removes the pre-hook unless it must stay."""
        if self._before is not None and not self._keeps_inputs:
            self._before.take_out()

    def take_out(self) -> None:
        """Removes the hooks for a step that is not saved. The forward hook of a root stays, because
        torch may be iterating over the hooks of the root."""
        self.close_inputs()
        if not self._is_root:
            self._after.take_out()

    def run_input_hook(self, arguments: Any, keywords: Any) -> None:
        """Captures the inputs of a call of a root."""
        if self._input_hook and self._takes_inputs:
            self._input_hook(self.module, arguments, keywords)

    def prune(self) -> bool:
        """Removes the hooks that can never save anything. Returns False if the module was not
        called yet."""
        if self._switch.points.are_traced:
            return True
        if not self.target.was_called:
            return False
        if not self.target.can_match_input():
            self._take_inputs(False)
        self._takes_outputs = self.target.can_match_output() or (
            self._call_hook is not None and self._takes_inputs
        )
        if not self._takes_outputs:
            self._after.take_out()
        return True

    def remove(self) -> None:
        """Removes all hooks for good."""
        self._keeps_inputs = False
        self.close_inputs()
        self._after.take_out()

    def find_points(self) -> None:
        """Decides from the next plan what code that is compiled from now on captures."""
        points, target = self._switch.points, self.target
        inputs = points.add(
            self._inputs_name,
            lambda tensors: target.capture_inputs(tuple(tensors), {}),
            target.may_match_input(),
        )
        outputs = points.add(self._outputs_name, target.capture_outputs, target.may_match_output())
        self._output_hook.point = outputs
        if self._call_hook is not None:
            self._call_hook.point_of_inputs = inputs
        else:
            self._input_hook.point = inputs

    def _take_inputs(self, takes_inputs: bool) -> None:
        self._takes_inputs = takes_inputs
        if self._call_hook is not None:
            self._call_hook.takes_inputs = takes_inputs
        if not takes_inputs:
            self.close_inputs()
