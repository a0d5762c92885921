"""`Hook` for PyTorch: it says when a step begins and which tensor is which.

A step begins when a registered root is called: parameters are saved then, inputs and outputs as
the modules run, gradients as backward leaves them. Names and the decision what to save are the
core's.
"""

import re

import torch

from smdebug import _core
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError
from smdebug.hook import BaseHook
from smdebug.pytorch.collection import Collection
from smdebug.pytorch.module_hooks import Gate, LossHook, RootHook, WatchedModule
from smdebug.pytorch.parameters import RootParameters
from smdebug.pytorch.private_names import is_loss, unwrapped


class Hook(BaseHook):
    """Records a PyTorch training.

        hook = Hook(out_dir="runs/1", save_all=True, save_config=SaveConfig(save_interval=10))
        hook.register_module(model)
        hook.register_loss(criterion)

    The last step is readable after `close()`, which also happens when the program ends.
    """

    collection_class = Collection
    _gate = Gate()

    def __init__(
        self,
        out_dir,
        export_tensorboard=False,
        tensorboard_dir=None,
        dry_run=False,
        reduction_config=None,
        save_config=None,
        include_regex=None,
        include_collections=None,
        save_all=False,
        include_workers="one",
        checksum="constant",
        max_run_bytes=None,
        keep_every=0,
    ):
        self._gate = Gate()
        self._roots = []
        self._root_hooks = []
        self._root_handles = []
        self._modules = {}  # module -> its path, over all roots
        self._watched = []
        self._watched_roots = {}  # root -> its WatchedModule
        self._plan_version = None
        self._modes_seen = set()
        self._is_settling = False
        super().__init__(
            out_dir,
            export_tensorboard,
            tensorboard_dir,
            dry_run,
            reduction_config,
            save_config,
            include_regex,
            include_collections,
            save_all,
            include_workers,
            checksum,
            max_run_bytes,
            keep_every,
        )

    # --- registration ---

    def register_module(self, module):
        """Records `module`: each call of it is a step."""
        if not isinstance(module, torch.nn.Module):
            raise SMDebugTypeError(f"register_module takes a torch.nn.Module, found {module!r}")
        root = unwrapped(module)
        known = [m for m in root.modules() if m in self._modules]
        if known:
            raise SMDebugValueError(
                f"module '{self._modules[known[0]]}' is registered already; "
                "register each model once"
            )
        if isinstance(root, torch.jit.ScriptModule):
            raise SMDebugTypeError("a ScriptModule takes no hooks; register the model before it")
        name = type(root).__name__
        parameters = RootParameters(self._session, name, root)
        root_hook = RootHook(
            self._gate, lambda arguments: self._on_root_call(root, parameters, arguments)
        )
        self._root_hooks.append(root_hook)
        self._root_handles.append(module.register_forward_pre_hook(root_hook))
        self._roots.append(parameters)
        for path, submodule in root.named_modules():
            if path.endswith("_orig_mod"):
                continue  # the wrapper around it has the name
            watched = self._watch(submodule, path.replace("_orig_mod.", "") or name)
            if submodule is root:
                self._watched_roots[root] = watched
        self._settle()

    register_hook = register_module

    def register_loss(self, loss_module):
        """Records what a loss module takes and gives."""
        if not isinstance(loss_module, torch.nn.Module) or not is_loss(loss_module):
            raise SMDebugTypeError(
                f"register_loss takes a loss module such as torch.nn.MSELoss, found {loss_module!r}"
            )
        if loss_module in self._modules:
            raise SMDebugValueError(
                f"loss '{self._modules[loss_module]}' is registered already; "
                "a loss inside a registered model is recorded with it"
            )
        self._watch(loss_module, type(loss_module).__name__, LossHook)
        self._settle()

    def record_tensor_value(self, tensor_name, tensor_value):
        """Records a tensor that no module gives, such as a functional loss, as
        `<tensor_name>_output_0`."""
        if not isinstance(tensor_value, torch.Tensor):
            raise SMDebugTypeError(
                f"'{tensor_name}' must be a torch.Tensor, found {tensor_value!r}"
            )
        if self._session and self._gate.is_open:
            self._session.module(tensor_name).capture_outputs(tensor_value)

    def record_loss_of_backward(self, name, loss):
        """Records the loss that backward starts from, unless a loss module ran in this step."""
        if self._gate.is_open and not self._gate.has_loss:
            self.record_tensor_value(name, loss)

    def is_registered(self, module):
        return module in self._modules

    def registered_modules(self):
        """Every module that is watched, losses included: a list of torch.nn.Module."""
        return list(self._modules)

    def begin_during_call(self, module, arguments):
        """For a root that was registered while it is being called: begins this call's step."""
        for root_hook in self._root_hooks:
            root_hook(module, arguments)

    def _watch(self, module, path, *output_hook):
        self._modules[module] = path
        watched = WatchedModule(module, self._gate, self._session.module(path), *output_hook)
        watched.install()
        if self._gate.is_open:
            watched.open_inputs()
        self._watched.append(watched)
        return watched

    # --- steps ---

    def _on_root_call(self, root, parameters, arguments):
        if self._failure:
            return
        try:
            self._begin_root_step(root, parameters)
            if self._gate.is_open:
                self._take_inputs_of(root, arguments)
        except SMDebugError:  # the configuration makes no sense
            self._detach()
            raise
        except Exception as error:
            self._gate.is_open = False
            self._latch("at the beginning of a step", error)

    def _begin_root_step(self, root, parameters):
        self._gate.put_kept()
        was_open, self._gate.is_open, self._gate.has_loss = self._gate.is_open, False, False
        capturing = self._begin_step()
        if was_open and self._is_settling:
            self._is_settling = not self._prune()
        if self._plan_version != self._session.plan_version:
            self._plan_version = self._session.plan_version
            for each in self._roots:
                each.attach()
            self._settle()
        if self.mode not in self._modes_seen:
            self._modes_seen.add(self.mode)
            self._settle()
        self._gate.is_open = capturing
        if capturing:
            parameters.put()
        if capturing or was_open:
            self._follow(capturing)
        if parameters.is_waiting:
            self._put_late_parameters(root, parameters)

    def _follow(self, is_saved_step):
        """Has the hooks in that only a saved step pays for."""
        for each in self._roots:
            each.follow_gradients(is_saved_step)
        for watched in self._watched:
            if is_saved_step:
                watched.open_inputs()
            else:
                watched.close_inputs()

    def _take_inputs_of(self, root, arguments):
        """Of the call that begins the step: a hook installed now would miss it."""
        watched = self._watched_roots[root]
        watched.close_inputs()
        watched.run_input_hook(arguments)

    def _put_late_parameters(self, root, parameters):
        """Lazy modules get their parameters during this call."""

        def after_forward(module, arguments, output):
            handle.remove()
            with self._unharmed("after the first forward pass"):
                parameters.put_late()

        handle = root.register_forward_hook(after_forward)

    def _settle(self):
        """Puts all hooks in; those that cannot save anything come out after a step or two."""
        for watched in self._watched:
            watched.install()
        self._is_settling = True

    def _prune(self):
        """Returns whether every module was called, so that there is nothing left to find out."""
        return all([watched.prune() for watched in self._watched])

    # --- what the base asks ---

    @classmethod
    def make_framework(cls):
        return _core.pytorch_framework()

    def _versions(self):
        return super()._versions() | {"torch": torch.__version__}

    def _rank_and_size(self):
        distributed = torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
        return 0, 1

    def _module_patterns(self, collection):
        patterns = []
        for module, inputs, outputs in getattr(collection, "module_tensors", list)():
            path = self._modules.get(module)
            if path is None:
                if not self._has_begun and not self._modules:
                    continue  # nothing is registered yet
                raise SMDebugValueError(
                    f"collection '{collection.name}' names a {type(module).__name__} that is in "
                    "no registered model; call register_module with the model that holds it"
                )
            if inputs:
                patterns.append(f"^{re.escape(path)}_input_")
            if outputs:
                patterns.append(f"^{re.escape(path)}_output_")
        return patterns

    def _detach(self):
        self._gate.is_open = False
        self._gate.put_kept()
        for handle in self._root_handles:
            handle.remove()
        for parameters in self._roots:
            parameters.close_gradients()
        for watched in self._watched:
            watched.remove()

    def _after_fork_in_child(self):
        self._gate.is_open = False
        super()._after_fork_in_child()
