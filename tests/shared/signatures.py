"""Compares the parameters of public calls with those of the original (signatures.toml)."""

import ast
import importlib
import inspect
import pathlib

import tomllib

from smdebug._core import ModeKeys
from smdebug.collection import Collection, CollectionKeys

PAGE = tomllib.loads(pathlib.Path(__file__).with_suffix(".toml").read_text())
CALLS, DIFFERENCES = PAGE["calls"], PAGE["differences"]
for _name, _other in PAGE["same"].items():
    for _table in (CALLS, DIFFERENCES):
        _own = {key: text for key, text in _table.items() if key.startswith(_other)}
        _table.update({_name + key.removeprefix(_other): text for key, text in _own.items()})

_NAMES = {"ModeKeys": ModeKeys, "CollectionKeys": CollectionKeys, "Collection": Collection}
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def calls_of(*modules):
    """The calls of these modules and their submodules, as strings."""
    return [call for call in CALLS if call.startswith(tuple(f"{each}." for each in modules))]


def _signature_of_text(text):
    """The signature of `def f(...)`, whose defaults use the names above."""
    made = {}
    exec(f"def f({text}): ...", dict(_NAMES), made)
    return inspect.signature(made["f"])


def _signature_of(function):
    """The signature, without `self` or `cls`, of a function of Python or of the core."""
    core = getattr(function, "__nb_signature__", None)
    if core is None:
        return inspect.signature(function)
    (node,) = ast.parse(f"{core[0][0]}: ...").body
    arguments = node.args
    arguments.args = arguments.args[1:]
    for each in [*arguments.args, *arguments.kwonlyargs, arguments.vararg]:
        if each is not None:
            each.annotation = None
    return _signature_of_text(ast.unparse(arguments))


def _resolved(path):
    """The object at a dotted path, and the class that it is a method of, if any."""
    parts = path.split(".")
    for end in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        owner = None
        for name in parts[end:]:
            owner, found = found, getattr(found, name)
        return found, owner if inspect.isclass(owner) else None
    raise ModuleNotFoundError(path)


def parameters_of(path):
    """The parameters of a call, in order, without `self`."""
    found, owner = _resolved(path)
    if inspect.isclass(found) and hasattr(found.__init__, "__nb_signature__"):
        found = found.__init__
    signature = _signature_of(found)
    parameters = list(signature.parameters.values())
    is_method = owner is not None and inspect.isfunction(found)
    if is_method and not isinstance(inspect.getattr_static(owner, found.__name__), staticmethod):
        parameters = parameters[1:]
    return parameters


def differences_of(path):
    """What the original's parameters of a call need and ours do not have: sentences by the name of
    the parameter."""
    ours = parameters_of(path)
    by_position = [each for each in ours if each.kind in _BY_POSITION]
    by_name = {each.name: each for each in ours if each.kind in _BY_NAME}
    expected = _signature_of_text(CALLS[path]).parameters.values()
    found = {}
    for index, each in enumerate(expected):
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            if not any(own.kind is each.kind for own in ours):
                found[each.name] = "takes no further names"
            continue
        own = by_name.get(each.name)
        if own is None:
            found[each.name] = "is missing"
        elif each.kind in _BY_POSITION and by_position[index : index + 1] != [own]:
            found[each.name] = f"is not parameter {index} of {[own.name for own in by_position]}"
        elif each.default is not each.empty and own.default != each.default:
            found[each.name] = f"has the default {own.default!r} instead of {each.default!r}"
    known = {each.name for each in expected}
    for each in ours:
        is_required = each.default is each.empty and each.kind in {*_BY_POSITION, *_BY_NAME}
        if is_required and each.name not in known:
            found[each.name] = "is required here and unknown there"
    return found


def check(path):
    """Fails unless the call takes what the original's takes, except for the listed differences,
    each of which must be one."""
    found = differences_of(path)
    listed = {key.partition(" ")[2] for key in DIFFERENCES if key.partition(" ")[0] == path}
    if "" in listed:
        assert found, f"{path} is listed in `differences` and has none"
        return
    assert listed <= found.keys(), f"{path}: {listed - found.keys()} differ in nothing"
    left = {name: text for name, text in found.items() if name not in listed}
    assert not left, f"{path}: {left}"
