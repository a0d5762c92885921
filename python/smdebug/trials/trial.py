"""`Trial`: the reader of a run, growing or finished."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from smdebug._core import Attempt, ModeKeys, StepState, WorkerFacts
from smdebug._core import Trial as CoreTrial
from smdebug.analysis.utils import no_refresh
from smdebug.aws_credentials import use_boto3_credentials
from smdebug.collection import Collection
from smdebug.collection_manager import CollectionManager, CollectionsByName
from smdebug.current_hook import before_refresh
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError
from smdebug.hook_arguments import shown
from smdebug.log import get_logger
from smdebug.near_names import nearest_of, refuse_attribute_of
from smdebug.trials.arguments import (
    checked_mode,
    checked_name,
    checked_patterns,
    checked_query,
    checked_range,
    checked_step,
    checked_steps,
    checked_timeout,
)
from smdebug.trials.arrays import Array
from smdebug.trials.html import trial_html
from smdebug.trials.tables import StatisticsTable, data_frame
from smdebug.trials.tensor import Tensor
from smdebug.unknown_arguments import methods_with_known_arguments

if TYPE_CHECKING:
    import pandas

_logger = get_logger()

GLOBAL = ModeKeys.GLOBAL
Mode = ModeKeys | None  # None stands for GLOBAL
Patterns = str | Sequence[str]

# Types that the first argument of `tensor_names`, a flag without effect, does not take.
_NO_FLAGS = (str, int, list, tuple, re.Pattern, ModeKeys, Collection)
# The files and folders that show that a folder is a run; "index" for one of a FileWriter.
_FILES_OF_A_RUN = ("claim.smd", "run.json", "collections", "index", "training_job_end.ts")
# What to use for a name that a trial does not have and no other name is like.
_INSTEAD = {"tensors": "use tensor_names(), and tensor(name) for one of them"}
_MAX_FOLDERS = 64  # that are searched for runs, as the core does


@methods_with_known_arguments
class Trial:
    """The tensors of one run. While the run grows, each query looks for new steps first.

    A run has one sequence of global steps; each is also a step of its mode. A method that takes a
    `mode` takes steps of that mode; GLOBAL, or None, stands for global steps of any mode. Unknown
    modes and steps give empty lists or None. Raises SMDebugValueError for a `mode` that is not one
    of `smdebug.modes` and SMDebugTypeError for a step or a name of the wrong type.

    `create_trial` documents the arguments; `parallel`, `check` and `index_mode` are ignored.
    `Trial(path)` and `Trial(path, name)` open a run, as `create_trial` does. In the original's
    order of arguments, `name` comes first; it is the path if no `path` is given.
    """

    _collections_version: int | None = None  # of `_collections`

    def __init__(
        self,
        name: str | os.PathLike[str] | None = None,
        range_steps: Sequence[int | None] | str | None = None,
        parallel: bool = True,
        check: bool = False,
        index_mode: bool = True,
        cache: bool = False,
        *,
        path: str | os.PathLike[str] | None = None,
        timeout: float | None = None,
    ) -> None:
        if isinstance(range_steps, str) and path is None:  # Trial(path, name)
            name, path, range_steps = range_steps, name, None
        where = name if path is None else path
        if where is None:
            raise SMDebugTypeError("Trial needs the path of a run, found None")
        self.path: str = os.path.expanduser(str(where).strip())
        own_name = None if path is None else name
        self.name: str = str(own_name or os.path.basename(self.path.rstrip("/")))
        self._collections: dict[str, Collection] = {}
        self._missing_collections: dict[str, Collection] = {}  # that were asked for
        first, end = checked_range(range_steps)
        timeout = checked_timeout(timeout)
        use_boto3_credentials(self.path)
        drain = before_refresh(self.path)
        if timeout is None:
            _require_run(self.path, drain)
        self._core = CoreTrial.open(self.path, self.name, first, end, timeout, drain, bool(cache))
        self._published = self._core  # without a running step, which LiveTrial adds
        if refused := self._core.refused_writer():
            _logger.warning("run '%s': %s", self.name, refused)

    def tensor_names(
        self,
        show_prefixed_tensors: bool = False,
        *,
        step: int | None = None,
        mode: Mode = GLOBAL,
        regex: Patterns | None = None,
        collection: str | Collection | None = None,
    ) -> list[str]:
        """The sorted names of the saved tensors.

        Only those saved at a `step` of `mode` (none if this step was not saved), or at any step of
        `mode`; and only names in which `regex` (a pattern, or one of several) is found as by
        `re.search`, or the tensors of `collection` (a name or a Collection): its tensor names, and
        names that its patterns find.

        `show_prefixed_tensors` has no effect, because reductions have the name of their tensor.
        Raises SMDebugTypeError if it is something else than a flag, SMDebugValueError for an
        invalid pattern, and for both a regex and a collection.
        """
        if isinstance(show_prefixed_tensors, _NO_FLAGS) and show_prefixed_tensors not in (0, 1):
            self._refuse_position(show_prefixed_tensors)
        if regex is not None and collection is not None:
            raise SMDebugValueError("tensor_names takes a regex or a collection, not both")
        patterns, names = checked_patterns(regex), []
        if isinstance(collection, str):
            collection = self.collection(collection)
        if collection is not None:
            if not isinstance(collection, Collection):
                raise SMDebugTypeError(
                    f"collection must be a Collection or its name, found {shown(collection)}"
                )
            patterns, names = list(collection.include_regex), list(collection.tensor_names)
            if not patterns and not names:
                return []
        step = None if step is None else checked_step(step)
        return self._core.tensor_names(step, checked_mode(mode), patterns, names)

    def _refuse_position(self, given: Any) -> NoReturn:
        """Raises SMDebugTypeError for the first argument of `tensor_names`, with the keyword that
        it was meant for."""
        if isinstance(given, ModeKeys):
            meant = f"mode=modes.{given.name}"
        elif isinstance(given, Collection):
            meant = f"collection={given.name!r}"
        elif isinstance(given, int):
            meant = f"step={given}"
        else:
            is_collection = isinstance(given, str) and given in self._current_collections()
            meant = f"{'collection' if is_collection else 'regex'}={shown(given)}"
        raise SMDebugTypeError(
            f"tensor_names takes its arguments by keyword, found {shown(given)}; did you mean "
            f"tensor_names({meant})?"
        )

    def tensor(self, tname: str) -> Tensor:
        """The tensor of that name. Raises TensorUnavailable, which suggests similar names."""
        return Tensor(self, self._core.tensor(checked_name(tname)))

    def has_tensor(self, tname: str) -> bool:
        """Whether a tensor of that name was saved so far."""
        return self._core.has_tensor(checked_name(tname))

    def steps(self, mode: Mode = GLOBAL, show_incomplete_steps: bool = False) -> list[int]:
        """The steps of `mode`, in ascending order: those that every worker has written, or that
        were given up because newer ones are complete; with `show_incomplete_steps`, all that any
        worker has written."""
        return self._core.steps(checked_mode(mode), show_incomplete_steps)

    def modes(self) -> list[ModeKeys]:
        """The modes that occur in the run, in their order; never GLOBAL."""
        return self._core.modes()

    def mode(self, global_step: int) -> ModeKeys | None:
        """The mode of a global step, or None if the run does not have that step."""
        return self.mode_modestep(global_step)[0]

    def mode_step(self, global_step: int) -> int | None:
        """The number of a global step within its mode, or None if the run does not have it."""
        return self.mode_modestep(global_step)[1]

    def mode_modestep(self, global_step: int) -> tuple[ModeKeys, int] | tuple[None, None]:
        """(mode, step of that mode) of a global step; (None, None) if the run does not have it."""
        return self._core.step_id(checked_step(global_step)) or (None, None)

    def global_step(self, mode: Mode, mode_step: int) -> int | None:
        """The global step of a step of `mode`, or None if the run does not have that step; for
        GLOBAL, `mode_step` itself."""
        return self._core.global_step(checked_mode(mode), checked_step(mode_step))

    def workers(self) -> list[str]:
        """The workers that saved anything, sorted: "worker_0", or device names."""
        return self._core.workers()

    def collections(self) -> dict[str, Collection]:
        """The collections of the run, by name, whether or not their tensors were saved."""
        return CollectionsByName(self._current_collections())

    def _current_collections(self) -> dict[str, Collection]:
        version = self._core.collections_version()
        if version != self._collections_version:
            self._collections_version = version
            for collection in self._core.collections():
                self._collections[collection.name] = collection
        return self._collections

    @property
    def collection_manager(self) -> CollectionManager:
        """A CollectionManager of the run's collections, as they are now."""
        return CollectionManager(self.collections(), num_workers=self.num_workers)

    def collection(self, coll_name: str) -> Collection:
        """The collection of that name; a new, empty one if the run has none, with a warning."""
        if not isinstance(coll_name, str):
            raise SMDebugTypeError(f"a collection's name must be text, found {shown(coll_name)}")
        known = self._current_collections()
        if coll_name not in known and coll_name not in self._missing_collections:
            _logger.warning(
                "run '%s' has no collection '%s'; %s",
                self.name,
                coll_name,
                nearest_of(coll_name, known, "it has no collections"),
            )
            self._missing_collections[coll_name] = Collection(coll_name)
        return known.get(coll_name) or self._missing_collections[coll_name]

    @property
    def attempt(self) -> int:
        """The number of the attempt whose steps this trial shows, from 1: how often the training
        was started in this folder. 0 for a run of the original."""
        return self._core.attempt

    def attempts(self) -> list[Attempt]:
        """Every start of the training in this folder, in order; the last one is shown. Steps that
        a later attempt has replaced are a run of their own: `create_trial(attempt.location)`."""
        return self._core.attempts()

    def facts(self) -> list[WorkerFacts]:
        """The facts of each worker, sorted by the step from which on they hold: parameters,
        optimizers, modules and losses, as far as its framework knows them. Empty for a run without
        facts, such as one of the original."""
        return self._core.facts()

    def series_names(self) -> list[str]:
        """The names of the scalar series, sorted: numbers that were recorded at every step, saved
        or not, such as a loss. Empty for a run without them, such as one of the original."""
        return self._core.series_names()

    def series(
        self, name: str, mode: Mode = GLOBAL, worker: str | None = None
    ) -> list[tuple[int, float]]:
        """The samples of a scalar series as pairs (step of `mode`, value), in ascending order:
        those of `worker`, or of the first worker that recorded it. Raises SMDebugError for an
        unknown name or worker."""
        _, mode, worker = checked_query(0, mode, worker)
        return self._core.series(checked_name(name), mode, worker)

    def damage(self) -> list[tuple[str, str]]:
        """The parts of the run that could not be read: pairs of a file and a sentence."""
        return self._core.damage()

    def has_passed_step(self, step: int, mode: Mode = GLOBAL) -> StepState:
        """AVAILABLE if every worker has written the step, or the missing ones were given up;
        NOT_YET_AVAILABLE if it may still come or be completed; UNAVAILABLE if it was not saved
        although later steps were."""
        return self._core.has_passed_step(checked_step(step), checked_mode(mode))

    def wait_for_steps(
        self, required_steps: Iterable[int], mode: Mode = GLOBAL, timeout: float | None = None
    ) -> None:
        """Waits until all the steps of `mode` can be read, even under `no_refresh`: forever, or
        `timeout` seconds in total. Raises StepUnavailable for a step that was not saved although
        later ones were, NoMoreData for one after the end of the run, and StepNotYetAvailable after
        the timeout."""
        self._core.wait_for_steps(
            checked_steps(required_steps), checked_mode(mode), checked_timeout(timeout)
        )

    def inputs(self, step: int, mode: Mode = GLOBAL) -> list[Array]:
        """The values of the collection "inputs" at a step of `mode`, ordered by the number that
        their names end with. Empty if none were saved."""
        inputs = self.collections().get("inputs", Collection("inputs"))
        return self._values(step, mode, collection=inputs)

    def labels(self, step: int, mode: Mode = GLOBAL) -> list[Array]:
        """The values of tensors named like labels at a step of `mode`, ordered as `inputs`."""
        return self._values(step, mode, regex="labels*")

    def predictions(self, step: int, mode: Mode = GLOBAL) -> list[Array]:
        """The values of tensors named like predictions at a step of `mode`, ordered as `inputs`."""
        return self._values(step, mode, regex="predictions*")

    def _values(self, step: int, mode: Mode, **which: Any) -> list[Array]:
        names = self.tensor_names(step=checked_step(step), mode=mode, **which)
        names.sort(key=lambda name: int((re.findall(r"\d+$", name) or [-1])[0]))
        return [self.tensor(name).value(step, mode) for name in names]

    def to_pandas(
        self,
        kind: str = "statistics",
        *,
        mode: Mode = GLOBAL,
        regex: Patterns | None = None,
        collection: str | Collection | None = None,
    ) -> pandas.DataFrame:
        """The run as a tidy DataFrame; needs the package pandas. `kind` selects its rows:

        - "names": one per tensor and mode. Columns name, mode, steps (their number), first_step,
          last_step (steps of that mode).
        - "statistics": one per tensor, step and worker. Columns name, step (global), mode,
          mode_step, worker, dtype, shape, and the fields of `TensorSummary`.
        - "scalars": the same for tensors of one element, with the column value, a float.

        Contains complete steps of `mode` only; for `regex` and `collection` see `tensor_names`.
        Text, and tensors of which only reductions or shapes were saved, have no row; damaged values
        are skipped with a warning. Raises SMDebugRuntimeError without pandas.
        """
        names = self.tensor_names(mode=mode, regex=regex, collection=collection)
        with no_refresh(self):
            return data_frame(self, kind, names, checked_mode(mode))

    def to_arrow(
        self,
        *,
        mode: Mode = GLOBAL,
        regex: Patterns | None = None,
        collection: str | Collection | None = None,
    ) -> StatisticsTable:
        """The statistics of the run as a table that polars, pyarrow and DuckDB read without a copy,
        by its method `__arrow_c_stream__`; needs no package.

        One row per tensor, complete step of `mode` and worker. Columns tensor, collection (the
        first other than "all", or null), step (global), mode, mode_step, worker, dtype, shape
        ("64,10"), bytes (of the elements), count, nan, positive_inf, negative_inf, zeros, and of
        the finite elements min, max, mean, std (of the population), l1 and l2; min, max, mean and
        std are null if there are none. Statistics that the run does not store are computed from
        the values. Text, and tensors of which only reductions or shapes were saved, have no row;
        damaged values are skipped with a warning. For `regex` and `collection` see `tensor_names`.
        """
        names = self.tensor_names(mode=mode, regex=regex, collection=collection)
        return StatisticsTable(self, names, checked_mode(mode))

    def refresh(self) -> None:
        """Looks for new steps now."""
        self._core.refresh()

    refresh_data = refresh

    @property
    def dynamic_refresh(self) -> bool:
        """Whether queries look for new steps first."""
        return self._core.is_refreshing

    @dynamic_refresh.setter
    def dynamic_refresh(self, value: bool) -> None:
        self._core.is_refreshing = bool(value)

    @property
    def loaded_all_steps(self) -> bool:
        """True once the run has ended and all of it is known."""
        return self._core.has_ended()

    @property
    def last_complete_step(self) -> int:
        """The last global step that every worker has written, or -1."""
        return self._core.last_complete_step

    @property
    def last_index_token(self) -> str | None:
        """The path of the index file from which the original would list next, or None."""
        token = self._core.last_index_token
        return os.path.join(self.path, token) if token else None

    @property
    def num_workers(self) -> int:
        """The number of workers that the run declares."""
        return self._core.num_workers

    @property
    def worker_set(self) -> set[str]:
        """The set of `workers()`."""
        return set(self._core.workers())

    def __hash__(self) -> int:
        return hash((self.name, self.path))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trial):
            return NotImplemented
        return (self.name, self.path) == (other.name, other.path)

    if not TYPE_CHECKING:  # which would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            refuse_attribute_of(self, name, _INSTEAD.get(name, ""))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"

    def _repr_html_(self) -> str:
        return trial_html(self)


def _require_run(path: str, drain: Callable[[], None] | None) -> None:
    """Raises SMDebugError for a path that does not exist, is a file, or is a folder above runs or
    inside one. Without a timeout, a trial would wait for a mistyped path forever."""
    if "://" in path:
        return
    if os.path.isdir(path) and not _is_above_runs(path) and not _is_inside_run(path):
        return
    try:
        CoreTrial.open(path, "", None, None, 0, drain, False)
    except SMDebugError as found:
        if os.path.exists(path):
            raise
        error = SMDebugError(f"{found}; pass `timeout` to wait for a run that begins later")
        error.code = found.code
        raise error from None


def _is_inside_run(folder: str) -> bool:
    """Whether `folder` holds no files of a run and lies in the folder of one."""
    parent = os.path.dirname(os.path.realpath(folder))
    return not _holds_run(folder) and (_holds_run(parent) or _holds_run(os.path.dirname(parent)))


def _is_above_runs(folder: str) -> bool:
    """Whether `folder` holds no files of a run, but one of its folders does."""
    if _holds_run(folder):
        return False
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return False
    return any(_holds_run(os.path.join(folder, name)) for name in names[:_MAX_FOLDERS])


def _holds_run(folder: str) -> bool:
    return any(os.path.exists(os.path.join(folder, name)) for name in _FILES_OF_A_RUN)
