"""The parameters of one root: their values once per step, their gradients as they are computed."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING

from torch import nn

from smdebug.hook_arguments import encodable
from smdebug.pytorch.private_names import free_of_hooks, own_parameters
from smdebug.pytorch.shards import managed_parameters

if TYPE_CHECKING:
    import torch
    from torch.utils.hooks import RemovableHandle

    from smdebug._core import Session, TensorSlot


class RootParameters:
    """Follows the parameters of a root through freezing, replacement and late initialization.

    All values are passed to the core in one call per step. A gradient reaches the core from a
    tensor hook that is a C function, without running Python. Without `hooks_gradients`, only the
    values are saved. For parameters that fully_shard manages, the shards are saved, and their
    gradients once they are reduced.
    """

    def __init__(
        self, session: Session, root_name: str, root: nn.Module, hooks_gradients: bool = True
    ) -> None:
        self._hooks_gradients = hooks_gradients
        self._session = session
        self._root_name = root_name
        self._root = root
        self._gradient_handles: list[tuple[nn.Parameter, RemovableHandle]] = []
        # (parameter, managed by fully_shard?, slot of its gradient) of those without a hook.
        self._unhooked: list[tuple[nn.Parameter, bool, TensorSlot]] = []
        self._find()

    def _find(self) -> None:
        """Lists the parameters, each once, and separately those that have no values yet."""
        self._places, self._paths, self._late = [], [], []  # a place is (dictionary, key)
        are_managed = []
        managed = managed_parameters(self._root)
        seen = set()
        for prefix, module in self._root.named_modules():
            owner = own_parameters(module)
            for key, parameter in owner.items():
                if parameter is None or id(parameter) in seen:
                    continue
                seen.add(id(parameter))
                path = f"{prefix}.{key}" if prefix else key
                path = encodable(path.replace("_orig_mod.", ""))
                if nn.parameter.is_lazy(parameter):
                    self._late.append((owner, key, path))
                    continue
                are_managed.append((module, key) in managed)
                self._places.append(managed.get((module, key), (owner, key)))
                self._paths.append(path)
        self._tensors = [owner[key] for owner, key in self._places]
        self._slots = self._session.parameters(self._root_name, self._paths)
        self._gradient_slots = self._session.gradients(self._root_name, self._paths)
        can_match = self._gradient_slots.can_match()
        self._gradients = [
            (parameter, is_managed, self._session.gradient(self._root_name, path))
            for parameter, is_managed, path, is_possible in zip(
                self._tensors, are_managed, self._paths, can_match, strict=True
            )
            if is_possible
        ]

    @property
    def is_waiting(self) -> bool:
        """Whether a parameter gets its shape only in the first forward pass."""
        return bool(self._late)

    def named(self) -> Iterable[tuple[nn.Parameter, str]]:
        """(parameter, path) of each parameter that was found last."""
        return zip(self._tensors, self._paths, strict=True)

    def put(self) -> None:
        """Saves the values that are due, and follows parameters that were replaced."""
        try:
            tensors = [owner[key] for owner, key in self._places]
        except KeyError:
            tensors = []
        if len(tensors) != len(self._tensors) or not all(map(operator.is_, tensors, self._tensors)):
            self.attach()
            tensors = self._tensors
        self._slots.put(tensors)

    def put_late(self) -> None:
        """Saves the parameters that got their values in the first forward pass, after it."""
        late = [owner[key] for owner, key, _ in self._late]
        if any(map(nn.parameter.is_lazy, late)):
            return
        paths = [path for _, _, path in self._late]
        self._session.parameters(self._root_name, paths).put(late)
        self.attach()
        self.follow_gradients(True)

    def attach(self) -> None:
        """Finds the parameters again. Removes their gradient hooks."""
        self.close_gradients()
        self._find()

    def follow_gradients(self, is_saved_step: bool) -> None:
        """Installs the gradient hooks for a step that saves gradients and removes them for any
        other step, because each hook is a call in every backward pass."""
        if not self._hooks_gradients:
            return
        if not (is_saved_step and self._gradient_slots.is_any_due()):
            self.close_gradients()
            return
        if not self._gradient_handles:
            self._unhooked = list(self._gradients)
        still_frozen = []
        for parameter, is_managed, slot in self._unhooked:
            if not parameter.requires_grad:
                still_frozen.append((parameter, is_managed, slot))
                continue
            if is_managed:  # torch does not run its tensor hooks
                handle = parameter.register_post_accumulate_grad_hook(_ReducedGradientHook(slot))
            else:
                handle = parameter.register_hook(slot.put)
            self._gradient_handles.append((parameter, handle))
        self._unhooked = still_frozen

    def close_gradients(self) -> None:
        """Removes all gradient hooks."""
        for parameter, handle in self._gradient_handles:
            handle.remove()
            free_of_hooks(parameter)
        self._gradient_handles = []
        self._unhooked = []


class _ReducedGradientHook:
    """A hook that runs when the gradient of a shard has been reduced."""

    def __init__(self, slot: TensorSlot) -> None:
        self._slot = slot

    def __call__(self, parameter: torch.Tensor) -> None:
        if parameter.grad is not None:
            self._slot.put(parameter.grad)
