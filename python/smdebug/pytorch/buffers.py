"""The buffers of one root, such as the running mean of a BatchNorm: collection `buffers`, and what
the rule NormalizationTrouble selects of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from smdebug._core import buffer_name
from smdebug.hook_arguments import encodable

if TYPE_CHECKING:
    from smdebug._core import Session


_COLLECTIONS = ("buffers", "rule_NormalizationTrouble")


class RootBuffers:
    """Saves the buffers of a root at the beginning of a step, as `buffer/<root>_<path>`."""

    def __init__(self, session: Session, root_name: str, root: nn.Module) -> None:
        self._session = session
        self._root_name = root_name
        self._root = root
        self._paths: list[str] = []
        self._slots = session.tensors([])
        self._is_saved = False

    def follow_plan(self) -> None:
        """Checks whether the current plan saves one of the collections."""
        self._is_saved = any(map(self._session.saves, _COLLECTIONS))

    def put(self) -> None:
        """Saves the values that are due. Lists the buffers in each step, because a model may add,
        remove and replace them."""
        if not self._is_saved:
            return
        buffers = {
            path: buffer
            for path, buffer in self._root.named_buffers()
            if not nn.parameter.is_lazy(buffer)
        }
        paths = list(buffers)
        if paths != self._paths:
            self._paths = paths
            self._slots = self._session.tensors([self._name(path) for path in paths])
        self._slots.put(list(buffers.values()))

    def _name(self, path: str) -> str:
        return buffer_name(self._root_name, encodable(path.replace("_orig_mod.", "")))
