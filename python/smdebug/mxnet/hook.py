"""`Hook` for MXNet's Gluon: reports to the core when a step begins, and passes it the arrays.

A step begins when a registered block is called. Inputs and outputs are saved as the blocks run,
gradients when a trainer is about to use them, and parameters after the update: when the next step
begins or the hook is closed. Names are Gluon's; the core decides which tensors to save.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import mxnet
from mxnet import autograd, gluon
from mxnet.base import MXNetError

from smdebug import _core, current_hook
from smdebug.activation_collections import ACTIVATION_COLLECTIONS
from smdebug.added_parts import patterns_of_added
from smdebug.error_isolation import isolate_errors
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.hook import BaseHook
from smdebug.hook_arguments import checked_choice, class_of, encodable, name_hint, shown
from smdebug.hook_options import HookOptions, takes_options
from smdebug.mxnet import hybridizing, trainers, workers
from smdebug.mxnet.activations import activation_patterns
from smdebug.mxnet.arrays import arrays_in, is_symbolic, put, user_array
from smdebug.mxnet.block_hooks import CaptureSwitch, WatchedBlock
from smdebug.mxnet.collection import Collection
from smdebug.mxnet.facts import MXNetFacts
from smdebug.mxnet.hybrid import Graphs
from smdebug.mxnet.parameters import ModelParameters
from smdebug.mxnet.private_names import parameters_of
from smdebug.rules.update_veto import UpdateVeto
from smdebug.unknown_arguments import with_known_arguments


@dataclass(frozen=True, kw_only=True)
class MXNetOptions(HookOptions):
    """The arguments of a Hook for MXNet, in addition to those of all frameworks.

    `step_on="forward"` (the default) makes each call of a registered block a step; calls for the
    parts of one batch on several devices are one step. With `step_on="optimizer"` a step lasts
    until a trainer has acted, over all calls of all models before that; a call that does not train
    (mode EVAL or PREDICT, or mode GLOBAL outside of `autograd.train_mode`) is a separate step.
    """

    step_on: str = "forward"


class Hook(BaseHook):
    """Records a Gluon training.

        hook = Hook(out_dir="runs/1", save_all=True, save_config=SaveConfig(save_interval=10))
        hook.register_block(net)
        hook.register_block(loss)

    `close()` makes the last step readable; a program that ends closes its hooks.

    | tensor | name | value |
    |---|---|---|
    | parameter | `<parameter.name>` | when the next step begins, on the first device |
    | gradient | `gradient/<parameter.name>` | as the trainer uses it: summed over devices |
    | input, output of a block | `<block.name>_input_<i>`, `<block.name>_output_<i>` | as it runs |

    A gradient that no `Trainer` uses is saved when the next step begins. If a block is called
    several times in a step, the numbers of its tensors continue. Tensors inside of hybridized
    blocks are saved if the graph shows them (smdebug/mxnet/hybrid.py).

    See HookOptions and MXNetOptions for the arguments.

    `rules` judge each saved step before the trainer acts. `on_fire` may also be
    "skip_step", "raise" or "stop": see UpdateVeto in smdebug/rules/update_veto.py.
    """

    collection_class: type[Collection] = Collection
    patterned_collections = ACTIVATION_COLLECTIONS
    adapter_options: tuple[str, ...] = ("step_on",)
    vetoes: tuple[str, ...] = ("skip_step", "raise", "stop")
    advice = "call hook.register_block(net) before the training, and call the net as net(x)"
    instead_of: Mapping[str, str] = MappingProxyType(
        {
            "register_loss": "call hook.register_block(loss) with the loss",
            "record_tensor_value": "call hook.save_tensor(name, value), or save_scalar",
        }
    )
    filling_methods = "include(pattern) or add_block_tensors(block)"
    _switch = CaptureSwitch()

    @takes_options(MXNetOptions)
    def __init__(self, options: MXNetOptions) -> None:
        """See HookOptions and MXNetOptions for the arguments, and BaseHook for errors."""
        self.step_on: str = checked_choice("step_on", options.step_on, ("forward", "optimizer"))
        self._switch = CaptureSwitch()
        self._steps = self._make_steps()
        self._models = {}  # registered block -> its ModelParameters
        self._watched = {}  # block -> its WatchedBlock, over all registered blocks
        self._block_names = []  # of the registered ones, without losses
        self._loss_names = []
        self._handles = []  # of the hooks that begin steps
        self._with_gradients = set()  # ids of parameters whose gradients the open step has
        self._graphs = Graphs(self._switch, self._watched, self._isolate)
        self._plan_version = None
        self._modes_seen = set()
        self._is_settling = False
        self._veto = None
        self._place = None  # rank and number of workers, from the first step on
        self._has_reminded = False
        self._acted_on_others = ""  # a parameter that a trainer has, but no registered block
        self._has_acted = False  # a trainer on a registered block
        self._initialize(options)
        self._facts = MXNetFacts(self._session)
        self._switch.on_loss_arguments = self._facts.data.note_loss
        trainers.listen(self)
        hybridizing.keep_quiet(self)
        if self._rules:
            self._veto = UpdateVeto(
                self._session,
                self._rules,
                self.include_workers == "all",
                lambda: self._rank_and_size()[1],
                self._isolate,
            )

    # --- registration ---

    @with_known_arguments
    def register_block(self, block: gluon.Block) -> None:
        """Records `block`: each call of it is a step, or part of one (see `step_on`).

        A `gluon.loss.Loss` begins no step; its inputs and outputs are recorded. Several blocks may
        be registered, before or after they are hybridized.

        Raises SMDebugTypeError for anything but a block, SMDebugValueError for a block that is
        registered already, by itself or inside of another one.
        """
        if not isinstance(block, gluon.Block):
            raise SMDebugTypeError(
                f"register_block takes a gluon.Block, found {shown(block)}{_hint_on(block)}"
            )
        self._warn_if_closed("register_block")
        if not self._session:
            return
        is_loss = isinstance(block, gluon.loss.Loss)
        inside = list(dict.fromkeys(_blocks_in(block)))
        for known in [block, *inside]:
            if known in self._watched:
                raise SMDebugValueError(
                    f"block '{self._watched[known].name}' is registered already; register each "
                    "block once: the blocks inside of it are recorded with it"
                )
        if not is_loss:
            self._models[block] = ModelParameters(self._session, block)
            handle = block.register_forward_pre_hook(self._on_model_call)
            self._handles.append(handle)
            current_hook.held_by_model(self)
        for each in [block] if is_loss else inside:
            self._watch(each)
        if not is_loss:
            self._block_names.append(self._watched[block].name)
        self.mark_edited()
        self._settle()

    register_hook = register_block

    def is_registered(self, block: gluon.Block) -> bool:
        """Returns whether the tensors of `block` are recorded, by itself or inside of another."""
        return block in self._watched

    def expect_loss(self, name: str) -> None:
        """Adds the loss that `record_loss_of_backward` records under this name to the collection
        `losses`, from the next step on."""
        self._loss_names.append(name)
        self.mark_edited()

    def record_loss_of_backward(self, name: str, loss: mxnet.nd.NDArray) -> None:
        """Records the array at which backward starts as `<name>_output_<i>` in a saved step."""
        if not self._switch.is_on:
            return
        with self._isolate("a loss"):
            slot = self._session.module(name).next_output()
            if slot is not None:
                put(slot, loss)

    def _watch(self, block: gluon.Block) -> None:
        name = encodable(block.name or type(block).__name__.lower())
        is_loss = isinstance(block, gluon.loss.Loss)
        slots = self._session.module(name)
        self._watched[block] = WatchedBlock(
            block, name, self._switch, slots, self._graphs, self._isolate, is_loss
        )
        if is_loss:
            self._loss_names.append(name)

    # --- steps ---

    def _make_steps(self) -> _core.StepPolicy:
        return _core.StepPolicy.create(self.step_on)

    def _on_model_call(self, block: gluon.Block, arguments: tuple[Any, ...]) -> None:
        if self._failure or not self._session or is_symbolic(arguments):
            return
        first = next(arrays_in(arguments), None)
        device = "" if first is None else str(first.context)
        try:
            is_training = autograd.is_training()
            if self._steps.begins_step(id(block), self._mode, is_training, device=device):
                self._begin_model_step(block)
            if self._switch.is_on:
                name = self._watched[block].name
                self._facts.data.note_model(block, name, arguments)
        except MXNetError:  # of the training, which computes asynchronously
            self._switch.is_on = False
            raise
        except Exception as error:
            self._latch("at the beginning of a step", error)

    def _begin_model_step(self, block: gluon.Block) -> None:
        self._finish_step()
        was_on, self._switch.is_on, self._switch.has_loss = self._switch.is_on, False, False
        capturing = self._begin_step()
        if was_on and self._is_settling:
            self._is_settling = not self._prune()
        if self._plan_version != self._session.plan_version:
            self._plan_version = self._session.plan_version
            self._settle()
        if self._mode not in self._modes_seen:
            self._modes_seen.add(self._mode)
            self._settle()
        self._switch.is_on = capturing
        self._facts.data.begin_step(self._session.step[0], capturing)

    def _finish_step(self) -> None:
        """Saves the tensors of the end of the open step: values after the update."""
        if not self._switch.is_on:
            return
        for model in self._models.values():
            model.put_values()
            model.put_gradients(lambda each: id(each) not in self._with_gradients, fresh_only=True)
        self._with_gradients = set()
        self._facts.end_step(self._models)

    def _settle(self) -> None:
        """Registers all hooks. `_prune` removes those that cannot save anything."""
        for watched in self._watched.values():
            watched.install()
        if self._plan_version is not None:
            self._graphs.follow_plan()
        self._is_settling = True

    def _prune(self) -> bool:
        """Removes hooks that cannot save anything. Returns whether every block was called.

        The hooks of registered blocks stay: MXNet is iterating over them.
        """
        inside = [each for block, each in self._watched.items() if block not in self._models]
        return all([watched.prune() for watched in inside])

    # --- updates of trainers (trainers.py) ---

    def before(self, trainer: gluon.Trainer, is_reduced: bool) -> bool:
        """Saves the gradients that `trainer` is about to use. Returns whether it may use them."""
        if not self._switch.is_on:
            if not self._models:
                self._remind()
            return True
        ours = self._parameters_of(trainer)
        if not ours:
            return True
        with self._isolate("before an update"):
            for model in self._models.values():
                model.put_gradients(lambda each: id(each) in ours, is_reduced)
            self._with_gradients |= ours
        return self._veto is None or not self._veto.skips_update()

    def _remind(self) -> None:
        """Warns once if a trainer acts before a model was registered."""
        if not self._has_reminded:
            self._has_reminded = True
            registered = "only a loss" if self._loss_names else "no block"
            text = f"a trainer acts, but {registered} is registered with this hook"
            self._warn_of_no_step(text)

    def after(self, trainer: gluon.Trainer) -> None:
        """Reports an update of registered models to the step policy."""
        if self._parameters_of(trainer):
            self._has_acted = True
            if self._is_set_to_evaluate():
                self._report_update_in_mode("a trainer has updated the model")
            self._steps.optimizer_acted()
            self._facts.note_update(trainer)
        elif not self._acted_on_others:
            self._acted_on_others = next((each.name for each in parameters_of(trainer) or ()), "")

    def _parameters_of(self, trainer: gluon.Trainer) -> set[int]:
        """Returns the ids of the parameters that a trainer updates and a registered model has."""
        ours = {id(each) for model in self._models for each in model.collect_params().values()}
        moved = parameters_of(trainer)
        return ours if moved is None else ours.intersection(map(id, moved))

    # --- implementations for the base class ---

    @classmethod
    def make_framework(cls) -> _core.Framework:
        """Returns MXNet's collections and defaults."""
        return _core.mxnet_framework()

    def _versions(self) -> dict[str, str]:
        return super()._versions() | {"mxnet": mxnet.__version__}

    def _readable(self, value: Any) -> Any:
        return user_array(value)

    def _rank_and_size(self) -> tuple[int, int]:
        if self._place is None:
            self._place = workers.rank_and_size()
        return self._place

    def _module_patterns(self, collection: Collection) -> list[str]:
        names = {block: watched.name for block, watched in self._watched.items()}
        patterns = activation_patterns(collection, names)
        if collection.name == "losses":
            patterns += _patterns_of_losses(collection, self._loss_names)
        paths = {block: watched.name for block, watched in self._watched.items()}
        is_final = self._has_begun or bool(self._watched)
        foreign = self._foreign_members(collection) if is_final else []
        return patterns + patterns_of_added(collection, _added_blocks(collection), paths, foreign)

    def _reasons_of_empty_collections(self) -> dict[str, str]:
        if self._loss_names:
            return {}
        return {"losses": "no loss is registered: call hook.register_block(loss_fn)"}

    def _why_no_step(self) -> str:
        if self._block_names:
            names = ", ".join(map(repr, self._block_names))
            return (
                f"no registered block ({names}) was called to its end: call the net as net(x), "
                "not net.forward(x)"
            )
        if self._loss_names:
            return "only a loss is registered: call hook.register_block(net) too"
        return self.advice

    def _foreign_members(self, collection: Collection) -> list[str]:
        return [
            f"collection '{collection.name}' names block '{block.name}', which is in no "
            "registered block; call register_block with the block that contains it"
            for block, _, _ in _added_blocks(collection)
            if block not in self._watched
        ]

    def _report_unrecorded_parts(self) -> None:
        if self._acted_on_others and not self._has_acted:
            self._report_end(
                "no trainer acted on a registered block, but one on other parameters, such as "
                f"'{self._acted_on_others}'",
                "call hook.register_block(net) with the net that the trainer updates",
            )

    def _hand_over_configuration(self) -> None:
        self.get_collection("losses")  # saved by default; only this adapter knows its patterns
        super()._hand_over_configuration()

    def _isolate(self, where: str) -> isolate_errors:
        """Keeps smdebug's own errors from the training, as in BaseHook.

        MXNet raises the failure of an operator only once, in the first call that waits for its
        result. If the hook made that call, the training gets the error.
        """
        return isolate_errors(self._latch, where, passing=MXNetError)

    def __del__(self) -> None:
        # The net is collected together with its hook, and its arrays may be freed first: a read
        # would wait forever. The last step lacks the values after its update.
        self._switch.is_on = False
        super().__del__()

    def _detach(self) -> None:
        try:
            self._finish_step()
        except MXNetError as error:
            self._latch("at the end of the last step", error)
        self._switch.is_on = False
        trainers.forget(self)
        hybridizing.forget(self)
        for handle in self._handles:
            handle.detach()
        for watched in self._watched.values():
            watched.remove()
        self._graphs.close()
        # A net holds its trainer and the trainer its kvstore, which must be released before the
        # interpreter exits: a closed hook, which may still be the current one, keeps none of them.
        for held in (self._handles, self._models, self._watched):
            held.clear()

    def _latch(self, where: str, error: Exception) -> None:
        super()._latch(where, error)
        self._switch.is_on = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Makes a hook without blocks, see BaseHook."""
        super().__setstate__(state)
        self._models = {}
        self._watched = {}
        self._block_names = []
        self._loss_names = []

    def _note_call_in_child(self, block: gluon.Block) -> None:
        if autograd.is_training():
            self._warn_if_closed("a training")

    def _after_fork_in_child(self) -> None:
        self._begin_model_step = self._note_call_in_child
        self._switch.is_on = False
        super()._after_fork_in_child()


def _hint_on(given: Any) -> str:
    """What to register instead of `given`, which is no block."""
    if issubclass(class_of(given), (gluon.Trainer, gluon.ParameterDict)):
        return "; pass the net"
    return name_hint(given, "the net itself", gluon.Block)


def _blocks_in(block: gluon.Block) -> list[gluon.Block]:
    found: list[gluon.Block] = []
    block.apply(found.append)
    return found


def _added_blocks(collection: Collection) -> list[tuple[gluon.Block, bool, bool]]:
    return getattr(collection, "block_tensors", list)()


def _patterns_of_losses(collection: Collection, names: Iterable[str]) -> list[str]:
    """Returns patterns for the loss blocks that the collection's own patterns do not match."""
    outputs = {f"{name}_output_0": re.escape(name) for name in names}
    for pattern in collection.include_regex:
        # A script may have added anything to the list. The core logs what it ignores.
        with contextlib.suppress(TypeError, SMDebugValueError):
            for known in _core.find_names(list(outputs), [pattern]):
                del outputs[known]
    missed = list(outputs.values())
    return [f"^(?:{'|'.join(missed)})_output_"] if missed else []
