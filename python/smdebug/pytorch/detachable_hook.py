"""`DetachableHook`: a forward hook that can be removed and registered again at its old position."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

from smdebug.pytorch.private_names import hook_tables

if TYPE_CHECKING:
    from torch import nn
    from torch.utils.hooks import RemovableHandle


class DetachableHook:
    """A forward hook, or with `is_before` a forward pre-hook. It starts out removed.

    It keeps its number, because torch.compile checks for the hooks that it has seen. It also keeps
    its position among the hooks of the module, so that it sees the same value of a tensor that
    another hook replaces, however often it was removed.
    """

    def __init__(
        self,
        module: nn.Module,
        hook: Callable[..., Any],
        is_before: bool = False,
        takes_keywords: bool = False,
    ) -> None:
        self._module = module
        self._hook = hook
        self._is_before = is_before
        self._takes_keywords = takes_keywords
        self._handle: RemovableHandle | None = None
        # The numbers of the hooks in front of it when it was removed.
        self._earlier: Container[int] = ()
        self.is_in: bool = False

    def put_in(self) -> None:
        """Installs the hook. Does nothing if it is installed."""
        if self.is_in:
            return
        self.is_in = True
        tables = hook_tables(self._module, self._is_before)
        if self._handle is None or tables is None:
            self._register()
            return
        hooks, with_keywords = tables
        number = self._handle.id
        hooks[number] = self._hook
        if self._takes_keywords:
            with_keywords[number] = True
        if len(hooks) > 1:
            for other in list(hooks):  # those that came after it, or while it was removed
                if other != number and other not in self._earlier:
                    hooks.move_to_end(other)

    def take_out(self) -> None:
        """Removes the hook. Does nothing if it is removed."""
        if not self.is_in:
            return
        self.is_in = False
        tables = hook_tables(self._module, self._is_before)
        self._earlier = ()
        if tables is not None and len(tables[0]) > 1 and self._handle.id in tables[0]:
            numbers = list(tables[0])
            self._earlier = numbers[: numbers.index(self._handle.id)]
        self._handle.remove()

    def _register(self) -> None:
        register = self._module.register_forward_hook
        if self._is_before:
            register = self._module.register_forward_pre_hook
        self._handle = register(self._hook, with_kwargs=self._takes_keywords)
