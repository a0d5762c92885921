"""Calls a function once a module has been imported, whoever imports it."""

from __future__ import annotations

import sys

# Not imported: `typing` costs milliseconds in every process. Type checkers know the name.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def after_import(
    name: str, action: Callable[[], object], complain: Callable[[str], object]
) -> None:
    """Calls `action`, which should not raise, once the module `name` has been imported: now if it
    is imported already. Calls `complain` with the reason if the import cannot be observed."""
    if name in sys.modules:
        action()
    else:
        sys.meta_path.insert(0, _ImportWatcher(name, action, complain))


class _ImportWatcher:
    """A finder that is first on sys.meta_path until its module is imported."""

    def __init__(
        self, name: str, action: Callable[[], object], complain: Callable[[str], object]
    ) -> None:
        self._name = name
        self._action = action
        self._complain = complain

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of the module, which calls the action once it is executed; None for any other
        module."""
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        import importlib.util

        spec = importlib.util.find_spec(name)
        try:
            if spec is not None and spec.loader is not None:
                self._follow(spec.loader)
        except Exception as error:
            self._complain(f"the import of {name} cannot be observed: {error!r}")
        return spec

    def _follow(self, loader: Loader) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._action()

        loader.exec_module = exec_module
