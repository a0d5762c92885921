"""`Root`: a registered model with its name, the paths of its modules, and its tensors."""

from __future__ import annotations

import operator
from collections.abc import Set
from typing import TYPE_CHECKING

import torch

from smdebug.hook_arguments import encodable
from smdebug.log import get_logger
from smdebug.pytorch.buffers import RootBuffers
from smdebug.pytorch.parameters import RootParameters
from smdebug.pytorch.private_names import own_modules

if TYPE_CHECKING:
    from smdebug._core import Session


_MOST_CHANGES = 20


class Root:
    """A registered model. `module` is the user's own, without the wrappers of torch. `paths` maps
    each of its modules that takes hooks to the path that its tensors are named after."""

    def __init__(
        self,
        session: Session,
        module: torch.nn.Module,
        name: str,
        taken_paths: Set[str],
        hooks_gradients: bool,
        is_compiled: bool,
    ) -> None:
        self.module: torch.nn.Module = module
        self.number: int = id(module)  # for the step policy
        self.name: str = name
        self.is_compiled: bool = is_compiled
        self.parameters: RootParameters = RootParameters(session, name, module, hooks_gradients)
        self.buffers: RootBuffers = RootBuffers(session, name, module)
        self.paths: dict[torch.nn.Module, str] = {}
        self._is_put = False
        self._changes = -1
        self.find_modules(taken_paths)

    def find_modules(self, taken_paths: Set[str]) -> None:
        """Finds the modules and their paths, of which other roots have `taken_paths`."""
        self._changes += 1
        self.paths = _paths(self.module, self.name, taken_paths)
        tables = [own_modules(module) for module in self.module.modules()]
        self._tables = [table for table in tables if table]
        self._children = [child for table in self._tables for child in table.values()]

    def has_other_modules(self) -> bool:
        """Whether a module was added, replaced or removed since `find_modules`."""
        children = [child for table in self._tables for child in table.values()]
        return len(children) != len(self._children) or not all(
            map(operator.is_, children, self._children)
        )

    def changes_too_often(self) -> bool:
        """Whether the model exchanges modules as it runs; logs it once. Each change costs a new
        plan."""
        if self._changes == _MOST_CHANGES:
            self._changes += 1
            get_logger().info(
                "model '%s' has exchanged modules %d times: modules that it takes up from now on "
                "are not recorded",
                self.name,
                _MOST_CHANGES,
            )
        return self._changes > _MOST_CHANGES

    def begin_step(self) -> None:
        """Lets `put` save the tensors of a new step."""
        self._is_put = False

    def put(self) -> None:
        """Saves the due parameters and buffers, once per step."""
        if not self._is_put:
            self._is_put = True
            self.parameters.put()
            self.buffers.put()


def _paths(root: torch.nn.Module, name: str, taken: Set[str]) -> dict[torch.nn.Module, str]:
    paths = {}
    scripted = []
    for path, module in root.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            scripted.append(path)
        elif not path.endswith("_orig_mod"):  # the wrapper around it has the name
            paths[module] = encodable(path.replace("_orig_mod.", "")) or name
    if scripted:
        get_logger().info(
            "model '%s': '%s' and everything in it is TorchScript, which takes no hooks: only its "
            "parameters and gradients are saved",
            name,
            scripted[0],
        )
    if taken.isdisjoint(paths.values()):
        return paths
    return {module: path if module is root else f"{name}.{path}" for module, path in paths.items()}
