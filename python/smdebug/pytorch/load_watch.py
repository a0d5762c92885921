"""`LoadWatch`: observes calls of `load_state_dict()` that find no parameter of the model.

`torch.nn.Module.load_state_dict` is replaced from the start of the script until its last run ends.
With strict=False, such a call raises nothing, and the model keeps its initial values.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterable
from typing import Any

from torch import nn

from smdebug.log import get_logger
from smdebug.replaced import Replaced

_MOST = 16  # modules that are remembered


class LoadWatch:
    """Remembers the modules of such calls. Errors never reach the script."""

    def __init__(self) -> None:
        self._replaced = Replaced()
        self._modules: list[weakref.ref[nn.Module]] = []

    def install(self) -> None:
        """Replaces the function of torch."""
        load = nn.Module.load_state_dict

        @functools.wraps(load)
        def watched(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            result = load(module, *args, **kwargs)
            try:
                self._note(module, result)
            except Exception as error:  # of a module that returns something else
                get_logger().debug("what load_state_dict() has loaded is unknown: %r", error)
            return result

        self._replaced.replace(nn.Module, "load_state_dict", watched)

    def remove(self) -> None:
        """Restores the function."""
        self._replaced.restore()

    def empty_loads(self, models: Iterable[nn.Module]) -> int:
        """The modules in `models` whose last load found none of their parameters."""
        noted = {id(each()) for each in self._modules} - {id(None)}
        return sum(id(module) in noted for model in models for module in model.modules())

    def _note(self, module: nn.Module, result: Any) -> None:
        self._modules = [each for each in self._modules if each() not in (None, module)]
        missing, unexpected = set(result.missing_keys), result.unexpected_keys
        own = [name for name, _ in module.named_parameters()]
        if own and unexpected and missing.issuperset(own) and len(self._modules) < _MOST:
            self._modules.append(weakref.ref(module))
