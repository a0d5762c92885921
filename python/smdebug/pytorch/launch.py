"""Records the model of an unmodified script: the part of `smdebug run` inside the trainer.

Two things are found with torch's public hooks on all modules: the roots, which are modules with
parameters to train that are called from outside, and the loss modules. A normal `Hook` then records
them. The hooks on all modules are removed when an optimizer has acted for the first time, or when a
second backward pass begins. Nothing is created before a root is called.

A model that trains after the recorded ones (later_models.py) is recorded by another hook, in a run
of its own.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from smdebug import current_hook
from smdebug._core import ModeKeys, StepPolicy
from smdebug.launched_hook import MOST_MODELS, is_recorded, make_hook, settings_of_model
from smdebug.log import get_logger
from smdebug.pytorch.backward_watch import BackwardWatch
from smdebug.pytorch.evaluation_losses import EvaluationLosses
from smdebug.pytorch.hook import Hook
from smdebug.pytorch.later_models import LaterModels, Place
from smdebug.pytorch.load_watch import LoadWatch
from smdebug.pytorch.loop_watch import LoopWatch
from smdebug.pytorch.optimizers import has_closure
from smdebug.pytorch.private_names import current_graph_task_id, is_loss, unwrapped
from smdebug.pytorch.step_series import StepSeries
from smdebug_ng.autostart import complain, complain_of

if TYPE_CHECKING:
    from torch.utils.hooks import RemovableHandle

    from smdebug.pytorch.roots import Root

FUNCTIONAL_LOSS = "loss"
_NO_LOSS = (
    "no loss was seen: that of a function is seen in a step that computes gradients, and in an "
    "evaluation only that of a loss module such as torch.nn.CrossEntropyLoss"
)


def watch(settings: Mapping[str, Any]) -> None:
    """Waits for a model. `settings` are those that SMDEBUG_RUN holds."""
    launch = Launch(settings)
    launch.begin()
    _note_updates(launch)


class LaunchedHook(Hook):
    """A hook for a script that sets neither its mode nor its rank."""

    _sees_backward = True
    _losses_may_be_compiled = False  # they are found as they run, outside of compiled code
    calls: int = 0  # of recorded models
    _series: StepSeries | None = None
    _is_evaluating = False  # the open step
    _is_training_mode = True  # the model that began it
    # The last update was in a step of a model in evaluation mode, so steps with gradients train.
    _trains_in_evaluation_mode = False
    _searches_data = True  # until a loss was not finite
    _has_mode_of_script = False
    _counts_evaluations = True  # a call that evaluates during a step of the leader belongs to it

    @functools.cached_property
    def loop_watch(self) -> LoopWatch:
        """Observes the loop around the models."""
        return LoopWatch(self._facts.loop, self._note_scaler)

    @functools.cached_property
    def _evaluation_losses(self) -> EvaluationLosses:
        return EvaluationLosses(self._switch, self._note_evaluation)

    def _make_steps(self) -> StepPolicy:
        return StepPolicy.create("leading_model")

    def _on_root_call(
        self, root: Root, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        super()._on_root_call(root, arguments, keywords)
        if self._searches_data and self._series is not None:
            self._facts.model_inputs.remember(root, arguments)

    def is_recording(self) -> bool:
        """Whether the run has not ended."""
        return self._is_open

    def root_modules(self) -> list[torch.nn.Module]:
        """The recorded models."""
        return [root.module for root in self._roots]

    def records(self, module: torch.nn.Module) -> bool:
        """Whether that is a recorded model, or a wrapper around one."""
        own = unwrapped(module)
        return any(root.module is own for root in self._roots)

    def follow_loads(self, loads: LoadWatch) -> None:
        """Reports the loads of weights that it observes."""
        self._facts.loads = loads

    def note_inner_call(self, module: torch.nn.Module) -> None:
        """Notes that a recorded model has called a module."""
        if not self.is_registered(module):
            self._facts.note_outside(module)

    def is_updated_by(self, optimizer: Any) -> bool:
        """Whether `optimizer` holds a parameter of a recorded model."""
        return any(True for _ in self._roots_updated_by(optimizer))

    def _roots_updated_by(self, optimizer: Any) -> Iterator[Root]:
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for root in self._roots:
            if any(id(parameter) in held for parameter, _ in root.parameters.named()):
                yield root

    def _begins_step(self, root: Root) -> bool:
        self.calls += 1
        return super()._begins_step(root)

    def _begin_step(self) -> bool:
        if self._series is not None:
            self._series.end_step()
        elif self._session and self._device_copies:
            self._series = StepSeries(self._session, self._device_copies, FUNCTIONAL_LOSS)
        return super()._begin_step()

    def _begin_root_step(self, root: Root) -> None:
        self._is_training_mode = root.module.training
        can_train = self._is_training_mode or self._trains_in_evaluation_mode
        is_training = can_train and torch.is_grad_enabled()
        mode = ModeKeys.TRAIN if is_training else ModeKeys.EVAL
        if mode is not self.mode:
            self.set_mode(mode)
            self.on_mode_change()
        super()._begin_root_step(root)
        if self._series is not None:
            self._series.note_call(root.number)
        if self._is_evaluating == is_training:
            self._follow_evaluation(not is_training)

    def _follow_evaluation(self, is_evaluating: bool) -> None:
        """Notes the losses of an evaluation that begins, or no more of one that has ended."""
        self._is_evaluating = is_evaluating
        if is_evaluating:
            self._evaluation_losses.watch(self._modules, self.root_modules())
        else:
            self._evaluation_losses.release()

    def _note_evaluation(self, name: str, output: Any) -> None:
        if self._series is not None:
            self._series.note_evaluation(name, output)
        if not getattr(output, "requires_grad", True):
            self._facts.loop.note_evaluation(self._is_training_mode)

    def _reasons_of_empty_collections(self) -> dict[str, str]:
        """As the base class, in terms of a script that has no hook."""
        reasons = {**super()._reasons_of_empty_collections(), "losses": _NO_LOSS}
        if not self._loss_names and "labels" in reasons:
            reasons["labels"] = _NO_LOSS
        return reasons

    def register_loss(self, loss_module: torch.nn.Module) -> None:
        """Records the inputs and the output of a loss module, see Hook."""
        super().register_loss(loss_module)
        if self._is_evaluating:
            self._follow_evaluation(True)

    def _report_unrecorded_parts(self) -> None:
        """Nothing: the script has registered nothing itself."""

    def _continue_step(self, root: Root) -> None:
        if self._series is not None:
            self._series.note_call(root.number)
        super()._continue_step(root)

    def backward_began(
        self, name: str, loss: torch.Tensor | None, start: torch.Tensor | None
    ) -> None:
        """Notes a backward pass. It starts from `start`, which is `loss` or its scaled value, or
        None if that is not one number."""
        self.note_start_of_backward(start)
        self._facts.loop.note_backward(start)
        if loss is not None:
            if self._series is not None and self._series.note_loss(loss) and self._searches_data:
                self._searches_data = False
                self._facts.note_not_finite(loss if start is None else start)
            self.record_loss_of_backward(name, loss)
        self._steps.backward_began()

    def update_began(self, optimizer: Any, arguments: Any, keywords: Any) -> None:
        """Notes that an optimizer is about to act. Backward passes that follow in this step are
        those of other models, for example of a generator through its discriminator: the models
        that the optimizer updates then get gradients that nothing uses."""
        self._steps.optimizer_acted()
        self._trains_in_evaluation_mode = not self._is_training_mode
        self.loop_watch.note_update(optimizer)
        if self._series is not None:
            self._series.note_rates(optimizer)
        if not self._switch.is_on or len(self._roots) < 2:
            return
        if has_closure(optimizer, arguments, keywords):
            return
        with self._isolate("before an optimizer's step"):
            for root in self._roots_updated_by(optimizer):
                root.parameters.close_gradients()

    def _note_scaler(self, scale: torch.Tensor, infinities: list[torch.Tensor]) -> None:
        if self._series is not None:
            self._series.note_scaler(scale, infinities)

    def on_mode_change(self) -> None:
        """Called when the mode changes: another loss may come into use. The launch replaces it."""

    def on_detach(self) -> None:
        """Called when the run ends. The launch replaces it."""

    def _detach(self) -> None:
        self.on_detach()
        self._evaluation_losses.release()
        if self._series is not None:
            self._series.close()
        self.loop_watch.remove()
        super()._detach()

    def _rank_and_size(self) -> tuple[int, int]:
        rank, size = super()._rank_and_size()
        if size == 1 and os.environ.get("WORLD_SIZE", "1").isdigit():
            size = int(os.environ.get("WORLD_SIZE", "1"))
            rank = int(os.environ.get("RANK", "0")) if size > 1 else 0
        return rank, size


class Launch:
    """Finds the models and losses of a script and registers them with a LaunchedHook."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self.hook: Any = None  # the newest LaunchedHook, once a model was called
        self._runs = 0
        self._has_updated = False  # the models of this run
        self._has_failed = self._has_warned = False
        self._later_models = LaterModels()
        self._depth = threading.local()
        self._handles: list[RemovableHandle] = []
        self._optimizer_handle: RemovableHandle | None = None
        self._backwards = 0  # since the search began
        self._loads = LoadWatch()
        self._backward_watch = BackwardWatch(self._on_backward, lambda: True, self._give_up)

    def begin(self) -> None:
        """Waits for a model."""
        self._loads.install()
        self.find()

    def find(self) -> None:
        """Installs hooks on all modules, at first to find roots, later to find losses."""
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

    def _find_during_call(self) -> None:
        """Searches again during the call of a model, whose own modules belong to it: a loss that
        it creates in each call would be found in this one only."""
        if not self._handles:
            self.find()
            self._depth.value = 1

    def _stop_finding(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _on_enter(self, module: torch.nn.Module, arguments: tuple[Any, ...]) -> None:
        depth = getattr(self._depth, "value", 0)
        self._depth.value = depth + 1
        if torch.compiler.is_compiling() or current_graph_task_id() != -1:
            return
        if depth:
            if getattr(self._depth, "is_in_root", False):
                self._note_inner_call(module)
            return
        self._depth.is_in_root = False
        # Keras on torch has its own launch, and calls modules without values to find their shapes.
        if is_recorded() or any(map(_is_placeholder, arguments)):
            return
        try:
            if is_loss(module):
                self._found_loss(module)
            elif self._is_new_root(module):
                self._found_root(module, arguments)
            self._depth.is_in_root = self.hook is not None and self.hook.records(module)
        except Exception as error:
            self._give_up(error)

    def _note_inner_call(self, module: torch.nn.Module) -> None:
        try:
            if torch.is_grad_enabled():
                self.hook.note_inner_call(module)
        except Exception as error:
            self._give_up(error)

    def _on_leave(self, module: torch.nn.Module, arguments: Any, output: Any) -> None:
        # The search may have begun inside this call.
        self._depth.value = max(getattr(self._depth, "value", 0) - 1, 0)

    def _is_new_root(self, module: torch.nn.Module) -> bool:
        """Every root after the first must be training, unlike the teacher in a distillation."""
        if self.hook is None:
            return _is_trainable(module)
        is_training = module.training and torch.is_grad_enabled()
        if self._later_models.was_recorded(unwrapped(module)):
            if is_training and not self._later_models.trains(self.hook.calls):
                self._later_models.begin(self.hook.calls)
            return False
        takes_hooks = not isinstance(unwrapped(module), torch.jit.ScriptModule)
        return is_training and takes_hooks and not self._is_known(module) and _is_trainable(module)

    def _is_known(self, module: torch.nn.Module) -> bool:
        return any(map(self.hook.is_registered, unwrapped(module).modules()))

    def _found_root(self, root: torch.nn.Module, arguments: tuple[Any, ...]) -> None:
        if self.hook is None:
            self._begin_run(self._settings)
        elif self._has_updated:
            if not self._later_models.is_searching:
                self._later_models.begin(self.hook.calls)
            calls = self.hook.calls if self.hook.is_recording() else None
            place = self._later_models.place_of(unwrapped(root), calls)
            if place is Place.UNKNOWN or (place is Place.AFTER and not self._begin_next_run()):
                return
        self.hook.register_module(root)
        self.hook.begin_during_call(root, arguments)

    def _begin_run(self, settings: Mapping[str, Any]) -> None:
        self._runs += 1
        self._has_updated = False
        self.hook = hook = make_hook(LaunchedHook, settings)
        hook.on_mode_change = self._find_during_call
        hook.on_detach = self._undo
        hook.follow_loads(self._loads)
        self._backward_watch.install()
        hook.loop_watch.install()

    def _begin_next_run(self) -> bool:
        """Ends the run, and begins that of the next model, if there is one."""
        settings = settings_of_model(self._settings, self._runs + 1)
        if settings is None:
            self._stop_finding()
            self._warn_of_another_model()
            return False
        ended = self.hook
        self._later_models.note_end_of(ended.root_modules())
        ended.on_mode_change = ended.on_detach = lambda: None
        ended.close()
        self._begin_run(settings)
        return True

    def note_update(self, optimizer: Any, arguments: Any, keywords: Any) -> None:
        """Called before each update of the script."""
        if self.hook is None or torch.compiler.is_compiling():
            return
        try:
            if self._is_of_later_model(optimizer):
                self._later_models.begin(self.hook.calls)
                self.find()
        except Exception as error:
            self._give_up(error)
        if not self._later_models.trains(self.hook.calls):
            self.hook.update_began(optimizer, arguments, keywords)

    def _is_of_later_model(self, optimizer: Any) -> bool:
        """Whether `optimizer` acts for the first time, and updates none of the recorded models."""
        if self._has_failed or not self._later_models.is_first_update(optimizer):
            return False
        is_of_this_run = self.hook.is_recording() and self.hook.is_updated_by(optimizer)
        self._has_updated |= is_of_this_run
        return not is_of_this_run

    def _found_loss(self, loss: torch.nn.Module) -> None:
        if self.hook is None or self._later_models.is_searching:
            return
        if not self.hook.is_registered(loss):
            self.hook.register_loss(loss)

    def _undo(self) -> None:
        self._stop_finding()
        self._forget_optimizers()
        self._loads.remove()
        self._backward_watch.remove()

    def _on_optimizer(self, optimizer: Any, arguments: Any, keywords: Any) -> None:
        # torch is iterating over its optimizer hooks, so this one is removed later.
        if self.hook is not None and not self._later_models.is_searching:
            self._stop_finding()

    def _forget_optimizers(self) -> None:
        if self._optimizer_handle is not None:
            self._optimizer_handle.remove()
            self._optimizer_handle = None

    def _on_backward(self, loss: torch.Tensor | None, start: torch.Tensor | None) -> None:
        self._backwards += 1
        if self._later_models.gives_up(self.hook.calls):
            self._warn_of_another_model()
        if self._backwards > 1 and not self._later_models.is_searching:
            self._stop_finding()
        if not self._handles:
            self._forget_optimizers()
        if not self._later_models.trains(self.hook.calls):
            self.hook.backward_began(FUNCTIONAL_LOSS, loss, start)

    def _warn_of_another_model(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            get_logger().warning(
                "another model trains now that is not recorded: smdebug run records models that "
                f"are called as model(x), at most {MOST_MODELS} one after the other, and none "
                "again after another one; to record it, make a Hook for it, or run the script "
                "once per model"
            )

    def _give_up(self, error: Exception) -> None:
        self._has_failed = True
        self._stop_finding()
        complain_of(error)
        if self.hook is not None:
            self.hook.close()


def _is_trainable(module: torch.nn.Module) -> bool:
    return any(
        parameter.requires_grad or torch.nn.parameter.is_lazy(parameter)
        for parameter in unwrapped(module).parameters()
    )


def _is_placeholder(argument: Any) -> bool:
    return getattr(argument, "is_meta", False) or type(argument).__name__ == "KerasTensor"


def _note_updates(launch: Launch) -> None:
    """Counts the updates. At the first one, logs the parts of the script that cannot be recorded.
    The hook stays installed, because torch iterates over its hooks while it calls one."""
    has_noted = False

    def note(optimizer: Any, arguments: Any, keywords: Any) -> None:
        nonlocal has_noted
        launch.note_update(optimizer, arguments, keywords)
        if has_noted:
            return
        try:
            hooks = current_hook.open_hooks()
            # The first closure may be the first to call the model.
            if hooks or not has_closure(optimizer, arguments, keywords):
                has_noted = True
                _note_gaps(hooks)
        except Exception as error:
            complain_of(error)

    register_optimizer_step_pre_hook(note)


def _note_gaps(hooks: list[Any]) -> None:
    if not hooks:
        complain(
            "an optimizer acts, but no model with trainable parameters was called: a model is "
            "recorded when it is called as model(x), not as model.forward(x)"
        )
    modules = [module for hook in hooks for module in getattr(hook, "registered_modules", list)()]
    if any(isinstance(module, torch.nn.TransformerEncoderLayer) for module in modules):
        get_logger().info(
            "torch does not use the fast path of TransformerEncoderLayer in evaluation while it is "
            "recorded: evaluation results may differ in the last bits, training results do not"
        )
