"""MXNet's `Collection`: it can also name the tensors of a Gluon block."""

from smdebug.collection import Collection as BaseCollection
from smdebug.collection import CollectionKeys
from smdebug.edits import edits

__all__ = ["Collection", "CollectionKeys"]


class Collection(BaseCollection):
    def add_block_tensors(self, block, inputs=False, outputs=True):
        """Adds the inputs and outputs of a block that is registered before the first step."""
        self.block_tensors().append((block, inputs, outputs))
        edits.count += 1

    def block_tensors(self):
        """(block, inputs, outputs) of each block that was added."""
        return self.__dict__.setdefault("_block_tensors", [])
