"""What is to be seen when an optimizer acts: final gradients, its state, its learning rates.

torch's public hooks on all optimizers are in only where one of these is asked for, or where
optimizers count the steps. Optimizers that move no parameter of a registered model are passed by.
"""

import weakref

import numpy as np
import torch
from torch.compiler import is_compiling
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from smdebug import _core
from smdebug.log import get_logger
from smdebug.pytorch.private_names import left_scale

logger = get_logger()


class Optimizers:
    """Follows every optimizer of the process that moves a parameter of `roots`.

    | tensor | name | when |
    |---|---|---|
    | gradient, where `final_gradients` | `gradient/<root>_<path>` | before the update |
    | state | `optimizer_state/<root>_<path>/<key>` | after the update |
    | learning rate of group i, float64 (1,) | `learning_rate/<optimizer>/<i>` | before it |

    A final gradient is what the optimizer uses: accumulated, reduced, clipped, and unscaled also
    where the optimizer itself undoes the scale of a GradScaler. An optimizer that was given a
    closure computes its gradients inside; the last ones are taken, after the update.

    A `veto` (veto.py) is asked before each update of a saved step, when what is there was saved.
    """

    def __init__(self, session, gate, roots, steps, final_gradients, unharmed, veto=None):
        self._session = session
        self._gate = gate
        self._roots = roots
        self._steps = steps
        self._final_gradients = final_gradients
        self._unharmed = unharmed
        self._veto = veto
        self._saves_state = False
        self._saves_rates = False
        self._names = weakref.WeakKeyDictionary()  # optimizer -> its name
        self._ours = weakref.WeakSet()  # those that were seen to move our parameters
        self._sites = {}
        self._handles = []
        self._was_compiled = False
        self.acted_in_graph = False  # until the hook has reported it to the step policy
        self._has_told = False

    def follow_plan(self, counts_steps):
        """Has the hooks in where the plan, or `counts_steps`, asks for them."""
        self._saves_state = self._session.saves("optimizer_state")
        self._saves_rates = self._session.saves("learning_rate")
        saves_anything = self._final_gradients or self._saves_state or self._saves_rates
        is_wanted = counts_steps or saves_anything or self._veto is not None
        if is_wanted and not self._handles:
            self._handles = [
                register_optimizer_step_pre_hook(self._before),
                register_optimizer_step_post_hook(self._after),
            ]
        elif not is_wanted:
            self.close()

    def close(self):
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def tell(self):
        """Says once, outside of compiled code, what is missing where the optimizer is compiled."""
        if self._was_compiled and not self._has_told:
            self._has_told = True
            logger.warning(
                "an optimizer acts inside compiled code: its final gradients, state and learning "
                "rates are not saved; leave its step out of torch.compile to have them"
            )

    def _before(self, optimizer, args, kwargs):
        if is_compiling() or not self._gate.is_open:
            return
        named, has_closure = [], _has_closure(optimizer, args, kwargs)
        with self._unharmed("before an optimizer's step"):
            named = self._parameters_of(optimizer)
            if named and self._saves_rates:
                self._put_rates(optimizer)
            if named and self._final_gradients and not has_closure:
                self._put_gradients(optimizer, named)
        if named and self._veto is not None:
            self._veto.before(optimizer, has_closure)

    def _after(self, optimizer, args, kwargs):
        if is_compiling():  # compiled code may set attributes, but not call the extension
            self._was_compiled = self.acted_in_graph = True
            return
        if self._veto is not None:
            self._veto.after(optimizer)
        with self._unharmed("after an optimizer's step"):
            if not self._is_ours(optimizer):
                return
            if self._gate.is_open:
                named = self._parameters_of(optimizer)
                if self._final_gradients and _has_closure(optimizer, args, kwargs):
                    self._put_gradients(optimizer, named)
                if self._saves_state:
                    self._put_state(optimizer, named)
            self._steps.optimizer_acted()

    def _is_ours(self, optimizer):
        if optimizer not in self._ours and self._parameters_of(optimizer):
            self._ours.add(optimizer)
        return optimizer in self._ours

    def _parameters_of(self, optimizer):
        """(parameter, root's name, path) of those that it moves and a registered model has."""
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

    def _put_gradients(self, optimizer, named):
        scale = left_scale(optimizer)
        for parameter, root, path in named:
            site = self._site(_gradient_name, root, path)
            if parameter.grad is not None and site.is_due():
                gradient = parameter.grad.detach()
                site.put(gradient if scale is None else gradient / scale)

    def _put_state(self, optimizer, named):
        for parameter, root, path in named:
            for key, value in optimizer.state.get(parameter, {}).items():
                if isinstance(value, torch.Tensor):
                    self._site(_state_name, root, path, key).put(value)

    def _put_rates(self, optimizer):
        name = self._names.get(optimizer)
        if name is None:
            names = _core.UniqueNames(list(self._names.values()))
            name = names.take(type(optimizer).__name__)
            self._names[optimizer] = name
        for number, group in enumerate(optimizer.param_groups):
            site = self._site(_core.learning_rate_name, name, number)
            if "lr" in group and site.is_due():
                site.put(np.array([float(group["lr"])]))

    def _site(self, name_of, *parts):
        """The place of a tensor, whose name is built once: by `name_of(*parts)`."""
        key = (name_of, *parts)
        if key not in self._sites:
            self._sites[key] = self._session.tensor(name_of(*parts))
        return self._sites[key]


def _gradient_name(root, path):
    return _core.gradient_name(_core.parameter_name(root, path))


def _state_name(root, path, key):
    return _core.optimizer_state_name(_core.parameter_name(root, path), str(key))


def _has_closure(optimizer, args, kwargs):
    """`args` are those of `step`, with the optimizer itself in front."""
    given = (*args, *kwargs.values())
    return any(callable(each) and each is not optimizer for each in given)
