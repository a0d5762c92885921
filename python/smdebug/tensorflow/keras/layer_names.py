"""`LayerNames`: a unique name for each layer of a model, and the layer of each weight."""

from collections.abc import Callable
from typing import Any

from smdebug._core import UniqueNames
from smdebug.hook_arguments import encodable
from smdebug.tensorflow.private_names import layers_inside


class LayerNames:
    """In Keras only the names of a model's direct layers differ, not those of layers inside them.

    Of several layers with one name the first keeps it. A later one is called `<outer
    layer>/<name>`, with a number after it if that name is taken too. `on_new_layer` is called after
    each layer that gets a name, because a new layer changes the patterns by layer type.
    """

    def __init__(self, model: Any, on_new_layer: Callable[[], None]) -> None:
        self._model = model
        self._on_new_layer = on_new_layer
        self._names = {}  # id of a layer -> its name
        self._layers = []  # keeps the ids valid
        self._unique = UniqueNames()

    def __call__(self, layer: Any) -> str:
        """Returns the name of a layer, in the model or not."""
        if id(layer) not in self._names:
            self._follow()
        if id(layer) not in self._names:
            self._name(layer, None)
        return self._names[id(layer)]

    def knows(self, layer: Any) -> bool:
        """Returns whether the layer is in the model."""
        self._follow()
        return id(layer) in self._names

    def named_layers(self) -> list[tuple[str, Any]]:
        """Returns (name, layer) of all layers that the model has by now."""
        self._follow()
        return [(self._names[id(layer)], layer) for layer in self._layers]

    def weights(self) -> list[tuple[str, Any]]:
        """Returns (name of the layer, variable) of each weight of the model, under the innermost
        layer that has it."""
        self._follow()
        owners = {}
        for _, layer in self._pairs():
            for variable in layer.weights:
                owners[id(variable)] = layer
        for variable in self._model.weights:  # of the model itself
            owners.setdefault(id(variable), self._model)
        return [(self(owners[id(variable)]), variable) for variable in self._model.weights]

    def _follow(self):
        """Names new layers: a model may create layers in its first call."""
        for outer, layer in self._pairs():
            if id(layer) not in self._names:
                self._name(layer, None if outer is self._model else outer)

    def _pairs(self):
        """Returns (outer layer, layer) of each, those of the model itself first."""
        seen, outer_layers = {id(self._model)}, [self._model]
        for outer in outer_layers:
            for layer in layers_inside(outer):
                if id(layer) not in seen:
                    seen.add(id(layer))
                    outer_layers.append(layer)
                    yield outer, layer

    def _name(self, layer, outer):
        own = encodable(layer.name)
        if outer is None:
            name = self._unique.take(own)
        else:
            name = self._unique.take_inside(self(outer), own)
        self._names[id(layer)] = name
        self._layers.append(layer)
        self._on_new_layer()
