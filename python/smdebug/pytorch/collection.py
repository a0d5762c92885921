"""PyTorch's `Collection`, which can also select the tensors of a module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

from smdebug.added_parts import refuse_attribute
from smdebug.booleans import as_flag
from smdebug.collection import Collection as BaseCollection
from smdebug.collection import CollectionKeys
from smdebug.exceptions import SMDebugTypeError
from smdebug.hook_arguments import name_hint, shown

__all__ = ["Collection", "CollectionKeys"]


class Collection(BaseCollection):
    """A named set of tensors, selected by patterns, names or modules."""

    def add_module_tensors(
        self, module: nn.Module, inputs: bool = False, outputs: bool = True
    ) -> None:
        """Adds the inputs and outputs of a module. Register its model before the first step.

        Raises SMDebugTypeError for anything but a module.
        """
        if not isinstance(module, nn.Module):
            raise SMDebugTypeError(
                f"add_module_tensors takes a torch.nn.Module, found {shown(module)}"
                f"{name_hint(module, 'the module itself, model.get_submodule({})', nn.Module)}"
            )
        sides = as_flag("inputs", inputs), as_flag("outputs", outputs)
        self.module_tensors().append((module, *sides))
        self.mark_edited()

    def module_tensors(self) -> list[tuple[nn.Module, bool, bool]]:
        """Returns (module, inputs, outputs) of each module that was added."""
        return self.__dict__.setdefault("_module_tensors", [])

    if not TYPE_CHECKING:  # which would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            refuse_attribute(self, name, "add_module_tensors(module)")
