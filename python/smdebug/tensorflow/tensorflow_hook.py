"""`TensorFlowHook`: the common part of the hooks for TensorFlow and Keras."""

import sys
from typing import Any

import numpy as np

from smdebug import _core
from smdebug.collection import Collection as BaseCollection
from smdebug.hook import BaseHook
from smdebug.tensorflow.collection import Collection, layer_pattern
from smdebug.tensorflow.user_values import user_value


class TensorFlowHook(BaseHook):
    """A hook whose collections take variables, tensors and layers."""

    collection_class: type[BaseCollection] = Collection

    def add_to_collection(self, collection_name: str, variable: Any) -> None:
        """Adds `variable` to the collection of that name, which is created if needed. `variable` is
        a variable, a tensor of a graph, an operation, or a list of them.

        Raises SMDebugTypeError for an object without a name, such as a tensor of eager code.
        """
        self.get_collection(collection_name).add(variable)

    @classmethod
    def make_framework(cls) -> _core.Framework:
        """Returns the collections that are built in for TensorFlow."""
        return _core.tensorflow_framework()

    def _versions(self):
        found = {name: sys.modules.get(name) for name in ("tensorflow", "keras")}
        versions = {name: module.__version__ for name, module in found.items() if module}
        return super()._versions() | versions

    def _readable(self, value):
        return user_value(value).whole()

    def _readable_number(self, value):
        found = self._readable(value)
        is_tensor = hasattr(found, "numpy") and not hasattr(found, "detach")
        return np.asarray(found) if is_tensor else found

    def _layer_name(self, layer):
        """Returns the name that the tensors of a layer begin with."""
        return layer.name

    def _module_patterns(self, collection):
        patterns = list(getattr(collection, "added_patterns", list)())
        for layer, inputs, outputs in getattr(collection, "added_layers", list)():
            name = self._layer_name(layer)
            if inputs:
                patterns.append(layer_pattern(_core.layer_inputs_name(name)))
            if outputs:
                patterns.append(layer_pattern(_core.layer_outputs_name(name)))
        return patterns
