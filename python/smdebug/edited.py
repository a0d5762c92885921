"""The lists and sets inside configuration objects, which count their edits.

Users change a list in place (`collection.include_regex.append("relu")`). Each change adds one to
the `Edits` of the object that holds the list, so that a hook detects it by comparing one number.
The result of an operator, such as `collection.tensor_names | {"fc1"}`, counts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def _counting(name: str, base: type, changes: str) -> Any:
    """A subclass of `base`, a list or a set, whose methods named in `changes` count as edits."""

    def __init__(self: Any, values: Iterable[Any], edits: Any) -> None:
        base.__init__(self, values)
        self._edits = edits

    def __reduce__(self: Any) -> tuple[type, tuple[list[Any]]]:
        return base, (list(self),)  # a separate copy belongs to no configuration object

    def counted(method_name: str) -> Callable[..., Any]:
        original = getattr(base, method_name)

        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            if self._edits is not None:
                self._edits.add()
            return original(self, *args, **kwargs)

        method.__name__ = method_name
        return method

    members: dict[str, Any] = {each: counted(each) for each in changes.split()}
    members |= {"__init__": __init__, "__reduce__": __reduce__, "_edits": None}
    return type(name, (base,), members)


EditedList: type[list[Any]] = _counting(
    "EditedList",
    list,
    "append extend insert remove pop clear sort reverse __setitem__ __delitem__ __iadd__ __imul__",
)
EditedSet: type[set[Any]] = _counting(
    "EditedSet",
    set,
    "add update remove discard pop clear difference_update intersection_update "
    "symmetric_difference_update __ior__ __iand__ __isub__ __ixor__",
)
