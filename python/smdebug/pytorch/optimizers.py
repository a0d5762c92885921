"""Records what optimizers use and change: final gradients, their state, their learning rates.

torch's public hooks on all optimizers are installed only if the plan saves one of these, or if
optimizers count the steps. Optimizers that update no parameter of a registered model are ignored.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.compiler import is_compiling
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from smdebug import _core
from smdebug.hook_arguments import encodable
from smdebug.log import get_logger
from smdebug.pytorch.private_names import left_scale

if TYPE_CHECKING:
    from torch.utils.hooks import RemovableHandle

    from smdebug.pytorch.module_hooks import CaptureSwitch
    from smdebug.pytorch.roots import Root
    from smdebug.pytorch.veto import OptimizerVeto

_logger = get_logger()


class Optimizers:
    """Follows every optimizer of the process that updates a parameter of `roots`.

    | tensor | name | when |
    |---|---|---|
    | gradient, if `final_gradients` | `gradient/<root>_<path>` | before the update |
    | state | `optimizer_state/<root>_<path>/<key>` | after the update |
    | learning rate of group i, float64 (1,) | `learning_rate/<optimizer>/<i>` | before the update |

    A final gradient is what the optimizer uses: accumulated, reduced, clipped, and unscaled even if
    the optimizer itself undoes the scale of a GradScaler. An optimizer with a closure computes its
    gradients inside its step, so the last ones are saved after the update.

    A `veto` (veto.py) runs before each update of a saved step, after these tensors were saved.
    """

    def __init__(
        self,
        session: _core.Session,
        switch: CaptureSwitch,
        roots: list[Root],
        steps: _core.StepPolicy,
        final_gradients: bool,
        isolate: Callable[[str], AbstractContextManager[Any]],
        veto: OptimizerVeto | None = None,
    ) -> None:
        self._session = session
        self._switch = switch
        self._roots = roots
        self._steps = steps
        self._final_gradients = final_gradients
        self._isolate = isolate
        self._veto = veto
        self._saves_state = False
        self._saves_rates = False
        self._names = OptimizerNames()
        self._ours: weakref.WeakSet[Any] = weakref.WeakSet()  # they update parameters of `roots`
        self._slots: dict[tuple[Any, ...], _core.TensorSlot] = {}
        self._handles: list[RemovableHandle] = []
        self._compiled = _CompiledSteps()
        self._has_warned = False

    def follow_plan(self, counts_steps: bool) -> None:
        """Installs the hooks if the current plan or `counts_steps` requires them."""
        self._saves_state = self._session.saves("optimizer_state")
        self._saves_rates = self._session.saves("learning_rate")
        saves_anything = self._final_gradients or self._saves_state or self._saves_rates
        is_wanted = counts_steps or saves_anything or self._veto is not None
        if is_wanted and not self._handles:
            before, after = _calls_of(self, self._compiled)
            self._handles = [
                register_optimizer_step_pre_hook(before),
                register_optimizer_step_post_hook(after),
            ]
        elif not is_wanted:
            self.close()

    def close(self) -> None:
        """Removes the hooks."""
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def warn_if_compiled(self) -> None:
        """Logs once which tensors of a compiled optimizer are not saved. Call it outside compiled
        code."""
        if self._compiled.were_taken and not self._has_warned:
            self._has_warned = True
            _logger.warning(
                "an optimizer acts inside compiled code, so its final gradients, state and "
                "learning rates are not saved; to save them, call its step outside torch.compile"
            )

    def take_compiled_step(self) -> bool:
        """Returns whether an optimizer has acted inside compiled code since the last call."""
        has_acted, self._compiled.is_new = self._compiled.is_new, False
        return has_acted

    def before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Saves what the optimizer uses. Raises what a veto requests."""
        if not self._switch.is_on:
            return
        named, takes_closure = [], has_closure(optimizer, args, kwargs)
        with self._isolate("before an optimizer's step"):
            named = self._parameters_of(optimizer)
            if named and self._saves_rates:
                self._put_rates(optimizer)
            if named and self._final_gradients and not takes_closure:
                self._put_gradients(optimizer, named)
        if named and self._veto is not None:
            self._veto.before(optimizer, takes_closure)

    def after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Saves what the optimizer has changed."""
        if self._veto is not None:
            self._veto.after(optimizer)
        with self._isolate("after an optimizer's step"):
            if not self.updates_models(optimizer):
                return
            if self._switch.is_on:
                named = self._parameters_of(optimizer)
                if self._final_gradients and has_closure(optimizer, args, kwargs):
                    self._put_gradients(optimizer, named)
                if self._saves_state:
                    self._put_state(optimizer, named)
            self._steps.optimizer_acted()

    def updates_models(self, optimizer: Any) -> bool:
        """Whether an optimizer updates a parameter of a registered model."""
        if optimizer not in self._ours and self._parameters_of(optimizer):
            self._ours.add(optimizer)
        return optimizer in self._ours

    def _parameters_of(self, optimizer: Any) -> list[tuple[torch.Tensor, str, str]]:
        """Returns (parameter, name of its root, path) of the parameters that the optimizer updates
        and a registered model owns."""
        names = {
            id(parameter): (root.name, path)
            for root in self._roots
            for parameter, path in root.parameters.named()
        }
        return [
            (parameter, *names[id(parameter)])
            for group in optimizer.param_groups
            for parameter in group["params"]
            if id(parameter) in names
        ]

    def _put_gradients(self, optimizer: Any, named: list[tuple[torch.Tensor, str, str]]) -> None:
        scale = left_scale(optimizer)
        for parameter, root, path in named:
            slot = self._slot(_gradient_name, root, path)
            if parameter.grad is not None and slot.is_due():
                gradient = parameter.grad.detach()
                slot.put(gradient if scale is None else gradient / scale)

    def _put_state(self, optimizer: Any, named: list[tuple[torch.Tensor, str, str]]) -> None:
        for parameter, root, path in named:
            for key, value in optimizer.state.get(parameter, {}).items():
                if isinstance(value, torch.Tensor):
                    self._slot(_state_name, root, path, key).put(value)

    def _put_rates(self, optimizer: Any) -> None:
        name = self._names.name_of(optimizer)
        for number, group in enumerate(optimizer.param_groups):
            slot = self._slot(_core.learning_rate_name, name, number)
            if "lr" in group and slot.is_due():
                slot.put(np.array([float(group["lr"])]))

    def _slot(self, name_of: Callable[..., str], *parts: Any) -> _core.TensorSlot:
        """Returns the slot of the tensor `name_of(*parts)`. Builds each name only once."""
        key = (name_of, *parts)
        if key not in self._slots:
            self._slots[key] = self._session.tensor(name_of(*parts))
        return self._slots[key]


class OptimizerNames:
    """Names optimizers after their classes. One that was freed makes way for another."""

    def __init__(self) -> None:
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()

    def name_of(self, optimizer: Any) -> str:
        """The name of an optimizer: `Adam`, and for a second one of that class `Adam_1`."""
        name = self._names.get(optimizer)
        if name is None:
            names = _core.UniqueNames(list(self._names.values()))
            name = self._names[optimizer] = names.take(type(optimizer).__name__)
        return name


class _CompiledSteps:
    """Whether optimizers acted inside compiled code, which may set attributes, but not call the
    extension."""

    def __init__(self) -> None:
        self.were_taken = False
        self.is_new = False  # until the hook has reported it to the step policy


def _calls_of(
    owner: Optimizers, compiled: _CompiledSteps
) -> tuple[Callable[..., None], Callable[..., None]]:
    """Returns the hooks for optimizers. torch keeps them for the whole process, so they do not
    keep `owner` alive, and with it the models."""
    reference = weakref.ref(owner)

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        if is_compiling():
            return
        found = reference()
        if found is not None:
            found.before(optimizer, args, kwargs)

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        if is_compiling():
            compiled.were_taken = compiled.is_new = True
            return
        found = reference()
        if found is not None:
            found.after(optimizer, args, kwargs)

    return before, after


def _gradient_name(root: str, path: str) -> str:
    return _core.gradient_name(_core.parameter_name(root, path))


def _state_name(root: str, path: str, key: object) -> str:
    return _core.optimizer_state_name(_core.parameter_name(root, path), encodable(str(key)))


def has_closure(optimizer: Any, args: Any, kwargs: Any) -> bool:
    """Whether an optimizer's `step` computes the gradients. `args` begin with the optimizer."""
    given = (*args, *kwargs.values())
    return any(callable(each) and each is not optimizer for each in given)
