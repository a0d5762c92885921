"""MXNet's `Collection`: it can also name the tensors of a Gluon block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import gluon

from smdebug.added_parts import refuse_attribute
from smdebug.booleans import as_flag
from smdebug.collection import Collection as BaseCollection
from smdebug.collection import CollectionKeys
from smdebug.exceptions import SMDebugTypeError
from smdebug.hook_arguments import name_hint, shown

__all__ = ["Collection", "CollectionKeys"]


class Collection(BaseCollection):
    """A named set of tensors, selected by patterns, names or blocks."""

    def add_block_tensors(
        self, block: gluon.Block, inputs: bool = False, outputs: bool = True
    ) -> None:
        """Adds the inputs and outputs of a block. Register the block before the first step.

        Raises SMDebugTypeError for anything but a block.
        """
        if not isinstance(block, gluon.Block):
            raise SMDebugTypeError(
                f"add_block_tensors takes a gluon.Block, found {shown(block)}"
                f"{name_hint(block, 'the block itself, such as net[0]', gluon.Block)}"
            )
        sides = as_flag("inputs", inputs), as_flag("outputs", outputs)
        self.block_tensors().append((block, *sides))
        self.mark_edited()

    def block_tensors(self) -> list[tuple[gluon.Block, bool, bool]]:
        """Returns (block, inputs, outputs) of each block that was added."""
        return self.__dict__.setdefault("_block_tensors", [])

    if not TYPE_CHECKING:  # which would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            refuse_attribute(self, name, "add_block_tensors(block)")
