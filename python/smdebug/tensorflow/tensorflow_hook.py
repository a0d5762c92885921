"""`TensorFlowHook`: what the hooks for TensorFlow and Keras share."""

import sys

from smdebug import _core
from smdebug.hook import BaseHook
from smdebug.tensorflow import names
from smdebug.tensorflow.collection import Collection, layer_pattern


class TensorFlowHook(BaseHook):
    """A hook whose collections take variables, tensors and layers."""

    collection_class = Collection

    def add_to_collection(self, collection_name, variable):
        """Adds a variable, tensor, operation, or a list of them to the collection of that name,
        which is made where there is none."""
        self.get_collection(collection_name).add(variable)

    @classmethod
    def make_framework(cls):
        return _core.tensorflow_framework()

    def _versions(self):
        found = {name: sys.modules.get(name) for name in ("tensorflow", "keras")}
        versions = {name: module.__version__ for name, module in found.items() if module}
        return super()._versions() | versions

    def _layer_name(self, layer):
        """What the tensors of a layer are named after."""
        return layer.name

    def _module_patterns(self, collection):
        patterns = list(getattr(collection, "added_patterns", list)())
        for layer, inputs, outputs in getattr(collection, "added_layers", list)():
            name = self._layer_name(layer)
            if inputs:
                patterns.append(layer_pattern(names.layer_inputs(name)))
            if outputs:
                patterns.append(layer_pattern(names.layer_outputs(name)))
        return patterns
