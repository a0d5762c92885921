"""Notes the shape of the first input of each recurrent and attention layer, once.

A layer gets a hook when a model that trains is called in a saved step for the first time, and loses
it when it is called itself, or when the first facts of the training are gathered. The shapes of
layers in compiled code remain unknown.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from smdebug.pytorch.compiled import is_traced
from smdebug.pytorch.module_hooks import CaptureSwitch, PicklableHook

if TYPE_CHECKING:
    from torch.utils.hooks import RemovableHandle

    from smdebug.pytorch.roots import Root

SEQUENCE_LAYERS: tuple[type[nn.Module], ...] = (nn.RNNBase, nn.MultiheadAttention)


class SequenceInputs:
    """The shapes of the layers of all models of one hook."""

    def __init__(self) -> None:
        self._shapes: weakref.WeakKeyDictionary[nn.Module, list[int]] = weakref.WeakKeyDictionary()
        self._roots: weakref.WeakSet[nn.Module] = weakref.WeakSet()  # that were watched
        self._handles: list[RemovableHandle] = []

    def watch(self, root: Root) -> None:
        """Before a call of a root in a saved step: waits for the calls of its layers."""
        module = root.module
        if module in self._roots or not (module.training and torch.is_grad_enabled()):
            return
        self._roots.add(module)
        if not root.is_compiled:
            for layer in module.modules():
                if isinstance(layer, SEQUENCE_LAYERS):
                    self._handles.append(_add_hook(layer, self._shapes))

    def shape_of(self, layer: nn.Module) -> list[int]:
        """The shape; empty if it is unknown or not that of a batch of sequences."""
        return self._shapes.get(layer, [])

    def close(self) -> None:
        """Ends the wait."""
        while self._handles:
            self._handles.pop().remove()


class _InputHook(PicklableHook):
    """A forward pre-hook. `target` takes the layer and its arguments."""

    def __call__(self, layer: Any, arguments: Any, keywords: Any) -> None:
        """Passes the arguments of a call that is not compiled."""
        if not is_traced():
            self.target(layer, [*arguments, *keywords.values()])


def _add_hook(
    layer: nn.Module, shapes: weakref.WeakKeyDictionary[nn.Module, list[int]]
) -> RemovableHandle:
    def note(called: nn.Module, arguments: list[Any]) -> None:
        handle.remove()
        first = arguments[0] if arguments else None
        if isinstance(first, torch.Tensor) and first.dim() == 3:
            shapes[called] = [int(size) for size in first.shape]

    hook: Callable[..., None] = _InputHook(CaptureSwitch(), note)
    handle = layer.register_forward_pre_hook(hook, with_kwargs=True)
    return handle
