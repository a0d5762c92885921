"""`ReplacedMethod`: a method of smdebug in place of a method of one object."""

from collections.abc import Callable
from typing import Any


class ReplacedMethod:
    """Replaces a method of one instance until `undo`. The method is stored in the dict of the
    instance, because Keras searches each new attribute for layers and variables.

    Raises AttributeError if `owner` has no method of that name.
    """

    def __init__(self, owner: Any, name: str, method: Callable[..., Any]) -> None:
        self.original: Any = getattr(owner, name)
        self._own = vars(owner)
        self._name = name
        self._method = method
        self._given = self._own.get(name)  # by the script, on this instance
        self._own[name] = method

    def undo(self) -> None:
        """Restores the former method, unless the script has replaced ours since."""
        if self._own.get(self._name) is not self._method:
            return
        del self._own[self._name]
        if self._given is not None:
            self._own[self._name] = self._given
