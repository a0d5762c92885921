"""Every kind of argument that the methods common to all collections, and the flag `save_all` of all
hooks, take or refuse, for the adapters' tests of what is added to a collection."""

import re

import numpy as np
import pytest

from smdebug.collection import Collection
from smdebug.exceptions import SMDebugTypeError


class Text(str):
    """Text of a class of the user."""


# Name -> (the argument of `include`, the patterns that it adds).
INCLUDED = {
    "pattern": (lambda: "relu", ["relu"]),
    "empty pattern": (lambda: "", [""]),
    "text of numpy": (lambda: np.str_("relu"), ["relu"]),
    "text of a class": (lambda: Text("relu"), ["relu"]),
    "list": (lambda: ["relu", "^fc"], ["relu", "^fc"]),
    "tuple": (lambda: ("relu",), ["relu"]),
    "set": (lambda: {"relu"}, ["relu"]),
    "empty list": (list, []),
}
# Name -> an argument that is neither a pattern, nor a name, nor a collection.
ODD = {
    "None": lambda: None,
    "number": lambda: 3,
    "bytes": lambda: b"relu",
    "compiled pattern": lambda: re.compile("relu"),
    "dict": lambda: {"relu": 1},
    "list of numbers": lambda: [3],
    "list of lists": lambda: [["relu"]],
    "generator": lambda: (each for each in ["relu"]),
    "array": lambda: np.ones(2),
    "array of text": lambda: np.array(["relu"]),
    "class": lambda: Collection,
    "object": object,
}
# Values of the flags `inputs` and `outputs`, and values that have no truth.
FLAGS = {"True": True, "0": 0, "no": "no", "None": None, "array of one": np.ones(1)}
OFF = ("0", "no", "None")
NO_FLAGS = {"array of two": np.ones(2), "array of objects": np.array([None, 1], object)}


def members_of(collection):
    """What a collection holds, to see that a refused call has changed nothing."""
    added = [
        list(getattr(collection, name, list)())
        for name in ("module_tensors", "block_tensors", "added_patterns", "added_layers")
    ]
    return list(collection.include_regex), set(collection.tensor_names), added


def check_is_refused_everywhere(hook, thing):
    """Passes `thing`, which is neither a pattern, nor a name, nor a collection, to the methods that
    each adapter has."""
    before = {name: members_of(each) for name, each in hook.get_collections().items()}
    with pytest.raises(SMDebugTypeError, match="takes a pattern or a list of patterns"):
        hook.get_collection("default").include(thing)
    with pytest.raises(SMDebugTypeError, match="add_collection takes a Collection, found"):
        hook.add_collection(thing)
    with pytest.raises(SMDebugTypeError, match="a collection's name must be text"):
        hook.get_collection(thing)
    assert {name: members_of(each) for name, each in hook.get_collections().items()} == before


# What scripts pass as `save_all`, and whether everything is saved then.
SAVE_ALL = [
    (1, True),
    ("true", True),
    (["true"], True),
    ("False", False),
    (None, False),
    ("", False),
]


def check_save_all_is_what_scripts_pass(make):
    """Passes each kind of flag to the constructor of a hook, `make(save_all=...)`."""
    for given, saves_all in SAVE_ALL:
        hook = make(save_all=given)
        assert hook.save_all is saves_all, given
        hook.close()
    for flag in NO_FLAGS.values():
        with pytest.raises(SMDebugTypeError, match="save_all must be True or False, found"):
            make(save_all=flag)
