"""`ConfiguredHook`: the configuration of a hook, which the user may edit at any time.

The next step takes up all edits at once and passes them to the core. A part that turns out to be
invalid then is logged and left out.
"""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING, Any

from smdebug import _core
from smdebug.collection import Collection
from smdebug.collection_manager import CollectionsByName
from smdebug.exceptions import SMDebugError, SMDebugTypeError
from smdebug.hook_arguments import checked_choice, checked_count, checked_name, checked_names, shown
from smdebug.log import get_logger
from smdebug.misplaced_options import checked_flag
from smdebug.reduction_config import ReductionConfig
from smdebug.save_config import SaveConfig
from smdebug.valid_configuration import (
    lacks_global_mode,
    misplaced_attributes,
    odd_ranges,
    valid_configuration,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from smdebug.hook_options import HookOptions
    from smdebug.save_config import SaveConfigMode

_logger = get_logger()
_EMPTY_COLLECTION = "nothing belongs to collection '{}': it has neither patterns nor tensor names"
# The settings that scripts assign to a hook.
_SETTINGS = ("save_config", "reduction_config", "include_regex", "include_collections", "save_all")
_FILL = "; fill it with hook.get_collection('{}').{}, or do not create it"


class ConfiguredHook:
    """The settings and collections of a hook, as the user left them and as the core got them."""

    # A hook that was unpickled has no session and does nothing.
    _session: Any = None  # a _core.Session, or an object with the same methods
    _out_dir: str = ""
    tensorboard_dir: str | None = None
    _has_new_parts: bool = True  # whose edits are not counted yet
    announces_first_step: bool = True  # in the log
    max_tensors_per_module: int = 0  # inputs, and outputs, per step; 0: all
    steps_after_leap: int = 0  # saved after the leap of a loss or of the norm of a gradient
    parameters_by_role: bool = False  # all in `weights` or `biases`, whatever their names
    collection_class: type[Collection] = Collection
    # Collections whose tensors only _module_patterns finds.
    patterned_collections: frozenset[str] = frozenset()
    # The methods that fill a collection, for messages.
    filling_methods: str = "include(pattern)"

    def _take_configuration(self, options: HookOptions) -> None:
        self.dry_run: bool = checked_flag("dry_run", options.dry_run)
        self.include_workers: str = checked_choice(
            "include_workers", options.include_workers, ("one", "all")
        )
        self.checksum: str = checked_choice("checksum", options.checksum, ("constant", "crc32c"))
        self.max_run_bytes: int | None = options.max_run_bytes
        if self.max_run_bytes is not None:
            example = " of bytes, such as 2_000_000_000"
            checked_count("max_run_bytes", self.max_run_bytes, 1, example)
        self.keep_every: int = checked_count("keep_every", options.keep_every, 0)
        self.private: bool = checked_flag("private", options.private)
        self.durability: str = checked_choice("durability", options.durability, ("process", "step"))
        self._revision = _core.ConfigRevision()
        self.save_all = options.save_all
        self._seen_revision: int | None = None
        self._collections: dict[str, Any] = {}  # of the adapter's class
        self._save_config: SaveConfig | None = None
        self._reduction_config: ReductionConfig | None = None
        self._default = Collection("default", options.include_regex)  # has the hook's own patterns
        self.save_config = options.save_config
        self.reduction_config = options.reduction_config
        self.include_collections = options.include_collections
        self._framework = self.make_framework()
        self._added: set[str] = set()  # names of collections that the user passed in
        self._handed_over: _core.HookConfig | None = None
        self._reported_mistakes: set[str] = set()
        self._ignored: set[str] = set()  # collections that were reported and left out

    # --- implemented by adapters ---

    @classmethod
    def make_framework(cls) -> _core.Framework:
        """The framework of the adapter. Each adapter implements it."""
        raise NotImplementedError

    def _module_patterns(self, collection: Any) -> list[str]:
        """Patterns for the tensors that a collection selects by other means than text."""
        return []

    def _foreign_members(self, collection: Any) -> list[str]:
        """Returns a sentence about each module in a collection that the adapter does not record."""
        return []

    # --- collections ---

    def get_collection(self, name: str, create: bool = True) -> Collection:
        """The collection of that name. With `create`, an empty one is made if it does not exist;
        otherwise raises SMDebugError."""
        name = checked_name("a collection's name", name)
        if name not in self._collections:
            built_in = self._framework.find(name)
            if built_in is None and not create:
                raise SMDebugError(f"there is no collection '{name}'")
            make = self.collection_class
            self._keep(make.from_collection(built_in) if built_in else make(name))
        return self._collections[name]

    def get_collections(self) -> dict[str, Collection]:
        """All collections by name, built-in and added ones."""
        for built_in in self._framework.collections:
            self.get_collection(built_in.name)
        return CollectionsByName(self._collections)

    def add_collection(self, collection: Collection) -> None:
        """Adds a collection. Replaces the one of the same name, if any."""
        if not isinstance(collection, Collection):
            raise SMDebugTypeError(
                f"add_collection takes a Collection, found {shown(collection)}; "
                "hook.get_collection(name) adds an empty one of that name and returns it"
            )
        self._added.add(collection.name)
        self._keep(collection)

    def has_default_hook_configuration(
        self, default_saved_collections: Iterable[str] | None = None
    ) -> bool:
        """Whether exactly these collections are saved, by default those that the framework saves by
        default, regardless of intervals, reductions and workers."""
        try:
            config = self._core_configuration(self.include_collections)
            saved = _core.saved_collections(config, self._framework)
        except Exception:  # a mistake that the first step reports; the default has none
            return False
        return set(saved) == set(default_saved_collections or self._framework.default_saved)

    def has_default_configuration(self) -> bool:
        """Whether has_default_hook_configuration() holds and no profiler is configured."""
        profiler_config = _core.JobEnvironment.read().profiler_config_path
        return self.has_default_hook_configuration() and not os.path.exists(profiler_config)

    def _keep(self, collection: Collection) -> None:
        collection.inherit(self.save_config or SaveConfig())
        self._collections[collection.name] = collection
        self._follow_edits()

    # --- settings ---

    @property
    def save_config(self) -> SaveConfig | None:
        """The SaveConfig of collections that have none; None for the default of the framework."""
        return self._save_config

    @save_config.setter
    def save_config(self, value: SaveConfig | SaveConfigMode | dict[Any, Any] | None) -> None:
        self._save_config = None if value is None else SaveConfig.parse(value)
        self._follow_edits()

    @property
    def reduction_config(self) -> ReductionConfig | None:
        """The ReductionConfig of collections that have none; None to save the elements."""
        return self._reduction_config

    @reduction_config.setter
    def reduction_config(self, value: ReductionConfig | None) -> None:
        if value is not None and not isinstance(value, ReductionConfig):
            raise SMDebugTypeError(
                f"reduction_config must be a ReductionConfig, found {shown(value)}"
            )
        self._reduction_config = value
        self._follow_edits()

    @property
    def include_regex(self) -> list[str]:
        """The patterns of the collection `default`: a list that may be edited in place."""
        return self._default.include_regex

    @include_regex.setter
    def include_regex(self, value: list[str] | None) -> None:
        self._default.include_regex = value

    @property
    def include_collections(self) -> list[str]:
        """The names of collections to save in addition to the framework's defaults."""
        return self._include_collections

    @include_collections.setter
    def include_collections(self, value: str | Iterable[Any] | None) -> None:
        self._include_collections = checked_names("include_collections", value)
        self.mark_edited()

    @property
    def save_all(self) -> bool:
        """Whether every tensor is saved."""
        return self._save_all

    @save_all.setter
    def save_all(self, value: Any) -> None:
        self._save_all = checked_flag("save_all", value)
        self.mark_edited()

    # --- edits, and what the core gets ---

    def mark_edited(self) -> None:
        """Makes the hook check its configuration for edits when the next step begins."""
        self._revision.add()

    def _follow_edits(self) -> None:
        """Makes the hook take up a configuration object that it got. The next step finds all of
        them: a search after each one would take quadratic time."""
        self._has_new_parts = True
        self.mark_edited()

    def _count_edits(self) -> None:
        """Counts the edits of all configuration objects of this hook from now on."""
        if self._has_new_parts:
            self._has_new_parts = False
            parts = [self._save_config, self._reduction_config, self._default]
            self._revision.follow([*filter(None, parts), *self._collections.values()])
        self._seen_revision = self._revision.number

    def _take_up_edits(self) -> None:
        if self._seen_revision != self._revision.number:
            self._hand_over_configuration()

    def _hand_over_configuration(self) -> None:
        """Passes the configuration to the core, without the parts that have a mistake. Logs each
        of them once."""
        names = self.include_collections
        for name in self.patterned_collections:
            if name in names:
                self.get_collection(name)
        self._count_edits()
        self._report_odd_ranges()
        self._report_misplaced_attributes()
        self._report_misspelled_collections()
        try:
            self._use(self._core_configuration(names))
        except Exception:
            self._use(
                valid_configuration(
                    lambda collections, names, patterns: self._core_configuration(
                        names, collections, patterns
                    ),
                    list(self._collections.values()),
                    names,
                    self.include_regex,
                    lambda config: _core.saved_collections(config, self._framework),
                    self._report_mistake,
                    self._ignored,
                )
            )
        self._report_foreign_members()

    def _use(self, config: _core.HookConfig | None) -> None:
        if config is not None and config != self._handed_over:
            self._session.set_config(config)
            self._handed_over = config

    def _core_configuration(
        self,
        names: Sequence[str],
        collections: Sequence[Collection] | None = None,
        patterns: Sequence[str] | None = None,
    ) -> _core.HookConfig:
        """A snapshot of the configuration, for the core, that saves the collections `names` and
        knows `collections`, by default all of them, and has the `patterns` of `include_regex`, by
        default all. Raises for some mistakes."""
        known = list(self._collections.values()) if collections is None else collections
        further = {each.name: self._module_patterns(each) for each in known}
        return _core.HookConfig(
            self._out_dir,
            save_config=self.save_config,
            reduction_config=self.reduction_config,
            include_regex=self.include_regex if patterns is None else list(patterns),
            include_collections=list(names),
            save_all=self.save_all,
            dry_run=self.dry_run,
            all_workers=self.include_workers == "all",
            collections=[each for each in known if self._is_used(each, further[each.name])],
            further_patterns=further,
            tensorboard_dir=self.tensorboard_dir,
            true_checksum=self.checksum == "crc32c",
            max_run_bytes=self.max_run_bytes,
            keep_every=self.keep_every,
            private=self.private,
            keeps_steps=self.durability == "step",
            announces_first_step=self.announces_first_step,
            max_tensors_per_module=self.max_tensors_per_module,
            steps_after_leap=self.steps_after_leap,
            parameters_by_role=self.parameters_by_role,
        )

    def _is_used(self, collection: Collection, further_patterns: list[str]) -> bool:
        """Whether the collection selects tensors, or was meant to."""
        name = collection.name
        selects = self._framework.knows(name) or collection.has_members() or further_patterns
        return bool(selects) or name in self._added or name in self.include_collections

    # --- mistakes ---

    def _report_foreign_members(self) -> None:
        """Reports what was added to a collection that has other members, and is not recorded."""
        for collection in self._collections.values():
            if collection.name not in self._ignored:
                for text in self._foreign_members(collection):
                    self._report_mistake(f"a module is left out: {text}")

    def _report_odd_ranges(self) -> None:
        texts = odd_ranges("save_config", self._save_config)
        for collection in self._collections.values():
            if collection.save_config not in (None, self._save_config):
                texts += odd_ranges(f"collection '{collection.name}'", collection.save_config)
        for text in texts:
            self._report_mistake(text)

    def _report_misplaced_attributes(self) -> None:
        """Reports each attribute that the script has set and that looks like a setting."""
        texts = misplaced_attributes("save_config", self._save_config)
        texts += misplaced_attributes("reduction_config", self._reduction_config)
        for collection in self._collections.values():
            name = f"collection '{collection.name}'"
            texts += misplaced_attributes(name, collection)
            if collection.save_config is not self._save_config:
                texts += misplaced_attributes(f"the save_config of {name}", collection.save_config)
        texts += misplaced_attributes("the hook", self, _SETTINGS)
        for text in texts:
            self._report_mistake(text)

    def _report_unset_mode(self) -> None:
        """Reports each configuration that does not apply because the script sets no mode."""
        default = f"the default, every {self._framework.default_save_interval}th step"
        texts = lacks_global_mode("save_config", self._save_config, default)
        for collection in self._collections.values():
            if collection.save_config not in (None, self._save_config):
                name = f"the save_config of collection '{collection.name}'"
                texts += lacks_global_mode(name, collection.save_config, "that of the hook")
        for text in texts:
            self._report_mistake(text)

    def _report_misspelled_collections(self) -> None:
        """Reports each empty collection that `get_collection` made for a name near to another."""
        for name, near in self._empty_collections():
            if near:
                self._report_mistake(_EMPTY_COLLECTION.format(name) + f"; did you mean '{near}'?")

    def _report_empty_collections(self) -> None:
        for name, near in self._empty_collections():
            if not near:
                text = _EMPTY_COLLECTION + _FILL
                self._report_mistake(text.format(name, name, self.filling_methods))

    def _report_unsaved_collections(self) -> None:
        """Reports each collection of the script that was filled and that nothing saves."""
        if self.save_all:
            return
        for name, collection in self._collections.items():
            is_own = not self._framework.knows(name) and name not in self.patterned_collections
            if is_own and name not in self.include_collections and collection.has_members():
                self._report_mistake(
                    f"collection '{name}' selects tensors, but is not saved: add it to "
                    "include_collections"
                )

    def _empty_collections(self) -> Iterator[tuple[str, str | None]]:
        """The names of collections to which nothing belongs, each with the nearest built-in one."""
        built_in = [each.name for each in self._framework.collections]
        for collection in self._collections.values():
            if collection.name in self.patterned_collections:
                continue
            if not self._is_used(collection, self._patterns_found_of(collection)):
                near = difflib.get_close_matches(collection.name, built_in, n=1)
                yield collection.name, near[0] if near else None

    def _patterns_found_of(self, collection: Collection) -> list[str]:
        try:
            return self._module_patterns(collection)
        except SMDebugError:  # reported with the configuration
            return [""]

    def _report_mistake(self, text: str) -> None:
        if text not in self._reported_mistakes:
            self._reported_mistakes.add(text)
            _logger.warning("%s", text)
