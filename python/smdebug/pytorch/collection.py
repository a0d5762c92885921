"""PyTorch's `Collection`: it can also name the tensors of a module."""

from smdebug.collection import Collection as BaseCollection
from smdebug.collection import CollectionKeys

__all__ = ["Collection", "CollectionKeys"]


class Collection(BaseCollection):
    def add_module_tensors(self, module, inputs=False, outputs=True):
        """Adds the inputs and outputs of a module that is registered before the first step."""
        self.module_tensors().append((module, inputs, outputs))
        self.mark_edited()

    def module_tensors(self):
        """(module, inputs, outputs) of each module that was added."""
        return self.__dict__.setdefault("_module_tensors", [])
