"""`Hook` for MXNet's Gluon: it says when a step begins and which array is which.

A step begins when a registered block is called. Inputs and outputs are saved as the blocks run, the
gradients when a trainer is about to use them, and the parameters when the next step begins or the
hook is closed: after the update. Names are Gluon's own; the decision what to save is the core's.
"""

import contextlib
import re

import mxnet
from mxnet import autograd, gluon
from mxnet.base import MXNetError

from smdebug import _core
from smdebug.activation_collections import ACTIVATION_COLLECTIONS
from smdebug.edits import edits
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError
from smdebug.hook import BaseHook
from smdebug.mxnet import trainers, workers
from smdebug.mxnet.activations import activation_patterns
from smdebug.mxnet.arrays import arrays_in, is_symbolic, readable
from smdebug.mxnet.block_hooks import Gate, WatchedBlock
from smdebug.mxnet.collection import Collection
from smdebug.mxnet.hybrid import Graphs
from smdebug.mxnet.parameters import ModelParameters
from smdebug.mxnet.private_names import parameters_of
from smdebug.rules.update_veto import UpdateVeto


class Hook(BaseHook):
    """Records a training with Gluon.

        hook = Hook(out_dir="runs/1", save_all=True, save_config=SaveConfig(save_interval=10))
        hook.register_block(net)
        hook.register_block(loss)

    The last step is readable after `close()`, which also happens when the program ends.

    | tensor | name | value |
    |---|---|---|
    | parameter | `<parameter.name>` | when the next step begins, on the first device |
    | gradient | `gradient/<parameter.name>` | as the trainer uses it: summed over devices |
    | input, output of a block | `<block.name>_input_<i>`, `<block.name>_output_<i>` | as it runs |

    A gradient that no `Trainer` uses is saved when the next step begins. A block that is called
    again in a step numbers its tensors on. The insides of hybridized blocks are saved too, where
    their graph shows them (smdebug/mxnet/hybrid.py).

    `step_on="forward"` (the default) makes each call of a registered block a step; calls for the
    parts of one batch on several devices are one. `step_on="optimizer"` lets a step last until a
    trainer has acted, over all calls of all models before that; a call that does not train (mode
    EVAL or PREDICT, or mode GLOBAL outside of `autograd.train_mode`) is a step of its own.

    `rules` judge each saved step before the trainer acts: see BaseHook. Here `on_fire` may also be
    "skip_step", "raise" or "stop": see UpdateVeto in smdebug/rules/update_veto.py.
    """

    collection_class = Collection
    patterned_collections = ACTIVATION_COLLECTIONS
    adapter_options = ("step_on",)
    vetoes = ("skip_step", "raise", "stop")
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
        step_on="forward",
        rules=None,
        on_fire="record",
    ):
        if step_on not in ("forward", "optimizer"):
            raise SMDebugValueError(f"step_on must be 'forward' or 'optimizer', found {step_on!r}")
        self.step_on = step_on
        self._gate = Gate()
        self._steps = self._make_steps()
        self._models = {}  # registered block -> its ModelParameters
        self._watched = {}  # block -> its WatchedBlock, over all registered blocks
        self._loss_names = []
        self._handles = []  # of the hooks that begin steps
        self._with_gradients = set()  # ids of parameters whose gradients the open step has
        self._graphs = Graphs(self._gate, self._watched, self._unharmed)
        self._plan_version = None
        self._modes_seen = set()
        self._is_settling = False
        self._veto = None
        self._place = None  # rank and number of workers, from the first step on
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
            rules,
            on_fire,
        )
        if self._rules:
            self._veto = UpdateVeto(
                self._session,
                self._rules,
                self.include_workers == "all",
                lambda: self._rank_and_size()[1],
                self._unharmed,
            )

    # --- registration ---

    def register_block(self, block):
        """Records `block`: each call of it is a step, or part of one (see `step_on`).

        A `gluon.loss.Loss` begins no step; what it takes and gives is recorded. Several blocks may
        be registered, each once. They may be hybridized before or after.
        """
        if not isinstance(block, gluon.Block):
            raise SMDebugTypeError(f"register_block takes a gluon.Block, found {block!r}")
        is_loss = isinstance(block, gluon.loss.Loss)
        inside = list(dict.fromkeys(_blocks_in(block)))
        for known in inside:
            if known in self._watched:
                raise SMDebugValueError(
                    f"block '{self._watched[known].name}' is registered already; register each "
                    "block once: what is inside of it is recorded with it"
                )
        if not is_loss:
            self._models[block] = ModelParameters(self._session, block)
            handle = block.register_forward_pre_hook(self._on_model_call)
            self._handles.append(handle)
            trainers.listen(self)
        for each in [block] if is_loss else inside:
            self._watch(each)
        edits.count += 1
        self._settle()

    register_hook = register_block

    def is_registered(self, block):
        return block in self._watched

    def wants_loss_of_backward(self):
        """Whether `record_loss_of_backward` would record it: no loss block ran in this step."""
        return self._gate.is_open and not self._gate.has_loss

    def expect_loss(self, name):
        """Has what is recorded under this name by `record_loss_of_backward` in the collection
        `losses`, from the next step on."""
        self._loss_names.append(name)
        edits.count += 1

    def record_loss_of_backward(self, name, loss):
        """Records the array that backward starts from as `<name>_output_<i>`, unless a loss block
        ran in this step."""
        if not self.wants_loss_of_backward():
            return
        with self._unharmed("a loss"):
            site = self._session.module(name).next_output()
            if site is not None:
                site.put(readable(loss))

    def _watch(self, block):
        name = block.name or type(block).__name__.lower()
        is_loss = isinstance(block, gluon.loss.Loss)
        site = self._session.module(name)
        self._watched[block] = WatchedBlock(
            block, name, self._gate, site, self._graphs, self._unharmed, is_loss
        )
        if is_loss:
            self._loss_names.append(name)

    # --- steps ---

    def _make_steps(self):
        return _core.StepPolicy.create(self.step_on)

    def _on_model_call(self, block, arguments):
        if self._failure or not self._session or is_symbolic(arguments):
            return
        first = next(arrays_in(arguments), None)
        device = "" if first is None else str(first.context)
        try:
            is_training = autograd.is_training()
            if self._steps.begins_step(id(block), self.mode, is_training, device):
                self._begin_model_step(block)
        except (SMDebugError, MXNetError):  # the configuration, or the training, makes no sense
            self._gate.is_open = False
            raise
        except Exception as error:
            self._latch("at the beginning of a step", error)

    def _begin_model_step(self, block):
        self._finish_step()
        was_open, self._gate.is_open, self._gate.has_loss = self._gate.is_open, False, False
        try:
            capturing = self._begin_step()
        except SMDebugError:  # the configuration makes no sense
            self._detach()
            raise
        if was_open and self._is_settling:
            self._is_settling = not self._prune()
        if self._plan_version != self._session.plan_version:
            self._plan_version = self._session.plan_version
            self._settle()
        if self.mode not in self._modes_seen:
            self._modes_seen.add(self.mode)
            self._settle()
        self._gate.is_open = capturing

    def _finish_step(self):
        """What is saved when the open step is over: values after the update."""
        if not self._gate.is_open:
            return
        for model in self._models.values():
            model.put_values()
            model.put_gradients(lambda each: id(each) not in self._with_gradients, fresh_only=True)
        self._with_gradients = set()

    def _settle(self):
        """Puts all hooks in; those that cannot save anything come out after a step or two."""
        for watched in self._watched.values():
            watched.install()
        if self._plan_version is not None:
            self._graphs.follow_plan()
        self._is_settling = True

    def _prune(self):
        """Returns whether every block was called. The hooks of a registered block stay: MXNet walks
        over them just now."""
        inside = [each for block, each in self._watched.items() if block not in self._models]
        return all([watched.prune() for watched in inside])

    # --- what a trainer tells (trainers.py) ---

    def before(self, trainer, is_reduced):
        if not self._gate.is_open:
            return True
        ours = self._parameters_of(trainer)
        if not ours:
            return True
        with self._unharmed("before an update"):
            for model in self._models.values():
                model.put_gradients(lambda each: id(each) in ours, is_reduced)
            self._with_gradients |= ours
        return self._veto is None or not self._veto.skips_update()

    def after(self, trainer):
        if self._parameters_of(trainer):
            self._steps.optimizer_acted()

    def _parameters_of(self, trainer):
        """The ids of those that it moves and a registered model has."""
        ours = {id(each) for model in self._models for each in model.collect_params().values()}
        moved = parameters_of(trainer)
        return ours if moved is None else ours.intersection(map(id, moved))

    # --- what the base asks ---

    @classmethod
    def make_framework(cls):
        return _core.mxnet_framework()

    def _versions(self):
        return super()._versions() | {"mxnet": mxnet.__version__}

    def _rank_and_size(self):
        if self._place is None:
            self._place = workers.rank_and_size()
        return self._place

    def _module_patterns(self, collection):
        patterns = activation_patterns(
            collection, {block: watched.name for block, watched in self._watched.items()}
        )
        if collection.name == "losses":
            patterns += _patterns_of_losses(collection, self._loss_names)
        for block, inputs, outputs in getattr(collection, "block_tensors", list)():
            watched = self._watched.get(block)
            if watched is None:
                if not self._has_begun and not self._watched:
                    continue  # nothing is registered yet
                raise SMDebugValueError(
                    f"collection '{collection.name}' names the block '{block.name}' that is in no "
                    "registered one; call register_block with the block that holds it"
                )
            if inputs:
                patterns.append(f"^{re.escape(watched.name)}_input_")
            if outputs:
                patterns.append(f"^{re.escape(watched.name)}_output_")
        return patterns

    def _hand_over_configuration(self):
        self.get_collection(
            "losses"
        )  # saved by default, and patterns of theirs are known here alone
        super()._hand_over_configuration()

    @contextlib.contextmanager
    def _unharmed(self, where):
        """As in BaseHook. The failure of an operator is told once, to whoever first waits for its
        result: where that is the hook, the training is told."""
        try:
            yield
        except MXNetError:
            raise
        except Exception as error:
            self._latch(where, error)

    def _detach(self):
        try:
            self._finish_step()
        except MXNetError as error:
            self._latch("at the end of the last step", error)
        self._gate.is_open = False
        trainers.forget(self)
        for handle in self._handles:
            handle.detach()
        for watched in self._watched.values():
            watched.remove()
        self._graphs.close()
        # A net holds its trainer, and that its kvstore, which must go before the interpreter does:
        # a hook that is over, and may be the current one still, keeps none of them.
        for held in (self._handles, self._models, self._watched):
            held.clear()

    def _latch(self, where, error):
        super()._latch(where, error)
        self._gate.is_open = False

    def _after_fork_in_child(self):
        self._gate.is_open = False
        super()._after_fork_in_child()


def _blocks_in(block):
    found = []
    block.apply(found.append)
    return found


def _patterns_of_losses(collection, names):
    """Patterns for the losses that those of the collection miss, by the names of their blocks."""
    known = [re.compile(pattern) for pattern in collection.include_regex]
    missed = [
        re.escape(name)
        for name in dict.fromkeys(names)
        if not any(pattern.search(f"{name}_output_0") for pattern in known)
    ]
    return [f"^(?:{'|'.join(missed)})_output_"] if missed else []
