"""`Trial`: a run as its reader sees it, while it grows or long after."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from smdebug._core import ModeKeys, StepState
from smdebug._core import Trial as CoreTrial
from smdebug.analysis.utils import no_refresh
from smdebug.collection import Collection
from smdebug.collection_manager import CollectionManager
from smdebug.current_hook import before_refresh
from smdebug.exceptions import SMDebugValueError
from smdebug.log import get_logger
from smdebug.trials.arguments import (
    checked_mode,
    checked_name,
    checked_patterns,
    checked_range,
    checked_step,
)
from smdebug.trials.arrays import Array
from smdebug.trials.html import trial_html
from smdebug.trials.tables import data_frame
from smdebug.trials.tensor import Tensor

if TYPE_CHECKING:
    import pandas

_logger = get_logger()

GLOBAL = ModeKeys.GLOBAL
Patterns = str | Sequence[str]


class Trial:
    """The tensors of one run. While the run grows, each query looks for new steps first.

    A run has one sequence of global steps; each is also a step of the mode it belongs to. A method
    that takes a `mode` takes steps of that mode; GLOBAL stands for global steps of any mode.
    Unknown modes and steps give empty lists or None. A `mode` that is not one of `smdebug.modes`
    raises SMDebugValueError, a step that is not a whole number SMDebugTypeError.

    `create_trial` documents the arguments; `parallel`, `check` and `index_mode` are ignored.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        name: str | None = None,
        range_steps: Sequence[int | None] | None = None,
        cache: bool = False,
        timeout: float | None = None,
        parallel: bool = True,
        check: bool = False,
        index_mode: bool = True,
    ) -> None:
        self.path: str = os.path.expanduser(str(path).strip())
        self.name: str = name or os.path.basename(self.path.rstrip("/"))
        self._collections: dict[str, Collection] = {}
        first, end = checked_range(range_steps)
        drain = before_refresh(self.path)
        self._core = CoreTrial.open(self.path, self.name, first, end, timeout, drain, bool(cache))

    def tensor_names(
        self,
        show_prefixed_tensors: bool = False,
        *,
        step: int | None = None,
        mode: ModeKeys = GLOBAL,
        regex: Patterns | None = None,
        collection: str | Collection | None = None,
    ) -> list[str]:
        """The sorted names of the saved tensors.

        Restricted to those saved at a `step` of `mode`, or at any step of `mode`; and to names in
        which a `regex` (a pattern, or one of several) is found as by `re.search`, or to a
        `collection` (its name, or a Collection): its tensor names and what its patterns find.

        A tensor of which only reductions were saved counts under its own name;
        `show_prefixed_tensors` has no effect. Raises SMDebugValueError for a pattern that does not
        compile, and if both a regex and a collection are given.
        """
        selection = self._selection(regex, collection)
        if selection == ([], []):
            return []
        patterns, names = selection or ([], [])
        step = None if step is None else checked_step(step)
        return self._core.tensor_names(step, checked_mode(mode), patterns, names)

    def _selection(
        self, regex: Patterns | None, collection: str | Collection | None
    ) -> tuple[list[str], list[str]] | None:
        """The patterns and the names that select tensors, or None for all tensors."""
        if regex is not None and collection is not None:
            raise SMDebugValueError("tensor_names takes a regex or a collection, not both")
        if isinstance(collection, str):
            collection = self.collection(collection)
        if collection is not None:
            return list(collection.include_regex), list(collection.tensor_names)
        patterns = checked_patterns(regex)
        return (patterns, []) if patterns else None

    def tensor(self, tname: str) -> Tensor:
        """The tensor of that name.

        Raises TensorUnavailable, which suggests similar names, and SMDebugTypeError for a name
        that is not text.
        """
        return Tensor(self, self._core.tensor(checked_name(tname)))

    def has_tensor(self, tname: str) -> bool:
        """Whether a tensor of that name was saved so far."""
        return self._core.has_tensor(checked_name(tname))

    def steps(self, mode: ModeKeys = GLOBAL, show_incomplete_steps: bool = False) -> list[int]:
        """The steps of `mode`, in ascending order.

        Those that every worker has written, or that were given up because newer ones are complete;
        with `show_incomplete_steps`, all steps that any worker has written.
        """
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

    def global_step(self, mode: ModeKeys, mode_step: int) -> int | None:
        """The global step of a step of `mode`, or None; for GLOBAL, `mode_step` itself."""
        return self._core.global_step(checked_mode(mode), checked_step(mode_step))

    def workers(self) -> list[str]:
        """The workers that saved anything, sorted: "worker_0", or device names."""
        return self._core.workers()

    def collections(self) -> dict[str, Collection]:
        """The collections of the run, by name.

        Whether their tensors were saved depends on the configuration of the hook.
        """
        for collection in self._core.collections():
            self._collections[collection.name] = collection
        return dict(self._collections)

    @property
    def collection_manager(self) -> CollectionManager:
        """A CollectionManager of the run's collections, as they are now."""
        return CollectionManager(self.collections(), self.num_workers)

    def collection(self, coll_name: str) -> Collection:
        """The collection of that name; a new, empty one if the run has none, with a warning."""
        known = self.collections()
        if coll_name not in known:
            self._collections[coll_name] = Collection(coll_name)
            names = ", ".join(f"'{name}'" for name in known)
            _logger.warning(
                "run '%s' has no collection '%s'; there are %s", self.name, coll_name, names
            )
        return self._collections[coll_name]

    def damage(self) -> list[tuple[str, str]]:
        """The parts of the run that could not be read: pairs of a file and a sentence."""
        return self._core.damage()

    def has_passed_step(self, step: int, mode: ModeKeys = GLOBAL) -> StepState:
        """The state of a step of `mode`.

        AVAILABLE: every worker has written it, or the missing ones were given up.
        NOT_YET_AVAILABLE: it may still come, or be completed. UNAVAILABLE: it was not saved,
        and later steps were.
        """
        return self._core.has_passed_step(checked_step(step), checked_mode(mode))

    def wait_for_steps(
        self, required_steps: Iterable[int], mode: ModeKeys = GLOBAL, timeout: float | None = None
    ) -> None:
        """Waits until all the steps of `mode` can be read, even under `no_refresh`.

        Waits forever, or `timeout` seconds in total, and logs a reminder every ten seconds. Raises
        StepUnavailable for a step that was not saved although later ones were, NoMoreData for one
        after the last step of a run that has ended, and StepNotYetAvailable after the timeout.
        """
        steps = [checked_step(step) for step in required_steps]
        self._core.wait_for_steps(steps, checked_mode(mode), timeout)

    def inputs(self, step: int, mode: ModeKeys = GLOBAL) -> list[Array]:
        """The values of the collection "inputs" at a step of `mode`, ordered by the number that
        their names end with. Empty if none were saved."""
        inputs = self.collections().get("inputs", Collection("inputs"))
        names = self.tensor_names(step=checked_step(step), mode=mode, collection=inputs)
        return self._values_of(names, step, mode)

    def labels(self, step: int, mode: ModeKeys = GLOBAL) -> list[Array]:
        """The values of tensors named like labels at a step of `mode`, ordered as `inputs`."""
        names = self.tensor_names(step=checked_step(step), mode=mode, regex="labels*")
        return self._values_of(names, step, mode)

    def predictions(self, step: int, mode: ModeKeys = GLOBAL) -> list[Array]:
        """The values of tensors named like predictions at a step of `mode`, ordered as `inputs`."""
        names = self.tensor_names(step=checked_step(step), mode=mode, regex="predictions*")
        return self._values_of(names, step, mode)

    def _values_of(self, names: list[str], step: int, mode: ModeKeys) -> list[Array]:
        def number(name: str) -> int:
            digits = re.search(r"(\d+)$", name)
            return int(digits.group(1)) if digits else -1

        return [self.tensor(name).value(step, mode=mode) for name in sorted(names, key=number)]

    def to_pandas(
        self,
        kind: str = "statistics",
        *,
        mode: ModeKeys = GLOBAL,
        regex: Patterns | None = None,
        collection: str | Collection | None = None,
    ) -> pandas.DataFrame:
        """The run as a tidy DataFrame; needs the package pandas.

        `kind` selects what a row is:

        - "names": a tensor in a mode. Columns name, mode, steps (their number), first_step,
          last_step (steps of that mode).
        - "statistics": a tensor at a step from a worker. Columns name, step (global), mode,
          mode_step, worker, dtype, shape, and those of `TensorSummary`: count, nan, positive_inf,
          negative_inf, zeros, min, max, mean, std, l1, l2. Reads the values if the index has no
          statistics.
        - "scalars": the same for tensors of one element, with the column value, a float.

        Contains complete steps of `mode` only; `regex` and `collection` restrict the tensors as in
        `tensor_names`. Text, and tensors of which only reductions or shapes were saved, have no
        row; damaged values are skipped with a warning.

        Raises SMDebugValueError for another kind, SMDebugRuntimeError without pandas.
        """
        names = self.tensor_names(mode=mode, regex=regex, collection=collection)
        with no_refresh(self):
            return data_frame(self, kind, names, mode)

    def refresh(self) -> None:
        """Looks for new steps now."""
        self._core.refresh()

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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"

    def _repr_html_(self) -> str:
        return trial_html(self)
