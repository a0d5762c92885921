"""`Root`: a registered model with its name, the paths of its modules, and what it holds."""

import torch

from smdebug.log import get_logger
from smdebug.pytorch.buffers import RootBuffers
from smdebug.pytorch.parameters import RootParameters

logger = get_logger()


class Root:
    """One model that was registered. `module` is the user's own, inside torch's wrappers; `paths`
    has each of its modules that can be watched with the path that its tensors are named by."""

    def __init__(self, session, module, name, taken_paths, hooks_gradients, is_compiled):
        self.module = module
        self.number = id(module)  # for the step policy
        self.name = name
        self.is_compiled = is_compiled
        self.parameters = RootParameters(session, name, module, hooks_gradients)
        self.buffers = RootBuffers(session, name, module)
        self.paths = _paths(module, name, taken_paths)
        self._is_put = False

    def begin_step(self):
        self._is_put = False

    def put(self):
        """Saves what is due of parameters and buffers, once per step."""
        if not self._is_put:
            self._is_put = True
            self.parameters.put()
            self.buffers.put()


def _paths(root, name, taken):
    paths = {}
    scripted = []
    for path, module in root.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            scripted.append(path)
        elif not path.endswith("_orig_mod"):  # the wrapper around it has the name
            paths[module] = path.replace("_orig_mod.", "") or name
    if scripted:
        logger.info(
            "model '%s': '%s' and what is inside is TorchScript, which takes no hooks: only "
            "parameters and gradients of it are saved",
            name,
            scripted[0],
        )
    if taken.isdisjoint(paths.values()):
        return paths
    return {module: path if module is root else f"{name}.{path}" for module, path in paths.items()}
