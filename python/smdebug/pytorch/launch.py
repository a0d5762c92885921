"""Records the model of an unmodified script: the part of `smdebug run` inside the trainer.

torch's public hooks on all modules are used only to find things: the roots, which are modules with
parameters to train that are called from outside, and the loss modules. Then a normal `Hook` takes
over, and the hooks on all modules are gone when an optimizer has acted for the first time, or a
second backward pass begins. Nothing is made before a root is called.
"""

import os
import threading

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook

from smdebug._core import ModeKeys, StepPolicy
from smdebug.autostart import complain
from smdebug.launched_hook import is_recorded, make_hook
from smdebug.pytorch.backward_watch import BackwardWatch
from smdebug.pytorch.hook import Hook
from smdebug.pytorch.launch_notes import LaunchNotes
from smdebug.pytorch.private_names import current_graph_task_id, is_loss, unwrapped

FUNCTIONAL_LOSS = "loss"


def watch(settings):
    """Waits for a model. `settings` is what SMDEBUG_RUN says."""
    Launch(settings).find()
    LaunchNotes()


class LaunchedHook(Hook):
    """A hook for a script that says neither its mode nor its rank."""

    _losses_may_be_compiled = False  # they are found as they run, outside of compiled code
    _counts_evaluations = True  # a model tried out between two calls of the leader is in its step

    def _make_steps(self):
        return StepPolicy.create("leading_model")

    def _begin_root_step(self, root):
        is_training = root.module.training and torch.is_grad_enabled()
        mode = ModeKeys.TRAIN if is_training else ModeKeys.EVAL
        if mode is not self.mode:
            self.set_mode(mode)
            self.on_mode_change()
        super()._begin_root_step(root)

    def backward_began(self, name, loss):
        """`loss` is what it starts from, None where that is not one number."""
        if loss is not None:
            self.record_loss_of_backward(name, loss)
        self._steps.backward_began()

    def on_mode_change(self):
        """Another loss module may come into use."""

    def on_detach(self):
        """Undoes what the launch did to torch."""

    def _detach(self):
        self.on_detach()
        super()._detach()

    def _rank_and_size(self):
        rank, size = super()._rank_and_size()
        if size == 1 and os.environ.get("WORLD_SIZE", "1").isdigit():
            size = int(os.environ.get("WORLD_SIZE", "1"))
            rank = int(os.environ.get("RANK", "0")) if size > 1 else 0
        return rank, size


class Launch:
    def __init__(self, settings):
        self._settings = settings
        self._hook = None
        self._depth = threading.local()
        self._handles = []
        self._optimizer_handle = None
        self._backwards = 0  # since the search began
        self._backward_watch = BackwardWatch(self._on_backward, self._wants_loss, self._give_up)

    def find(self):
        """Puts hooks on all modules: to find the roots, later to find losses."""
        if self._handles:
            return
        self._depth = threading.local()
        self._backwards = 0
        self._handles = [
            register_module_forward_pre_hook(self._on_enter),
            register_module_forward_hook(self._on_leave, always_call=True),
        ]
        if self._optimizer_handle is None:
            self._optimizer_handle = register_optimizer_step_post_hook(self._on_optimizer)

    def _stop_finding(self):
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _on_enter(self, module, arguments):
        depth = getattr(self._depth, "value", 0)
        self._depth.value = depth + 1
        if depth or torch.compiler.is_compiling() or current_graph_task_id() != -1:
            return
        if is_recorded() or _is_tried_out(arguments):  # by Keras on torch, which has its own launch
            return
        try:
            if is_loss(module):
                self._found_loss(module)
            elif self._is_new_root(module):
                self._found_root(module, arguments)
        except Exception as error:
            self._give_up(error)

    def _on_leave(self, module, arguments, output):
        # The search may have begun inside this call.
        self._depth.value = max(getattr(self._depth, "value", 0) - 1, 0)

    def _is_new_root(self, module):
        """A further root must be training: a teacher that only judges is none."""
        if self._hook is None:
            return _is_trainable(module)
        is_training = module.training and torch.is_grad_enabled()
        takes_hooks = not isinstance(unwrapped(module), torch.jit.ScriptModule)
        return is_training and takes_hooks and not self._is_known(module) and _is_trainable(module)

    def _is_known(self, module):
        return any(map(self._hook.is_registered, unwrapped(module).modules()))

    def _found_root(self, root, arguments):
        if self._hook is None:
            self._hook = hook = make_hook(LaunchedHook, self._settings)
            hook.on_mode_change = self.find
            hook.on_detach = self._undo
            self._backward_watch.install()
        self._hook.register_module(root)
        self._hook.begin_during_call(root, arguments)

    def _found_loss(self, loss):
        if self._hook is not None and not self._hook.is_registered(loss):
            self._hook.register_loss(loss)

    def _undo(self):
        self._stop_finding()
        self._forget_optimizers()
        self._backward_watch.remove()

    def _wants_loss(self):
        return self._hook.wants_loss_of_backward()

    def _on_optimizer(self, optimizer, arguments, keywords):
        # torch walks over its optimizer hooks just now: ours comes out later.
        if self._hook is not None:
            self._stop_finding()

    def _forget_optimizers(self):
        if self._optimizer_handle is not None:
            self._optimizer_handle.remove()
            self._optimizer_handle = None

    def _on_backward(self, loss):
        self._backwards += 1
        if self._backwards > 1:
            self._stop_finding()
        if not self._handles:
            self._forget_optimizers()
        self._hook.backward_began(FUNCTIONAL_LOSS, loss)

    def _give_up(self, error):
        self._stop_finding()
        complain(repr(error))
        if self._hook is not None:
            self._hook.close()


def _is_trainable(module):
    return any(
        parameter.requires_grad or torch.nn.parameter.is_lazy(parameter)
        for parameter in unwrapped(module).parameters()
    )


def _is_tried_out(arguments):
    """Whether a module is called without values, to find out its shapes."""
    return any(
        getattr(each, "is_meta", False) or type(each).__name__ == "KerasTensor"
        for each in arguments
    )
