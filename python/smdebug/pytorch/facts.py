"""Reports what a training is made of: parameters, optimizers, modules, losses and first data.

They are gathered when an optimizer acts for the first time, when one has acted in a saved step, and
when it is known whether an optimizer keeps its gradients, and reported when that step ends, if they
differ from those before. Other steps pay nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.compiler import is_compiling
from torch.optim.optimizer import register_optimizer_step_post_hook

from smdebug import _core
from smdebug.hook_arguments import encodable
from smdebug.log import get_logger
from smdebug.pytorch.kept_gradients import KeptGradients
from smdebug.pytorch.load_watch import LoadWatch
from smdebug.pytorch.loop_notes import LoopNotes
from smdebug.pytorch.loss_inputs import LossInputs
from smdebug.pytorch.model_inputs import ModelInputs
from smdebug.pytorch.private_names import has_scheduler, is_loss
from smdebug.pytorch.sequence_inputs import SEQUENCE_LAYERS, SequenceInputs
from smdebug.pytorch.shards import class_name

if TYPE_CHECKING:
    from torch.utils.hooks import RemovableHandle

    from smdebug.pytorch.device.device_copies import DeviceCopies
    from smdebug.pytorch.roots import Root

_logger = get_logger()

_FUNCTIONAL_LOSS = "loss"  # of the names of losses that are no modules
_DROPOUTS = (
    *(nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d),
    *(nn.AlphaDropout, nn.FeatureAlphaDropout),
)
_NORMALIZATIONS = (
    *(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm),
    *(nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d),
    *(nn.LayerNorm, nn.GroupNorm, nn.RMSNorm),
)
# The attributes of a module that are facts.
_DROPOUT_SETTINGS = ("p",)
_SEQUENCE_SETTINGS = ("dropout", "batch_first")  # such a layer applies dropout itself
_NORMALIZATION_SETTINGS = ("eps", "momentum", "num_groups", "track_running_stats")
_MOST_OUTSIDE = 20
# The keys of an optimizer's group that are facts -> their names.
_GROUP_SETTINGS = {
    "lr": "learning_rate",
    "initial_lr": "initial_learning_rate",  # set by schedulers
    "weight_decay": "weight_decay",
    "momentum": "momentum",
    "eps": "eps",
}


class FactsReport:
    """Reports the facts of `roots` and of `modules`, which maps every recorded module to its path.

    A fact is missing if torch does not tell it: a program that updates its parameters itself has
    no optimizers.
    """

    def __init__(
        self,
        session: _core.Session,
        roots: list[Root],
        modules: Mapping[nn.Module, str],
        copies: DeviceCopies,
        sees_backward: bool = False,
    ) -> None:
        self._session = session
        self._roots = roots
        self._modules = modules
        self._sees_backward = sees_backward  # else the graph of a loss is read when its module ran
        self._optimizers: list[weakref.ref[Any]] = []  # in the order in which they first acted
        # The kinds of those that updated a recorded model, and whether they keep a state.
        self.updaters: dict[str, bool] = {}
        self._described: object = None  # the state that was described last
        self._is_saved_step = False  # the open one
        self._handle: RemovableHandle | None = None
        self.has_failed: bool = False
        self._is_end_due = False  # `end_step` must be called
        self._has_described = False  # in the open step
        self._kept_gradients = KeptGradients(copies, _end_of(self))
        self._due: _core.RunFacts | None = None  # to be reported when the open step ends
        self._reported: _core.RunFacts | None = None
        self.loss_inputs: LossInputs = LossInputs()
        self.model_inputs: ModelInputs = ModelInputs()
        self._sequence_inputs = SequenceInputs()
        self.loop: LoopNotes = LoopNotes()
        self.loads: LoadWatch = LoadWatch()  # a launch sets its own
        self._outside: list[weakref.ref[nn.Module]] = []
        self._data_version = 0  # of the three when they were described last

    def follow(self, is_saved_step: bool) -> None:
        """Notes the optimizers that act in a saved step, and the first that acts in any: if
        gradients are accumulated, the update may never be in a saved step."""
        self._is_saved_step = is_saved_step
        is_wanted = is_saved_step or self._wants_updates()
        if is_wanted and self._handle is None:
            self._handle = register_optimizer_step_post_hook(_call_of(self))
        elif not is_wanted:
            self._remove_hook()

    def _wants_updates(self) -> bool:
        """Whether an update matters even in a step that is not saved."""
        if self.has_failed:
            return False
        return self._described is None or self._kept_gradients.wants_updates

    def _remove_hook(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def close(self) -> None:
        """Removes all hooks."""
        self._remove_hook()
        self._kept_gradients.close()
        self._sequence_inputs.close()

    def note(self, optimizer: Any) -> None:
        """Notes that an optimizer has acted, and what it has updated."""
        try:
            is_new = not any(known() is optimizer for known in self._optimizers)
            if is_new:
                living = [known for known in self._optimizers if known() is not None]
                self._optimizers = [*living, weakref.ref(optimizer)]
                if self._ours_of(optimizer):
                    kind = type(optimizer).__name__
                    self.updaters[kind] = self.updaters.get(kind, False) or _has_state(optimizer)
            has_answer = self._kept_gradients.note_update(
                optimizer, lambda: self._ours_of(optimizer), self._is_saved_step
            )
            is_first = self._is_saved_step and not self._has_described
            if is_new or has_answer or is_first:
                self._has_described = self._is_end_due = True
                self._describe()
        except Exception as error:  # an optimizer of a library may lack what torch's have
            self.has_failed = True
            self._kept_gradients.close()
            _logger.warning(
                "the model is not described to rules and to 'smdebug show --model': %r", error
            )

    def note_graph(self, loss: torch.Tensor) -> None:
        """Notes the graph of a loss in a saved step."""
        step = self._session.step[0]
        if self.loss_inputs.is_wanted(step):
            self.loop.note_gradient(loss, step)
        self.loss_inputs.note_graph(loss, step)

    def note_loss(self, module: nn.Module, arguments: Any, loss: Any) -> None:
        """Notes a call of a loss module in a saved step."""
        self.loss_inputs.note_call(module, arguments, self._session.step[0])
        if not self._sees_backward:
            self.note_graph(loss)

    def note_inputs(self, root: Root, arguments: Any, keywords: Mapping[str, Any]) -> None:
        """Notes the inputs of a call of a root in a saved step."""
        step = self._session.step[0]
        self.model_inputs.note_call(root, arguments, step)
        self._sequence_inputs.watch(root)
        self.loss_inputs.note_model(arguments, keywords, step)
        self.loop.note_call(root)

    def note_not_finite(self, loss: torch.Tensor) -> None:
        """Searches the data of the step whose loss is not finite."""
        step = self._session.step[0]
        self.model_inputs.note_not_finite(step)
        self.loss_inputs.note_not_finite(loss, step)
        self.loop.note_not_finite(loss, step)

    def note_outside(self, module: nn.Module) -> None:
        """Notes a module that a model calls although it is no part of it."""
        if len(self._outside) == _MOST_OUTSIDE or any(each() is module for each in self._outside):
            return
        own = module.parameters(recurse=False)
        if any(each.requires_grad for each in own):
            self._outside.append(weakref.ref(module))

    def _layers_outside(self, held: Mapping[int, Any]) -> list[str]:
        """The kinds of the noted modules that no optimizer holds."""
        modules = [each for each in (known() for known in self._outside) if each is not None]
        # A layer that was replaced is a part of the model by now.
        inside = {id(each) for root in self._roots for each in root.module.modules()}
        return [
            encodable(type(module).__name__)
            for module in modules
            if id(module) not in inside
            and not any(id(each) in held for each in module.parameters(recurse=False))
        ]

    def _describe(self) -> None:
        optimizers = self._known_optimizers()
        state = self._state(optimizers)
        if state != self._described:
            self._described = state
            self._due = self._facts(optimizers)

    def end_step(self) -> None:
        """Reports the facts of the step that ends now, if they are new."""
        facts, self._due = self._due, None
        self._is_end_due = self._has_described = False
        if facts is None and self._reported is not None and self._has_new_data():
            facts = self._with_data_of_now(self._reported)
        if facts is not None:
            self._reported = facts
            self._session.set_facts(facts)
        self._kept_gradients.remove_hooks()
        if not self._is_saved_step and not self._wants_updates():
            self._remove_hook()

    def ask_for_end(self) -> None:
        """Has `end_step` called although no optimizer has acted."""
        self._is_end_due = True

    def is_due(self) -> bool:
        """Whether the open step has something to report."""
        return self._is_end_due or (self._reported is not None and self._has_new_data())

    def _version_of_data(self) -> int:
        return self.loss_inputs.version + self.model_inputs.version + self.loop.version

    def _has_new_data(self) -> bool:
        return self._version_of_data() != self._data_version

    def _with_data_of_now(self, facts: _core.RunFacts) -> _core.RunFacts:
        """Adds losses, inputs and the loop to facts of an update, whose modes may have changed
        since."""
        return _core.RunFacts(
            parameters=facts.parameters,
            optimizers=facts.optimizers,
            modules=facts.modules,
            losses=self._losses(),
            inputs=self.model_inputs.facts(),
            evaluation_inputs=self.model_inputs.evaluation_facts(),
            loop=self.loop.facts(
                self._known_optimizers(), facts.loop.layers_outside, facts.loop.empty_loads
            ),
        )

    def _known_optimizers(self) -> list[Any]:
        return [each for each in (known() for known in self._optimizers) if each is not None]

    def _state(self, optimizers: list[Any]) -> object:
        """The state that the facts depend on, cheap to compare."""
        return (
            [(id(module), module.training) for module in self._modules],
            [
                (id(parameter), parameter.requires_grad)
                for root in self._roots
                for parameter, _ in root.parameters.named()
            ],
            [
                (
                    id(each),
                    [len(group["params"]) for group in each.param_groups],
                    self._kept_gradients.answer_of(each),
                )
                for each in optimizers
            ],
        )

    def _ours_of(self, optimizer: Any) -> list[torch.Tensor]:
        """The parameters of recorded models that an optimizer updates."""
        ours, groups = self._ours(), optimizer.param_groups
        return [each for group in groups for each in group["params"] if id(each) in ours]

    def _ours(self) -> set[int]:
        """The parameters of recorded models, by their id."""
        return {id(parameter) for root in self._roots for parameter, _ in root.parameters.named()}

    def _facts(self, optimizers: list[Any]) -> _core.RunFacts:
        positions = {
            id(parameter): (number, group_number)
            for number, optimizer in enumerate(optimizers)
            for group_number, group in enumerate(optimizer.param_groups)
            for parameter in group["params"]
        }
        ours = self._ours()
        self._sequence_inputs.close()
        return _core.RunFacts(
            parameters=self._parameters(positions),
            optimizers=[
                _optimizer_facts(optimizer, ours, self._kept_gradients) for optimizer in optimizers
            ],
            modules=self._module_facts(),
            losses=self._losses(),
            inputs=self.model_inputs.facts(),
            evaluation_inputs=self.model_inputs.evaluation_facts(),
            loop=self.loop.facts(
                optimizers,
                self._layers_outside(positions),
                self.loads.empty_loads(root.module for root in self._roots),
            ),
        )

    def _losses(self) -> list[_core.LossFacts]:
        self._data_version = self._version_of_data()
        modules = {module: path for module, path in self._modules.items() if is_loss(module)}
        return self.loss_inputs.facts(modules, _FUNCTIONAL_LOSS)

    def _parameters(self, positions: dict[int, tuple[int, int]]) -> list[_core.ParameterFacts]:
        first_with: dict[int, str] = {}  # address -> tensor
        facts = []
        for root in self._roots:
            for parameter, path in root.parameters.named():
                name = _core.parameter_name(root.name, path)
                address = _address(parameter)
                owner = first_with.setdefault(address, name) if address else name
                facts.append(
                    _core.ParameterFacts(
                        name,
                        is_trainable=parameter.requires_grad,
                        dtype=str(parameter.dtype).removeprefix("torch."),
                        device=str(parameter.device),
                        shape=list(parameter.shape),
                        shared_with="" if owner == name else owner,
                        updated_by=positions.get(id(parameter)),
                    )
                )
        return facts

    def _module_facts(self) -> list[_core.ModuleFacts]:
        return [
            _core.ModuleFacts(
                path,
                encodable(class_name(module)),
                is_training=module.training,
                settings=_settings(module),
                input_shape=self._sequence_inputs.shape_of(module),
            )
            for module, path in self._modules.items()
        ]


def _call_of(owner: FactsReport) -> Callable[..., None]:
    """Returns the hook for optimizers. torch keeps it for the whole process, so it does not keep
    `owner` alive."""
    reference = weakref.ref(owner)

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        found = None if is_compiling() else reference()
        if found is not None and not found.has_failed:
            found.note(optimizer)

    return after


def _end_of(owner: FactsReport) -> Callable[[], None]:
    """Returns a function that asks for `end_step`."""
    reference = weakref.ref(owner)

    def ask() -> None:
        found = reference()
        if found is not None:
            found.ask_for_end()

    return ask


def _has_state(optimizer: Any) -> bool:
    return any(
        isinstance(value, torch.Tensor)
        for state in optimizer.state.values()
        for value in state.values()
    )


def _address(parameter: torch.Tensor) -> int:
    """Where the elements are; 0 if they are nowhere, or if it is unknown."""
    try:
        return parameter.data_ptr() if parameter.numel() else 0
    except RuntimeError:  # a tensor without memory of its own
        return 0


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        return None


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    numbers = {name: _number(value) for name, value in values.items() if value is not None}
    return {name: number for name, number in numbers.items() if number is not None}


def _optimizer_facts(
    optimizer: Any, ours: set[int], kept_gradients: KeptGradients
) -> _core.OptimizerFacts:
    groups = []
    for group in optimizer.param_groups:
        settings = {name: group.get(key) for key, name in _GROUP_SETTINGS.items()}
        betas = group.get("betas")
        if isinstance(betas, (tuple, list)):
            settings |= {f"beta{number}": beta for number, beta in enumerate(betas, start=1)}
        groups.append(
            _core.OptimizerGroupFacts(
                parameters=len(group["params"]),
                foreign_parameters=sum(id(parameter) not in ours for parameter in group["params"]),
                settings=_numbers(settings),
            )
        )
    return _core.OptimizerFacts(
        encodable(type(optimizer).__name__),
        groups,
        keeps_gradients=kept_gradients.answer_of(optimizer),
        discards_gradients=kept_gradients.discards_of(optimizer),
        has_scheduler=has_scheduler(optimizer),
    )


def _settings(module: nn.Module) -> dict[str, float]:
    if isinstance(module, _DROPOUTS):
        names = _DROPOUT_SETTINGS
    elif isinstance(module, SEQUENCE_LAYERS):
        names = _SEQUENCE_SETTINGS
    elif isinstance(module, _NORMALIZATIONS):
        names = _NORMALIZATION_SETTINGS
    else:
        return {}
    return _numbers({name: getattr(module, name, None) for name in names})
