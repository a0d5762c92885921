"""MXNet's `Collection`: it can also name the tensors of a Gluon block."""

from __future__ import annotations

from mxnet import gluon

from smdebug.booleans import as_flag
from smdebug.collection import Collection as BaseCollection
from smdebug.collection import CollectionKeys
from smdebug.exceptions import SMDebugTypeError
from smdebug.hook_arguments import class_hint, shown

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
                f"add_block_tensors takes a gluon.Block, found {shown(block)}{class_hint(block)}"
            )
        sides = as_flag("inputs", inputs), as_flag("outputs", outputs)
        self.block_tensors().append((block, *sides))
        self.mark_edited()

    def block_tensors(self) -> list[tuple[gluon.Block, bool, bool]]:
        """Returns (block, inputs, outputs) of each block that was added."""
        return self.__dict__.setdefault("_block_tensors", [])
