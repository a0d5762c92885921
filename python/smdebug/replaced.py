"""`Replaced`: replaces functions of a framework for a while."""

from __future__ import annotations

from typing import Any


class Replaced:
    """The functions that are replaced now."""

    def __init__(self) -> None:
        self._functions: list[tuple[Any, str, Any, Any]] = []  # owner, name, its own, ours

    def __bool__(self) -> bool:
        return bool(self._functions)

    def replace(self, owner: Any, name: str, ours: Any) -> None:
        """Sets the attribute `name` of a module or class to `ours`."""
        self._functions.append((owner, name, getattr(owner, name), ours))
        setattr(owner, name, ours)

    def restore(self) -> None:
        """Restores the functions, unless other code has replaced them in the meantime."""
        for owner, name, original, ours in reversed(self._functions):
            if getattr(owner, name) is ours:
                setattr(owner, name, original)
        self._functions = []
