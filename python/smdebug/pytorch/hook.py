"""`Hook` for PyTorch: reports to the core when a step begins, and its tensors.

A step begins when a registered root is called. Parameters are saved at that time, inputs and
outputs as the modules run, and gradients as the backward pass computes them. The core builds the
names and decides what to save. optimizers.py reads the state of optimizers.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from smdebug import _core, current_hook
from smdebug._core import ModeKeys
from smdebug.activation_collections import ACTIVATION_COLLECTIONS
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.hook import BaseHook
from smdebug.hook_arguments import (
    checked_choice,
    checked_name,
    class_hint,
    class_of,
    encodable,
    shown,
)
from smdebug.hook_options import HookOptions, takes_options
from smdebug.hook_status import HookCost
from smdebug.pytorch import values
from smdebug.pytorch.activation_gradients import ActivationGradients
from smdebug.pytorch.collection import Collection
from smdebug.pytorch.compiled import forget_compiled
from smdebug.pytorch.device.device_copies import DeviceCopies
from smdebug.pytorch.empty_collections import reasons_of_empty_collections
from smdebug.pytorch.facts import FactsReport
from smdebug.pytorch.hook_installer import HookInstaller
from smdebug.pytorch.module_hooks import (
    CaptureSwitch,
    LossHook,
    RootStart,
    WatchedModule,
    outside_compiled_graph,
)
from smdebug.pytorch.module_patterns import (
    LOOP_COLLECTIONS,
    activation_patterns,
    added_module_patterns,
    foreign_modules,
    loop_patterns,
)
from smdebug.pytorch.optimizer_watch import OptimizerWatch
from smdebug.pytorch.optimizers import Optimizers
from smdebug.pytorch.private_names import called_module, is_loss, unwrapped, updates_of
from smdebug.pytorch.roots import Root
from smdebug.pytorch.scripting import hide_hooks, show_hooks
from smdebug.pytorch.shards import class_name, rank_and_size
from smdebug.pytorch.veto import OptimizerVeto
from smdebug.unknown_arguments import with_known_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch.nn import Module
    from torch.utils.hooks import RemovableHandle


@dataclass(frozen=True, kw_only=True)
class PyTorchOptions(HookOptions):
    """The arguments of a Hook for PyTorch, in addition to those of all frameworks.

    With `step_on="forward"` (the default), each call of a registered model is a step. With
    `step_on="optimizer"`, a step ends when an optimizer has acted and includes all earlier calls of
    all models; a call that does not train (mode EVAL or PREDICT, or mode GLOBAL and a model in
    `eval()`) is a separate step. If a module is called again in a step, the numbering of its
    tensors continues.

    `gradients="backward"` (the default) saves what each backward pass adds to a gradient.
    `gradients="final"` saves the gradient that the optimizer uses, just before it acts: accumulated
    over several backward passes, reduced over processes, clipped, and without the scale of a
    GradScaler. If the GradScaler skips the update, there is none.
    """

    step_on: str = "forward"
    gradients: str = "backward"


def _has_forward(module: torch.nn.Module) -> bool:
    return type(module).forward is not torch.nn.Module.forward or "forward" in vars(module)


def _hint_on(given: Any) -> str:
    """What to register instead of `given`, which is no module."""
    if issubclass(class_of(given), torch.optim.Optimizer):
        return ": register the model; its optimizers are recorded with it"
    if inspect.isclass(given) and issubclass(given, torch.nn.Module):
        return f": register an object of it, as in model = {given.__name__}(...)"
    return ": register the model itself" if isinstance(given, (str, Iterable)) else ""


# What to do with a model in TorchScript.
_SCRIPT_HINT = (
    ": register and train the model as it was before torch.jit.script or torch.jit.trace, and make "
    "the script from the trained model; or call the script in the forward of a plain module and "
    "register that one, which records its parameters, gradients, inputs and outputs, but nothing "
    "that is computed inside the script"
)


_CALL_ADVICE = "register the model that you train, and call it as model(x), not model.forward(x)"


class Hook(BaseHook):
    """Records a PyTorch training.

        hook = Hook(out_dir="runs/1", save_all=True, save_config=SaveConfig(save_interval=10))
        hook.register_module(model)
        hook.register_loss(criterion)

    The last step is readable after `close()`, which also happens when the program ends.

    See HookOptions and PyTorchOptions for the arguments.

    Collections that the original does not have, saved only if `include_collections` or a JSON file
    names them: `buffers` (`buffer/<root>_<path>`), `optimizer_state` and `learning_rate` (see
    smdebug/pytorch/optimizers.py), `activation_gradients` (see activation_gradients.py), and
    `inputs`, `outputs` and `labels` (see module_patterns.py).

    Tensors on an accelerator are copied while the training continues. It waits for the copies once
    per saved step, when the next step begins, and with `rules` also before the optimizer acts: see
    smdebug/pytorch/device/device_copies.py. If only statistics, or reductions that follow from
    them, are saved of a tensor of one megabyte or more, the device computes them, and no element is
    copied.

    `rules` judge each saved step before the optimizer acts. `on_fire` may also be
    "skip_step", "raise" or "stop": see UpdateVeto in smdebug/rules/update_veto.py.
    """

    collection_class: type[Collection] = Collection
    patterned_collections: frozenset[str] = LOOP_COLLECTIONS | ACTIVATION_COLLECTIONS
    adapter_options: tuple[str, ...] = ("step_on", "gradients")
    vetoes: tuple[str, ...] = ("skip_step", "raise", "stop")
    advice: str = (
        "call hook.register_module(model) before the training, and call the model as model(x)"
    )
    filling_methods: str = "include(pattern) or add_module_tensors(module)"
    _switch: CaptureSwitch = CaptureSwitch()
    _losses_may_be_compiled: bool = True
    _sees_backward: bool = False  # `note_start_of_backward` is called
    _counts_evaluations: bool = False  # as calls that train, for the step policy
    _device_copies: DeviceCopies | None = None
    _mode_watch: OptimizerWatch | None = None  # while the mode is EVAL or PREDICT
    _recorded_loss: Callable[[], Any] = staticmethod(lambda: None)  # of the last backward pass

    @takes_options(PyTorchOptions)
    def __init__(self, options: PyTorchOptions) -> None:
        """See HookOptions and PyTorchOptions for the arguments, and BaseHook for errors."""
        self.step_on: str = checked_choice("step_on", options.step_on, ("forward", "optimizer"))
        self.gradients: str = checked_choice("gradients", options.gradients, ("backward", "final"))
        self._switch = CaptureSwitch()
        self._steps = self._make_steps()
        self._each_call_is_a_step = self._steps.each_call_is_a_step
        self._roots: list[Root] = []
        self._starts: dict[Module, RootStart] = {}  # root -> the RootStart that begins its steps
        self._root_handles: list[RemovableHandle] = []
        # Each parameter and how often it had been updated when the hook was closed.
        self._updates: list[tuple[weakref.ref[torch.nn.Parameter], int]] = []
        self._modules: dict[Module, str] = {}  # module -> its path, over all roots
        self._loss_names: list[str] = []
        self._loss_slots: list[_core.ModuleSlots] = []  # of the same losses
        self._watched_roots: dict[Module, WatchedModule] = {}
        self._installer = HookInstaller(self._switch)
        self._device_copies = DeviceCopies()
        self._first_update = OptimizerWatch(self, type(self)._note_first_update)
        self._initialize(options)
        self._activation_gradients = ActivationGradients(self._session, self._switch)
        self._optimizers = Optimizers(
            self._session,
            self._switch,
            self._roots,
            self._steps,
            self.gradients == "final",
            self._isolate,
            self._make_veto(),
        )
        self._facts = FactsReport(
            self._session, self._roots, self._modules, self._device_copies, self._sees_backward
        )
        self._switch.on_loss = self._facts.note_loss

    # --- registration ---

    @with_known_arguments
    def register_module(self, module: torch.nn.Module, name: str | None = None) -> None:
        """Records `module`: each call of it is a step, or part of one (see `step_on`).

        Its tensors are named after `name`, by default the class of the model. Several models may
        be registered. If two models have the same name, the later one gets a number (`Net_1`); if
        they have modules with the same path, those of the later one are called `<name>.<path>`.

        Raises SMDebugTypeError for anything but a module that accepts hooks, and SMDebugValueError
        for a module that is already registered.
        """
        if not isinstance(module, torch.nn.Module):
            raise SMDebugTypeError(
                f"register_module takes a torch.nn.Module, found {shown(module)}{_hint_on(module)}"
            )
        if name is not None and (not isinstance(name, str) or not name):
            raise SMDebugTypeError(f"a model's name must be text, found {name!r}")
        self._warn_if_closed("register_module")
        if not self._session:
            return
        root = unwrapped(module)
        self._refuse_registered(root)
        if isinstance(root, (torch.nn.ModuleList, torch.nn.ModuleDict)) and not _has_forward(root):
            raise SMDebugTypeError(
                f"a {type(root).__name__} is never called; register each model in it"
            )
        if isinstance(root, torch.jit.ScriptModule):
            raise SMDebugTypeError(f"a ScriptModule takes no hooks{_SCRIPT_HINT}")
        names = _core.UniqueNames([each.name for each in self._roots])
        name = names.take(encodable(name or class_name(root)))
        model = Root(
            self._session,
            root,
            name,
            set(self._modules.values()),
            hooks_gradients=self.gradients == "backward",
            is_compiled=hasattr(module, "_orig_mod"),
        )
        start = RootStart(self._switch, functools.partial(self._on_root_call, model))
        start.point = self._switch.points.add_start(
            f"{name}/start",
            lambda tensors: self._begin_in_graph(start, tuple(tensors)),
            lambda: self._prepare_graph(start),
        )
        start.before_copy = self._installer.install_for_copy
        self._starts[root] = start
        self._root_handles.append(
            called_module(module).register_forward_pre_hook(
                outside_compiled_graph(start), with_kwargs=True
            )
        )
        self._roots.append(model)
        for submodule, path in model.paths.items():
            is_root = submodule is root
            watched = self._watch(submodule, path, is_root=is_root, is_called_from_outside=is_root)
            if submodule is root:
                self._watched_roots[root] = watched
        current_hook.held_by_model(self)
        self.mark_edited()
        model.buffers.follow_plan()
        if self._switch.is_on:
            model.parameters.follow_gradients(True)
            self._activation_gradients.join(model)
        self._installer.settle()
        forget_compiled(name)

    def _refuse_registered(self, root: torch.nn.Module) -> None:
        """Raises SMDebugValueError if a module in `root`, or `root`, is registered."""
        for path, module in root.named_modules():
            if module in self._modules and path:
                raise SMDebugValueError(
                    f"'{path}' of this {class_name(root)} is registered already; "
                    "register only the outer model"
                )
            if module not in self._modules:
                continue
            subject = f"module '{self._modules[module]}' is registered already"
            for outer in self._roots:
                if module in outer.paths and module is not outer.module:
                    raise SMDebugValueError(
                        f"{subject}, as a part of model '{outer.name}': its tensors are recorded "
                        "with it"
                    )
            raise SMDebugValueError(f"{subject}; register each model once")

    register_hook = register_module

    @with_known_arguments
    def register_loss(self, loss_module: torch.nn.Module) -> None:
        """Records the inputs and the output of a loss module.

        Raises SMDebugTypeError for anything but a loss module, and SMDebugValueError for one that
        is already registered.
        """
        if not isinstance(loss_module, torch.nn.Module) or not is_loss(loss_module):
            hint = class_hint(loss_module, torch.nn.Module)
            if inspect.isroutine(loss_module):
                hint = "; save the loss of a function with hook.record_tensor_value('loss', loss)"
            raise SMDebugTypeError(
                "register_loss takes a loss module such as torch.nn.MSELoss(), found "
                f"{shown(loss_module)}{hint}"
            )
        if self._session and loss_module in self._modules:
            raise SMDebugValueError(
                f"loss '{self._modules[loss_module]}' is registered already; "
                "a loss inside a registered model is recorded with it"
            )
        self._warn_if_closed("register_loss")
        if not self._session:
            return
        name = type(loss_module).__name__
        watched = self._watch(loss_module, name, output_hook=LossHook, is_called_from_outside=True)
        self._loss_names.append(name)
        self._loss_slots.append(watched.target)
        self.mark_edited()
        self._installer.settle()
        if self._losses_may_be_compiled:
            forget_compiled(name)

    def record_tensor_value(self, tensor_name: str, tensor_value: torch.Tensor) -> None:
        """Records a tensor that is not the output of a module, such as a functional loss, as
        `<tensor_name>_output_0`. With "loss" in its name, it belongs to the collection `losses`.
        Raises SMDebugTypeError for a name that is not a string and for anything but a
        torch.Tensor."""
        tensor_name = checked_name("a tensor's name", tensor_name)
        if not isinstance(tensor_value, torch.Tensor):
            hint = ""
            if isinstance(tensor_value, (int, float)):
                hint = f"; save a number with hook.save_scalar({tensor_name!r}, value)"
            raise SMDebugTypeError(
                f"'{tensor_name}' must be a torch.Tensor, found {shown(tensor_value)}{hint}"
            )
        if self._session and self._switch.is_on:
            slots = self._session.module(tensor_name)
            slots.capture_outputs(tensor_value)
            if not slots.may_match_output():
                self._report_mistake(
                    f"the value '{tensor_name}' is in no collection that is saved: record a loss "
                    "under a name with 'loss', and name other values in include_regex"
                )
        elif not self._is_open:
            self._warn_if_closed("record_tensor_value")

    def _note_first_update(self, optimizer: Any) -> bool:
        """Warns if an optimizer has acted before the first step. Returns True: once is enough."""
        if not self._is_open or self._has_begun:
            return True
        finding = "an optimizer has acted, but "
        if self._roots:
            self._warn_of_no_step(finding + self._uncalled_models, _CALL_ADVICE)
        else:
            self._warn_of_no_step(finding + "no model is registered with this hook")
        return True

    def _note_update_in_mode(self, optimizer: Any) -> bool:
        """Warns if a registered model is trained in mode EVAL or PREDICT. Returns whether it is."""
        is_trained = False
        with self._isolate("after an optimizer's step"):
            is_trained = self._is_open and self._optimizers.updates_models(optimizer)
            if is_trained:
                self._report_update_in_mode("an optimizer has updated the model")
        return is_trained

    @property
    def _uncalled_models(self) -> str:
        names = ", ".join(f"'{root.name}'" for root in self._roots)
        return f"no registered model ({names}) was called"

    def _why_no_step(self) -> str:
        return f"{self._uncalled_models}: {_CALL_ADVICE}" if self._roots else self.advice

    def wants_loss_of_backward(self) -> bool:
        """Whether `record_loss_of_backward` would record it: no loss module ran in this step."""
        return self._switch.is_on and not self._switch.has_loss

    def record_loss_of_backward(self, name: str, loss: torch.Tensor) -> None:
        """Records the loss from which the backward pass starts, unless a loss module ran in this
        step. A loss from which several passes start is recorded once."""
        if self.wants_loss_of_backward() and self._recorded_loss() is not loss:
            self._recorded_loss = weakref.ref(loss)
            self.record_tensor_value(name, loss)

    def note_start_of_backward(self, start: torch.Tensor | None) -> None:
        """Measures what the losses are given in the graph of a backward pass that begins now."""
        if start is not None and self._switch.is_on:
            self._facts.note_graph(start)

    def is_registered(self, module: torch.nn.Module) -> bool:
        """Whether the hook records `module`, as a model, inside a model, or as a loss."""
        return module in self._modules

    def registered_modules(self) -> list[torch.nn.Module]:
        """Every recorded module, including losses."""
        return list(self._modules)

    def begin_during_call(self, module: torch.nn.Module, arguments: tuple[Any, ...]) -> None:
        """Begins the step of the current call of a root that was registered during this call. Its
        keyword arguments are recorded when it returns."""
        if called_module(module) is not module:
            return  # that call has not begun yet
        root = unwrapped(module)
        self._starts[root].begin(arguments, {})

        def after_forward(
            module: Module, arguments: Any, keywords: dict[str, Any], output: Any
        ) -> None:
            handle.remove()
            if self._switch.is_on:
                with self._isolate("after the first call of a model"):
                    self._watched_roots[root].run_input_hook((), keywords)

        # On the module that is called: inside of torch.compile's wrapper it would be compiled.
        handle = module.register_forward_hook(after_forward, with_kwargs=True)

    def _watch(self, module: Module, path: str, **options: Any) -> WatchedModule:
        hide_hooks(self._switch)
        self._modules[module] = path
        slots = self._session.module(path)
        watched = WatchedModule(module, path, self._switch, slots, **options)
        self._installer.add(watched, self._has_begun)
        return watched

    # --- steps ---

    def _make_veto(self) -> OptimizerVeto | None:
        if not self._rules:
            return None
        return OptimizerVeto(
            self._session,
            self._rules,
            self.include_workers == "all",
            lambda: self._rank_and_size()[1],
            self._isolate,
            self._device_copies,
        )

    def _make_steps(self) -> _core.StepPolicy:
        return _core.StepPolicy.create(self.step_on)

    def _on_root_call(
        self, root: Root, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        # A call that a graph captures computes nothing yet. The step before it stays open.
        if self._failure or self._device_copies.cannot_wait():
            return
        try:
            if self._each_call_is_a_step or self._begins_step(root):
                self._begin_root_step(root)
            else:
                self._continue_step(root)
            if self._switch.is_on:
                self._watched_roots[root.module].run_input_hook(arguments, keywords)
                self._facts.note_inputs(root, arguments, keywords)
        except Exception as error:
            self._switch.is_on = False
            self._latch("at the beginning of a step", error)

    def _begins_step(self, root: Root) -> bool:
        if self._optimizers.take_compiled_step():
            self._steps.optimizer_acted()
        is_training = self._counts_evaluations or root.module.training
        can_learn = root.module.training and torch.is_grad_enabled()
        return self._steps.begins_step(root.number, self._mode, is_training, can_learn)

    def _continue_step(self, root: Root) -> None:
        """Adds another call to the open step."""
        if self._switch.is_on:
            self._put(root)
        if root.parameters.is_waiting:
            self._put_late_parameters(root)

    def _begin_step(self) -> bool:
        self._device_copies.hand_over()  # the previous step ends here
        if self._facts.is_due():
            self._facts.end_step()
        return super()._begin_step()

    def _begin_root_step(self, root: Root) -> None:
        switch, installer = self._switch, self._installer
        was_open, switch.is_on, switch.has_loss = switch.is_on, False, False
        capturing = self._begin_step()
        if (
            capturing
            or was_open
            or installer.is_provisional
            or installer.plan_version != self._session.plan_version
            or installer.mode is not self._mode
        ):
            self._settle_step(root, was_open, capturing)
        if root.parameters.is_waiting:
            self._put_late_parameters(root)

    def _settle_step(self, root: Root, was_open: bool, capturing: bool) -> None:
        """Prepares a step that is saved or may need other hooks than the previous one."""
        self._first_update.cancel()
        installer = self._installer
        if was_open:
            installer.prune()
        if installer.takes_up_plan(self._session.plan_version):
            self._follow_plan()
            installer.settle()
        installer.settle_for_mode(self._mode)
        self._switch.is_on = capturing
        if capturing:
            for each in self._roots:
                each.begin_step()
            self._put(root)
        if capturing or was_open or installer.is_provisional:
            self._follow(capturing)
        installer.note_call()

    def _put(self, root: Root) -> None:
        if root.has_other_modules():
            self._follow_modules(root)
        root.put()

    def _follow_modules(self, root: Root) -> None:
        """Records the modules that have taken the place of others, as a new head has. Compiled
        code contains the hooks that it was compiled with."""
        is_compiled = root.is_compiled or self._switch.points.are_traced
        if is_compiled or root.changes_too_often():
            return
        old = root.paths
        root.find_modules(set(self._modules.values()) - set(old.values()))
        for module, path in old.items():
            if root.paths.get(module) != path:
                self._installer.drop(module)
                del self._modules[module]
        for module, path in root.paths.items():
            if module not in self._modules:
                self._watch(module, path)
        root.parameters.attach()
        self._activation_gradients.close()
        self.mark_edited()

    def _follow_plan(self) -> None:
        """Limits the search for tensors to those that the plan in use saves."""
        for each in self._roots:
            each.parameters.attach()
            each.buffers.follow_plan()
        self._installer.find_points()
        self._activation_gradients.follow_plan()
        self._optimizers.follow_plan(counts_steps=self.step_on == "optimizer")

    def _begin_in_graph(self, start: RootStart, arguments: tuple[Any, ...]) -> None:
        """Begins a step inside compiled code. The tensors to capture were decided earlier."""
        start.begin(arguments, {})
        start.coming = self._is_coming_saved()

    def _prepare_graph(self, start: RootStart) -> None:
        """Prepares a graph that is being compiled and begins the steps of a root."""
        with self._isolate("during torch.compile"):
            start.coming = self._is_coming_saved()
            self._installer.prepare_graph()

    def _is_coming_saved(self) -> bool:
        if self._failure:
            return False
        self._take_up_edits()
        return self._session.is_next_due()

    def _look_ahead(self) -> None:
        """Decides again what compiled code captures in the next step."""
        if self._session and self._switch.points.are_traced:
            for start in self._starts.values():
                start.coming = self._is_coming_saved()

    def set_mode(self, mode: ModeKeys) -> None:
        """Sets the mode of the following steps, see BaseHook."""
        super().set_mode(mode)
        self._look_ahead()
        self._watch_mode()

    set_mode.__doc__ = BaseHook.set_mode.__doc__

    def _watch_mode(self) -> None:
        """Watches the optimizers while the script has set a mode in which no model is trained."""
        is_wanted = self._is_set_to_evaluate()
        if is_wanted and self._session and self._mode_watch is None:
            self._mode_watch = OptimizerWatch(self, type(self)._note_update_in_mode)
        elif not is_wanted and self._mode_watch is not None:
            self._mode_watch.cancel()
            self._mode_watch = None

    def pause(self) -> None:
        """Stops recording from the next step on, see BaseHook."""
        super().pause()
        self._look_ahead()

    pause.__doc__ = BaseHook.pause.__doc__

    def resume(self) -> None:
        """Resumes recording from the next step on, see BaseHook."""
        super().resume()
        self._look_ahead()

    resume.__doc__ = BaseHook.resume.__doc__

    def _follow(self, is_saved_step: bool) -> None:
        """Installs the hooks that only saved steps need, or removes them."""
        for each in self._roots:
            each.parameters.follow_gradients(is_saved_step)
        self._activation_gradients.follow(self._roots, is_saved_step)
        self._facts.follow(is_saved_step)
        self._optimizers.warn_if_compiled()
        if is_saved_step:
            self._installer.install()
        else:
            self._installer.remove(self._roots)

    def _put_late_parameters(self, root: Root) -> None:
        """Saves the parameters that lazy modules create during this call."""

        def after_forward(module: Module, arguments: Any, output: Any) -> None:
            handle.remove()
            with self._isolate("after the first forward pass"):
                root.parameters.put_late()

        handle = root.module.register_forward_hook(after_forward)

    # --- implementations for the base class ---

    @classmethod
    def make_framework(cls) -> _core.Framework:
        """Returns PyTorch's collections and defaults."""
        return _core.pytorch_framework()

    def _versions(self) -> dict[str, str]:
        return super()._versions() | {"torch": torch.__version__}

    def _device_transfer(self) -> Callable[[_core.TensorSlot, Any], bool]:
        return self._device_copies.take

    def _rank_and_size(self) -> tuple[int, int]:
        return rank_and_size()

    def _module_patterns(self, collection: _core.Collection) -> list[str]:
        names = [root.name for root in self._roots]
        is_final = self._has_begun or bool(self._modules)
        return [
            *loop_patterns(collection.name, names, sorted(set(self._loss_names))),
            *activation_patterns(collection, self._modules),
            *added_module_patterns(collection, self._modules, is_final),
        ]

    def _foreign_members(self, collection: _core.Collection) -> list[str]:
        return foreign_modules(collection, self._modules)

    def _reasons_of_empty_collections(self) -> dict[str, str]:
        if not self._roots:
            return {}
        return reasons_of_empty_collections(
            self._roots, self._modules, self._loss_names, self._facts.updaters
        )

    def _report_unrecorded_parts(self) -> None:
        if self._switch.points.are_traced:  # which calls losses unseen
            return
        if self._raised or not self._session.status().steps_saved:
            return
        for name, slots in zip(self._loss_names, self._loss_slots, strict=True):
            if not slots.was_called:
                self._report_end(
                    f"the registered {name} was never called in a saved step",
                    "register the object that the training calls, as in loss_fn(output, labels)",
                )

    def cost(self) -> HookCost:
        """The overhead of recording so far. `wait_seconds` and `step_thread_seconds` include
        waiting for copies from a device; the numbers in run.json do not."""
        cost = super().cost()
        if self._device_copies is None:
            return cost
        waited = self._device_copies.wait_seconds
        return cost.replace(
            step_thread_seconds=cost.step_thread_seconds + waited,
            wait_seconds=cost.wait_seconds + waited,
        )

    def _readable(self, value: Any) -> Any:
        return values.readable(value)

    def _readable_number(self, value: Any) -> Any:
        return values.readable_number(value)

    def _detach(self) -> None:
        self._device_copies.hand_over()
        self._facts.end_step()
        self._facts.close()
        self._switch.is_on = False
        self._switch.points.close()
        show_hooks(self._switch)
        self._first_update.cancel()
        if self._mode_watch is not None:
            self._mode_watch.cancel()
        self._updates = [(weakref.ref(each), updates_of(each)) for each in self._parameters()]
        for start in self._starts.values():
            start.before_copy = None
        for handle in self._root_handles:
            handle.remove()
        self._optimizers.close()
        self._activation_gradients.close()
        for root in self._roots:
            root.parameters.close_gradients()
        self._installer.detach()

    def _parameters(self) -> Iterator[torch.nn.Parameter]:
        for root in self._roots:
            for parameter, _ in root.parameters.named():
                yield parameter

    def _was_trained_since_close(self) -> bool:
        # A checkpoint that was loaded is one update.
        for reference, updates in self._updates:
            parameter = reference()
            if parameter is not None and updates_of(parameter) >= updates + 2:
                return True
        return False

    def _latch(self, where: str, error: Exception) -> None:
        super()._latch(where, error)
        self._switch.is_on = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Makes a hook without models, see BaseHook."""
        super().__setstate__(state)
        self._roots = []
        self._modules = {}
        self._loss_names = []
        self._loss_slots = []

    def _note_call_in_child(
        self, root: Root, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        if root.module.training and torch.is_grad_enabled():
            self._warn_if_closed("a training")

    def _after_fork_in_child(self) -> None:
        for root in self._roots:
            start = self._starts[root.module]
            start.target = functools.partial(self._note_call_in_child, root)
        self._switch.is_on = False
        self._device_copies.after_fork_in_child()
        super()._after_fork_in_child()
