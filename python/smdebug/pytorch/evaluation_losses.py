"""`EvaluationLosses`: passes on the losses of evaluation batches, in saved steps or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from smdebug.pytorch.compiled import has_compiled, has_real_values, is_traced
from smdebug.pytorch.detachable_hook import DetachableHook
from smdebug.pytorch.module_hooks import CaptureSwitch, PicklableHook, outside_compiled_graph
from smdebug.pytorch.private_names import is_loss

if TYPE_CHECKING:
    from torch.nn import Module


class _EvaluationHook(PicklableHook):
    """A forward hook of a loss module. `target` takes its output."""

    def __call__(self, module: Any, arguments: Any, output: Any) -> None:
        """Passes on the output of one call, unless it is compiled or traced."""
        if not is_traced() and has_real_values() and not torch.jit.is_tracing():
            self.target(output)


class EvaluationLosses:
    """The hooks of loss modules that are installed while a model is evaluated, so that training
    steps do not pay for them.

    `note` is called with the name of a loss module, as its tensors have it, and with its output.
    """

    def __init__(self, switch: CaptureSwitch, note: Callable[[str, Any], None]) -> None:
        self._switch = switch
        self._note = note
        self._hooks: dict[Module, DetachableHook] = {}
        self.are_watched: bool = False

    def watch(self, paths: Mapping[Module, str], models: list[Module]) -> None:
        """Installs the hooks of the loss modules among `paths`. Compiled code would not call those
        of losses inside `models`, and might be compiled again."""
        self.are_watched = True
        left_out = set()
        if has_compiled():
            left_out = {module for model in models for module in model.modules()}
        for module in [each for each in self._hooks if each not in paths]:
            self._hooks.pop(module).take_out()
        for module, path in paths.items():
            if is_loss(module) and module not in left_out:
                if module not in self._hooks:
                    self._hooks[module] = self._make_hook(module, path)
                self._hooks[module].put_in()

    def release(self) -> None:
        """Removes the hooks."""
        self.are_watched = False
        for hook in self._hooks.values():
            hook.take_out()

    def _make_hook(self, module: Module, path: str) -> DetachableHook:
        def note(output: Any) -> None:
            if self.are_watched:  # else the hook is that of a copy of the module
                self._note(path, output)

        hook = _EvaluationHook(self._switch, note)
        return DetachableHook(module, outside_compiled_graph(hook))
