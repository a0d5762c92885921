"""TensorFlow's `Collection`: it also takes variables, tensors and layers themselves."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from smdebug import _core
from smdebug._core import ModeKeys
from smdebug.added_parts import refuse_attribute
from smdebug.array_values import NotTaken, check_depth
from smdebug.booleans import as_flag
from smdebug.collection import Collection as BaseCollection
from smdebug.collection import CollectionKeys
from smdebug.exceptions import SMDebugTypeError
from smdebug.hook_arguments import name_hint, shown, wrong_mode
from smdebug.tensorflow import names

__all__ = ["Collection", "CollectionKeys"]


class Collection(BaseCollection):
    """A collection of smdebug.collection that also takes variables, tensors and layers."""

    def add(self, arg: Any) -> None:
        """Adds a variable, a tensor of a graph or of a functional model, an operation, or a list,
        tuple or set of them. Raises SMDebugTypeError for anything else, such as a layer or a tensor
        of eager code, which has no name; nothing is added then."""
        self.added_patterns().extend([_pattern_of(each) for each in _members(arg)])
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
            raise SMDebugTypeError(
                f"add_keras_layer takes a Keras layer, found {shown(layer)}"
                f"{name_hint(layer, 'the layer itself, model.get_layer({})')}"
            )
        sides = as_flag("inputs", inputs), as_flag("outputs", outputs)
        self.added_layers().append((layer, *sides))
        self.mark_edited()

    def added_patterns(self) -> list[str]:
        """Returns regular expressions for the names of the added objects."""
        return self.__dict__.setdefault("_added_patterns", [])

    def added_layers(self) -> list[tuple[Any, bool, bool]]:
        """Returns (layer, inputs, outputs) of each added layer."""
        return self.__dict__.setdefault("_added_layers", [])

    if not TYPE_CHECKING:  # which would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            refuse_attribute(self, name, "add_keras_layer(layer)")


def _is_layer(thing):
    try:
        return callable(getattr(thing, "call", None)) and isinstance(
            getattr(thing, "weights", None), list
        )
    except ValueError:  # a model of Keras 2 that has not been built
        return True


def _members(arg: Any) -> Iterator[Any]:
    """Yields `arg`, or the members of a list of lists."""
    if type(arg).__name__ == "PartitionedVariable":
        arg = list(arg)
    if not isinstance(arg, (list, tuple, set)):
        yield arg
        return
    try:
        check_depth(arg)
    except NotTaken as why:
        raise SMDebugTypeError(f"a collection does not take this list: {why}") from None
    for each in arg:
        yield from _members(each)


def _pattern_of(thing):
    """Returns a regular expression for the names of `thing` in a run."""
    history = getattr(thing, "_keras_history", None)
    if history is not None:  # of a functional model: the layer that makes it
        layer = getattr(history, "layer", None) or history.operation
        return layer_pattern(_core.layer_outputs_name(layer.name))
    if _is_layer(thing):
        raise SMDebugTypeError(
            f"a layer has several tensors, found {shown(thing)}; add its weights, or its inputs "
            "and outputs with add_keras_layer"
        )
    is_variable = hasattr(thing, "assign") and hasattr(thing, "dtype")
    name = _name_of(thing) if is_variable or _is_of_graph(thing) else None
    if name is None:
        raise SMDebugTypeError(
            "a collection takes variables, tensors of a graph and operations, "
            f"found {shown(thing)}; "
            "a tensor of eager code has no name: save it with hook.save_tensor"
        )
    name = names.variable_name(thing) if is_variable else name
    return f"^(?:(?:.*/)?weights/)?{re.escape(name)}$"


def _is_of_graph(thing):
    """Whether `thing` is a tensor or an operation of a graph; eager tensors raise when asked."""
    try:
        return thing.graph is not None and (hasattr(thing, "op") or hasattr(thing, "node_def"))
    except Exception:
        return False


def _name_of(thing):
    name = getattr(thing, "name", None)
    return name if isinstance(name, str) else None


def layer_pattern(name: str) -> str:
    """Returns a regular expression for `name`, and for `name` with a number after it."""
    return rf"^{re.escape(name)}(_\d+)?$"
