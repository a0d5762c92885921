"""TensorFlow's `Collection`: it also takes variables, tensors and layers themselves."""

import re
from typing import Any

from smdebug import _core
from smdebug._core import ModeKeys
from smdebug.collection import Collection as BaseCollection
from smdebug.collection import CollectionKeys
from smdebug.exceptions import SMDebugTypeError
from smdebug.hook_arguments import shown, wrong_mode
from smdebug.tensorflow import names

__all__ = ["Collection", "CollectionKeys"]


class Collection(BaseCollection):
    """A collection of smdebug.collection that also takes variables, tensors and layers."""

    def add(self, arg: Any) -> None:
        """Adds a variable, a tensor of a graph or of a functional model, an operation, or a list,
        tuple or set of them. Raises SMDebugTypeError for an object without a name, such as a tensor
        of eager code."""
        if isinstance(arg, (list, tuple, set)):
            for each in arg:
                self.add(each)
            return
        self.added_patterns().append(_pattern_of(arg))
        self.mark_edited()

    def add_for_mode(self, arg: Any, mode: ModeKeys | None = None) -> None:
        """Does the same as `add`, because the graph of each mode has its own names. `mode` is one
        of smdebug.modes or None; raises SMDebugTypeError for anything else."""
        if mode is not None and not isinstance(mode, ModeKeys):
            raise SMDebugTypeError(wrong_mode(mode))
        self.add(arg)

    def add_keras_layer(self, layer: Any, inputs: bool = False, outputs: bool = True) -> None:
        """Adds the inputs, the outputs or both of a layer whose model the hook records. Raises
        SMDebugTypeError if `layer` is not a layer."""
        if not _is_layer(layer):
            raise SMDebugTypeError(f"add_keras_layer takes a Keras layer, found {shown(layer)}")
        self.added_layers().append((layer, inputs, outputs))
        self.mark_edited()

    def added_patterns(self) -> list[str]:
        """Returns regular expressions for the names of the added objects."""
        return self.__dict__.setdefault("_added_patterns", [])

    def added_layers(self) -> list[tuple[Any, bool, bool]]:
        """Returns (layer, inputs, outputs) of each added layer."""
        return self.__dict__.setdefault("_added_layers", [])


def _is_layer(thing):
    return callable(getattr(thing, "call", None)) and isinstance(
        getattr(thing, "weights", None), list
    )


def _pattern_of(thing):
    """Returns a regular expression for the names of `thing` in a run."""
    history = getattr(thing, "_keras_history", None)
    if history is not None:  # of a functional model: the layer that makes it
        layer = getattr(history, "layer", None) or history.operation
        return layer_pattern(_core.layer_outputs_name(layer.name))
    try:
        if not isinstance(thing.name, str):
            raise AttributeError
        name = names.variable_name(thing) if hasattr(thing, "assign") else thing.name
    except AttributeError:  # a tensor of eager code raises here
        raise SMDebugTypeError(
            "a collection takes variables, tensors of a graph and operations, "
            f"found {shown(thing)}; "
            "a tensor of eager code has no name: save it with hook.save_tensor"
        ) from None
    return f"^(?:(?:.*/)?weights/)?{re.escape(name)}$"


def layer_pattern(name: str) -> str:
    """Returns a regular expression for `name`, and for `name` with a number after it."""
    return rf"^{re.escape(name)}(_\d+)?$"
