"""`BaseHook`: what the hooks of all frameworks share.

It holds the configuration as the user edits it, hands it to the core when a step begins, and
ends the run when the program ends. What a framework's tensors are called and when they are read
is the business of its adapter, for example smdebug/pytorch/hook.py.
"""

import atexit
import contextlib
import os
import sys

from smdebug import _core, current_hook
from smdebug._core import ModeKeys
from smdebug.collection import Collection
from smdebug.exceptions import (
    InvalidCollectionConfiguration,
    SMDebugError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)
from smdebug.hook_arguments import (
    as_tensor,
    checked_collection_names,
    checked_count,
    checked_flag,
    checked_names,
    checked_number,
    checked_path,
    checked_tensorboard_dir,
)
from smdebug.hook_status import HookCost, HookStatus
from smdebug.json_config import create_hook_from_json_config
from smdebug.log import get_logger
from smdebug.reduction_config import ReductionConfig
from smdebug.rules.step_monitor import StepMonitor
from smdebug.save_config import SaveConfig

logger = get_logger()


class BaseHook:
    """Records what a training does into `out_dir`.

    `export_tensorboard` writes histograms of the saved tensors, and losses and saved scalars as
    numbers, for TensorBoard too: into `tensorboard_dir`, by default `<out_dir>/tensorboard`. A
    `tensorboard_dir` alone asks for them as well; in a SageMaker job the platform decides.

    `checksum="crc32c"` ends each record with its true checksum, as TFRecord tools ask for; the
    original's Trial reads only the constant that is the default.

    `max_run_bytes` (default None: no limit) bounds the event and index files that each worker
    keeps there, over all attempts: when a step was published, the oldest ones are removed until
    the rest fits. Steps that are a multiple of `keep_every` (default 0: no step is special) go
    last; the newest step always stays.

    `rules` judge each saved step while it runs: a list of names of built-in rules, of what
    `smdebug.rules.builtin` gives, of classes derived from `smdebug.rules.Rule`, or of pairs of a
    name or a class and its parameters, `("ExplodingTensor", {"only_nan": True})`. What they look at
    is saved as often as `save_config` says. `on_fire` says what follows when one fires: "record"
    (it is logged once, and in `verdicts()`), what else the adapter can do, or a function that takes
    the verdict, a dict, and returns one of these or None. Raises SMDebugValueError for what the
    adapter cannot do.

    SIGTERM publishes every step that has ended before the process dies of it, unless the program
    has a handler of its own.

    Mistakes in a call raise there. Whatever else goes wrong never reaches the training: it is
    kept in `status()` and logged once.
    """

    # A hook that came out of a pickle has no session and does nothing.
    _session = None
    _failure = None
    _rules = None
    out_dir = ""
    tensorboard_dir = None
    mode = ModeKeys.GLOBAL
    collection_class = Collection
    patterned_collections = frozenset()  # those whose tensors _module_patterns alone finds
    adapter_options = ()  # of "step_on" and "gradients": those that the adapter takes
    vetoes = ()  # the answers to a rule that fires, beside "record", which the adapter can give

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
        rules=None,
        on_fire="record",
    ):
        if checksum not in ("constant", "crc32c"):
            raise SMDebugValueError(f"checksum must be 'constant' or 'crc32c', found {checksum!r}")
        if include_workers not in ("one", "all"):
            raise SMDebugValueError(
                f"include_workers must be 'one' or 'all', found {include_workers!r}"
            )
        self.out_dir = checked_path(out_dir)
        self.tensorboard_dir = _core.resolve_tensorboard_dir(
            checked_flag("export_tensorboard", export_tensorboard),
            checked_tensorboard_dir(tensorboard_dir),
            self.out_dir,
            _core.JobEnvironment.read(),
        )
        self.dry_run = checked_flag("dry_run", dry_run)
        self.save_all = checked_flag("save_all", save_all)
        self.include_workers = include_workers
        self.checksum = checksum
        self.max_run_bytes = checked_count("max_run_bytes", max_run_bytes, 1, or_none=True)
        self.keep_every = checked_count("keep_every", keep_every, 0)
        self._revision = _core.ConfigRevision()
        self._seen_revision = None
        self._collections = {}
        self._save_config = self._reduction_config = None
        self._default = Collection("default", include_regex)  # has the hook's own patterns
        self.save_config = save_config
        self.reduction_config = reduction_config
        self.include_collections = checked_names("include_collections", include_collections)
        self.mode = ModeKeys.GLOBAL
        self._framework = self.make_framework()
        self._added = set()  # names of collections that the user handed in
        self._handed_over = None
        self._has_begun = False
        self._rules = StepMonitor(rules, on_fire, self.vetoes, self.out_dir) if rules else None
        self._session = self._make_session()
        if self._rules:
            self._rules.join(self, self._session)
        current_hook.opened(self)
        current_hook.set_current(self)

    @classmethod
    def create_from_json_file(cls, json_file_path=None):
        """A hook as a JSON file says: see smdebug/json_config.py. Without a path it is the file
        that SMDEBUG_CONFIG_FILE_PATH names, else /opt/ml/input/config/debughookconfig.json.

        Raises FileNotFoundError where there is no file, SMDebugValueError where it makes no
        sense.
        """
        return create_hook_from_json_config(cls, json_file_path)

    # --- to be said by an adapter ---

    @classmethod
    def make_framework(cls):
        raise NotImplementedError

    def _versions(self):
        return {"python": sys.version.split()[0]}

    def _rank_and_size(self):
        return 0, 1

    def _module_patterns(self, collection):
        """Patterns for what a collection names by other means than text."""
        return []

    def _device_transfer(self):
        """The `device_transfer` of Session.create; None: each copy is waited for."""
        return None

    def _detach(self):
        """Takes every hook out of the framework."""

    # --- collections ---

    def get_collection(self, name, create=True):
        """The collection of that name; with `create` an empty one is made if there is none."""
        if not isinstance(name, str):
            raise SMDebugTypeError(f"a collection's name must be text, found {name!r}")
        if name not in self._collections:
            built_in = self._framework.find(name)
            if built_in is None and not create:
                raise SMDebugError(f"there is no collection '{name}'")
            make = self.collection_class
            self._keep(make.from_collection(built_in) if built_in else make(name))
        return self._collections[name]

    def get_collections(self):
        """All collections by name, built in or not."""
        for built_in in self._framework.collections:
            self.get_collection(built_in.name)
        return dict(self._collections)

    def add_collection(self, collection):
        """Takes up a collection; one of the same name is replaced."""
        if not isinstance(collection, Collection):
            raise SMDebugTypeError(f"expected a Collection, found {collection!r}")
        self._added.add(collection.name)
        self._keep(collection)

    def export_collections(self):
        """Writes the collections file with the tensors that were seen so far. The run has one
        from its first saved step on, and renews it with each new tensor, without being asked."""
        if self._session:
            self._session.export_collections()
            self.flush()

    def has_default_hook_configuration(self):
        """Whether just the framework's default collections are saved. How often, how reduced and
        by which workers does not matter."""
        try:
            saved = _core.saved_collections(self._core_configuration(), self._framework)
        except SMDebugError:  # a mistake that the first step will tell; no default has one
            return False
        return set(saved) == set(self._framework.default_saved)

    def has_default_configuration(self):
        """The same, and no profiler is configured."""
        profiler_config = _core.JobEnvironment.read().profiler_config_path
        return self.has_default_hook_configuration() and not os.path.exists(profiler_config)

    def should_save_tensor_or_collection(self, tensor_name, collection_name):
        """Whether the open step saves a tensor of that name, or the collection."""
        return bool(self._session) and self._session.is_due(tensor_name, collection_name)

    def _keep(self, collection):
        collection.inherit(self.save_config or SaveConfig())
        self._collections[collection.name] = collection
        self._follow_edits()

    @property
    def save_config(self):
        """The SaveConfig of collections without one of their own; None for the framework's."""
        return self._save_config

    @save_config.setter
    def save_config(self, value):
        self._save_config = None if value is None else SaveConfig.parse(value)
        self._follow_edits()

    @property
    def reduction_config(self):
        """The ReductionConfig of collections without one of their own; None to save elements."""
        return self._reduction_config

    @reduction_config.setter
    def reduction_config(self, value):
        if value is not None and not isinstance(value, ReductionConfig):
            raise SMDebugTypeError(f"reduction_config must be a ReductionConfig, found {value!r}")
        self._reduction_config = value
        self._follow_edits()

    @property
    def include_regex(self):
        """Patterns of the collection `default`: a list that may be edited in place."""
        return self._default.include_regex

    @include_regex.setter
    def include_regex(self, value):
        self._default.include_regex = value

    def mark_edited(self):
        """Has the hook look at its configuration again when the next step begins."""
        self._revision.add()

    def _follow_edits(self):
        """Counts the edits of everything that the configuration is made of."""
        parts = [self._save_config, self._reduction_config, self._default]
        self._revision.follow([*filter(None, parts), *self._collections.values()])

    # --- saving ---

    def set_mode(self, mode):
        """Says what the following steps are for: one of smdebug.modes."""
        if not isinstance(mode, ModeKeys):
            raise SMDebugValueError(f"mode must be one of smdebug.modes, found {mode!r}")
        self.mode = mode
        if self._session:
            self._session.set_mode(mode)

    def save_scalar(self, name, value, sm_metric=False, timestamp=None):
        """Saves one number as tensor `scalar/<name>` at the present step, due or not.

        It keeps the step and the mode that are current at the call; before the first step it goes
        into that. `timestamp` is its time in seconds since the epoch, by default that of the step.
        `sm_metric` asked the original to send it to a cloud service, and changes nothing here.

        Raises SMDebugTypeError for a value that is not one number.
        """
        if not isinstance(name, str):
            raise SMDebugTypeError(f"a scalar's name must be text, found {name!r}")
        number = checked_number(name, value)
        seconds = None if timestamp is None else checked_number("timestamp", timestamp)
        if self._session:
            save = self._session.save_scalar
            if isinstance(number, int):
                save = self._session.save_integer
            save(name, number, seconds)

    def save_tensor(self, tensor_name, tensor_value, collections_to_write="default"):
        """Saves a tensor at the present step, due or not, and lists it in collections.

        `tensor_value` is an array or tensor of any shape and dtype, a list, or a number, which
        gets shape (1,); it is copied before this returns. `collections_to_write` is a collection
        or its name, or several of them: they say what is written (the values, unless they ask for
        reductions), and those that do not exist are made. Before the first step, and between
        steps, the tensor goes into the next one. The last of several values of one step counts.

        Raises SMDebugTypeError for what is no tensor or no collection.
        """
        if not isinstance(tensor_name, str):
            raise SMDebugTypeError(f"a tensor's name must be text, found {tensor_name!r}")
        names = checked_collection_names(collections_to_write)
        tensor = as_tensor(tensor_name, tensor_value)
        if not self._session:
            return
        for collection in filter(None, map(self._collections.get, names)):
            if not collection.has_members():  # what it asks for is handed over with its tensors
                collection.add_tensor_name(tensor_name)
        try:
            self._session.save_tensor(tensor_name, tensor, names)
        except SMDebugError as error:
            if getattr(error, "code", "") != "unsupported":
                raise
            raise SMDebugTypeError(f"tensor '{tensor_name}' cannot be saved: {error}") from None

    def pause(self):
        """Records nothing from the next step on, until `resume`. Steps are counted all the same."""
        if self._session:
            self._session.pause()

    def resume(self):
        """Records again from the next step on."""
        if self._session:
            self._session.resume()

    def flush(self):
        """Returns when every step that has ended can be read."""
        if self._session:
            with contextlib.suppress(SMDebugError):  # latched in status(), logged once
                self._session.flush()

    def close(self):
        """Ends the run: publishes the last step, takes the hooks out. Never raises."""
        if not self._session or self not in current_hook.open_hooks():
            return
        current_hook.closed(self)
        with self._unharmed("close"):
            self._detach()
        with contextlib.suppress(SMDebugError):
            self._session.close()
        if self._rules:
            with self._unharmed("the end of the rules"):
                self._rules.finish()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __repr__(self):
        return f"{type(self).__name__}({self.out_dir!r}, {self.status().state})"

    # --- how it goes ---

    def status(self):
        """Where the hook stands, a HookStatus."""
        if not self._session:
            return HookStatus(state="closed", reason="this hook came out of a pickle")
        status = HookStatus.from_core(self._session.status())
        if self._failure and not status.error:
            return HookStatus(**{**vars(status), **self._failure, "state": "failed"})
        return status

    def verdicts(self):
        """What the `rules` of this hook say so far: a list of dicts, in the order given, like those
        of `smdebug check --json`. "InProgress" until the hook is closed, or the rule has fired."""
        return self._rules.verdicts() if self._rules else []

    @property
    def skipped_steps(self):
        """The global steps whose update a rule of this hook has skipped: a list of int."""
        return list(self._rules.skipped_steps) if self._rules else []

    def cost(self):
        """What watching has cost so far, a HookCost."""
        return HookCost.from_core(self._session.cost()) if self._session else HookCost()

    def summary(self):
        """What the first saved step matched, as told in the log; empty before."""
        return self._session.summary() if self._session else ""

    # --- the core's side ---

    def _begin_step(self):
        """Begins a step and returns whether anything is due in it."""
        self._prepare_step()
        return self._session.begin_step()

    def _prepare_step(self):
        """Hands over what the coming step is to be decided by."""
        if not self._has_begun:
            self._hand_over_configuration()
            self._session.set_worker(*self._rank_and_size())
            _core.install_termination_flush()
            self._has_begun = True
        else:
            try:
                self._take_up_edits()
            except SMDebugError as error:
                logger.warning("an edit is ignored: %s", error)

    def _take_up_edits(self):
        if self._seen_revision != self._revision.number:
            self._hand_over_configuration()

    def _hand_over_configuration(self):
        for name in self.include_collections:
            if name in self.patterned_collections:
                self.get_collection(name)
        self._seen_revision = self._revision.number
        config = self._core_configuration()
        if config != self._handed_over:
            self._session.set_config(config)
            self._handed_over = config

    def _core_configuration(self):
        """A snapshot of the configuration, for the core."""
        patterns = {c.name: self._module_patterns(c) for c in self._collections.values()}
        return _core.HookConfig(
            self.out_dir,
            save_config=self.save_config,
            reduction_config=self.reduction_config,
            include_regex=self.include_regex,
            include_collections=self._known_collections(),
            save_all=self.save_all,
            dry_run=self.dry_run,
            all_workers=self.include_workers == "all",
            collections=self._filled_collections(patterns),
            further_patterns=patterns,
            tensorboard_dir=self.tensorboard_dir,
            true_checksum=self.checksum == "crc32c",
            max_run_bytes=self.max_run_bytes,
            keep_every=self.keep_every,
        )

    def _known_collections(self):
        """Those to be saved. A script may name one that it fills before its first step."""
        if self._session:
            return list(self.include_collections)
        built_in = [collection.name for collection in self._framework.collections]
        return [name for name in self.include_collections if name in built_in]

    def _filled_collections(self, further_patterns):
        """The collections that name anything, with the patterns that the adapter adds."""
        collections = []
        for name, collection in self._collections.items():
            is_known = self._framework.knows(name)
            if is_known or collection.has_members() or further_patterns[name]:
                collections.append(collection)
            elif name in self._added or name in self.include_collections:
                raise InvalidCollectionConfiguration(name)
            # else asked for and never filled: it would save nothing
        return collections

    def _make_session(self):
        try:
            return _core.Session.create(
                self._core_configuration(),
                self._framework,
                [sys.executable, *sys.argv],
                self._versions(),
                {},
                self._device_transfer(),
            )
        except SMDebugValueError as error:
            if getattr(error, "code", "") == "invalid_argument":  # the run there has ended
                raise SMDebugRuntimeError(str(error)) from None
            raise

    @contextlib.contextmanager
    def _unharmed(self, where):
        """Keeps our own mistakes from the training: the first is latched and logged."""
        try:
            yield
        except Exception as error:
            self._latch(where, error)

    def _latch(self, where, error):
        if self._failure:
            return
        step = self._session.step[0]
        self._failure = {"error": f"{where}: {error!r}", "error_step": step}
        logger.error(
            "recording stops at step %d, the training goes on: %s", step, where, exc_info=error
        )

    # --- copies and children ---

    def __deepcopy__(self, memo):
        return self

    def __getstate__(self):
        return {}

    def _after_fork_in_child(self):
        self._session.after_fork_in_child()


@atexit.register
def _close_all():
    for hook in current_hook.open_hooks():
        hook.close()


def _after_fork_in_child():
    for hook in current_hook.open_hooks():
        hook._after_fork_in_child()
        current_hook.closed(hook)


os.register_at_fork(after_in_child=_after_fork_in_child)
