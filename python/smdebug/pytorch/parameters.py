"""The parameters of one root: their values once per step, their gradients as they come."""

import operator

import torch

from smdebug.pytorch.private_names import free_of_hooks, own_parameters
from smdebug.pytorch.shards import managed_parameters


class RootParameters:
    """Follows a root's parameters through freezing, replacement and late initialization.

    Values are handed over in one call per step. A gradient reaches the core from a tensor hook
    that is a C function: no Python runs for it. Without `hooks_gradients` somebody else saves them.
    The parameters that fully_shard manages are their shards, and so are their gradients, which are
    there once they are reduced.
    """

    def __init__(self, session, root_name, root, hooks_gradients=True):
        self._hooks_gradients = hooks_gradients
        self._session = session
        self._root_name = root_name
        self._root = root
        self._gradient_handles = []
        # (parameter, managed by fully_shard?, gradient site) of those that take no gradient now
        self._unhooked = []
        self._find()

    def _find(self):
        """Lists the parameters by name, each once, and those that have no values yet apart."""
        self._slots, self._paths, self._late = [], [], []
        self._managed = set()  # slots of fully_shard's
        managed = managed_parameters(self._root)
        seen = set()
        for prefix, module in self._root.named_modules():
            owner = own_parameters(module)
            for key, parameter in owner.items():
                if parameter is None or id(parameter) in seen:
                    continue
                seen.add(id(parameter))
                path = f"{prefix}.{key}" if prefix else key
                path = path.replace("_orig_mod.", "")
                if torch.nn.parameter.is_lazy(parameter):
                    self._late.append((owner, key, path))
                elif (module, key) in managed:
                    self._managed.add(len(self._slots))
                    self._slots.append(managed[module, key])
                    self._paths.append(path)
                else:
                    self._slots.append((owner, key))
                    self._paths.append(path)
        self._tensors = [owner[key] for owner, key in self._slots]
        self._sites = self._session.parameters(self._root_name, self._paths)
        self._gradient_sites = self._session.gradients(self._root_name, self._paths)
        self._gradients = [
            (
                self._tensors[slot],
                slot in self._managed,
                self._session.gradient(self._root_name, path),
            )
            for slot, (path, can_match) in enumerate(
                zip(self._paths, self._gradient_sites.can_match(), strict=True)
            )
            if can_match
        ]

    @property
    def is_waiting(self):
        """Whether a parameter gets its shape only in the first forward pass."""
        return bool(self._late)

    def named(self):
        """(parameter, path) of each, as they were found last."""
        return zip(self._tensors, self._paths, strict=True)

    def put(self):
        """Saves the values that are due, and follows parameters that were replaced."""
        try:
            tensors = [owner[key] for owner, key in self._slots]
        except KeyError:
            tensors = []
        if len(tensors) != len(self._tensors) or not all(map(operator.is_, tensors, self._tensors)):
            self.attach()
            tensors = self._tensors
        self._sites.put(tensors)

    def put_late(self):
        """After the first forward pass: the parameters that got their values in it."""
        late = [(owner[key], path) for owner, key, path in self._late]
        if any(torch.nn.parameter.is_lazy(parameter) for parameter, _ in late):
            return
        paths = [path for _, path in late]
        self._session.parameters(self._root_name, paths).put([parameter for parameter, _ in late])
        self.attach()
        self.follow_gradients(True)

    def attach(self):
        """Finds the parameters again. Their gradient hooks are out then."""
        self.close_gradients()
        self._find()

    def follow_gradients(self, is_saved_step):
        """Has gradient hooks in while a step saves gradients, and only then: each of them is a
        call in every backward pass."""
        if not self._hooks_gradients:
            return
        if not (is_saved_step and self._gradient_sites.is_any_due()):
            self.close_gradients()
            return
        if not self._gradient_handles:
            self._unhooked = list(self._gradients)
        still_frozen = []
        for parameter, is_managed, site in self._unhooked:
            if not parameter.requires_grad:
                still_frozen.append((parameter, is_managed, site))
                continue
            if is_managed:  # its tensor hooks do not run
                handle = parameter.register_post_accumulate_grad_hook(_GradientOf(site))
            else:
                handle = parameter.register_hook(site.put)
            self._gradient_handles.append((parameter, handle))
        self._unhooked = still_frozen

    def close_gradients(self):
        for parameter, handle in self._gradient_handles:
            handle.remove()
            free_of_hooks(parameter)
        self._gradient_handles = []
        self._unhooked = []


class _GradientOf:
    """A hook that runs when the gradient of a shard has been reduced."""

    def __init__(self, site):
        self._site = site

    def __call__(self, parameter):
        if parameter.grad is not None:
            self._site.put(parameter.grad)
