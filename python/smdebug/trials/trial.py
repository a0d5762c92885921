"""`Trial`: a run as its reader sees it, while it grows or long after."""

from __future__ import annotations

import os
import re
import time

from smdebug._core import ModeKeys, StepState
from smdebug._core import Trial as CoreTrial
from smdebug.analysis.utils import no_refresh
from smdebug.collection import Collection
from smdebug.collection_manager import CollectionManager
from smdebug.current_hook import before_refresh
from smdebug.exceptions import (
    MissingCollectionFiles,
    NoMoreData,
    SMDebugError,
    SMDebugNotImplementedError,
    SMDebugTypeError,
    SMDebugValueError,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailable,
)
from smdebug.log import get_logger
from smdebug.trials.arguments import checked_mode, checked_range, checked_step
from smdebug.trials.html import trial_html
from smdebug.trials.limits import number_from
from smdebug.trials.location import is_s3
from smdebug.trials.tables import data_frame
from smdebug.trials.tensor import Tensor

logger = get_logger()

_POLL_SECONDS = 0.1
_REMINDER_SECONDS = 10.0


def create_trial(
    path=None,
    name=None,
    profiler=False,
    output_dir="/opt/ml/processing/outputs/",
    *,
    out_dir=None,
    range_steps=None,
    check=False,
    index_mode=True,
    cache=False,
    timeout=None,
    parallel=True,
):
    """Opens the run at `path` (also called `out_dir`): a str or a path, `~` for one's home.

    Waits until every worker of the run has said what it saves: at most `timeout` seconds, for
    ever if that is None, and says each ten seconds what for. `name` is the last part of the path
    unless given. `range_steps=(first, end)` leaves global steps outside [first, end) unread,
    either may be None; `cache=True` keeps values in memory once they were read.

    `check`, `index_mode` and `parallel` of the original change nothing: checksums are always
    verified, and runs are always read by their index. `output_dir` is where reports of a profiler
    trial go.

    Raises SMDebugError with the code "not_found" where no run has appeared in time,
    MissingCollectionFiles for a run that ended without a collections file of each worker,
    AssertionError for a range of steps that makes no sense, and SMDebugNotImplementedError for
    `profiler=True` and for addresses in S3, which cannot be read yet.
    """
    path = path if path is not None else out_dir
    if path is None:
        raise SMDebugTypeError("create_trial needs the path of a run")
    path = os.fspath(path).strip()
    if not path:
        raise SMDebugValueError("create_trial needs the path of a run, found an empty one")
    if profiler:
        raise SMDebugNotImplementedError("reading profiler output is not there yet")
    options = {"range_steps": range_steps, "cache": cache, "timeout": timeout}
    in_s3, bucket, prefix = is_s3(path)
    if in_s3:
        return S3Trial(name, bucket, prefix, **options)
    return LocalTrial(name, path, **options)


class Trial:
    """The tensors of one run. Looks for new steps at each question while the run goes on.

    A run has one sequence of global steps; each is also a step of the mode it was made in. Where
    a question takes a `mode`, its steps are of that mode: GLOBAL means global steps of any mode.
    Modes that were never seen and steps that are not there give empty lists or None; a mode that
    is none raises SMDebugValueError, a step that is no whole number SMDebugTypeError.
    """

    def __init__(
        self,
        path,
        name=None,
        range_steps=None,
        cache=False,
        timeout=None,
        parallel=True,
        check=False,
        index_mode=True,
    ):
        self.path = os.path.expanduser(str(path).strip())
        self.name = name or os.path.basename(self.path.rstrip("/"))
        first, end = checked_range(range_steps)
        deadline = None if timeout is None else time.monotonic() + timeout
        options = {
            "first_step": first,
            "end_step": end,
            "timeout_seconds": 0.0,
            "before_refresh": before_refresh(self.path),
            "incomplete_step_window": number_from("SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW", 1000),
            "end_delay_seconds": float(number_from("SMDEBUG_TRAINING_END_DELAY_REFRESH", 1)),
            "keep_values": bool(cache),
        }
        reminder = _Reminder(f"a run at '{self.path}'")
        self._core = self._open(options, deadline, reminder)
        self._wait_for_workers(deadline, reminder)
        self._collections = {}

    def _open(self, options, deadline, reminder):
        while True:
            try:
                return CoreTrial.open(self.path, self.name, **options)
            except SMDebugError as error:
                if error.code != "not_found" or _is_over(deadline):
                    raise
            reminder.tick()
            time.sleep(_POLL_SECONDS)

    def _wait_for_workers(self, deadline, reminder):
        while len(self._core.workers()) < self._core.num_workers:
            if self._core.has_ended():
                raise MissingCollectionFiles()
            if _is_over(deadline):
                logger.warning(
                    "run '%s': %d of %d workers have written their collections",
                    self.name,
                    len(self._core.workers()),
                    self._core.num_workers,
                )
                return
            reminder.tick()
            time.sleep(_POLL_SECONDS)
            self._core.refresh()

    # What the run holds.

    def tensor_names(
        self,
        show_prefixed_tensors=False,
        *,
        step=None,
        mode=ModeKeys.GLOBAL,
        regex=None,
        collection=None,
    ):
        """The names of the tensors that were saved: a sorted list of str.

        Restricted to those saved at a `step` of `mode`, or in any step of `mode`; and to names in
        which a `regex` (a str, or one of a list) is found as by `re.search`, or to a `collection`
        (its name, or a Collection): its tensor names and what its patterns find.

        A tensor of which only reductions were saved counts by its own name;
        `show_prefixed_tensors` changes nothing. Raises SMDebugValueError for a pattern that does
        not compile, and for a regex and a collection at once.
        """
        if regex is not None and collection is not None:
            raise SMDebugValueError("tensor_names takes a regex or a collection, not both")
        checked_mode(mode)
        step = None if step is None else checked_step(step)
        if collection is None:
            return self._core.tensor_names(step, mode, _as_patterns(regex), None)
        if isinstance(collection, str):
            collection = self.collection(collection)
        found = set(self._core.tensor_names(step, mode, [], None))
        matching = set()
        if collection.include_regex:
            patterns = list(collection.include_regex)
            matching = set(self._core.tensor_names(step, mode, patterns, None))
        return sorted(matching | (found & set(collection.tensor_names)))

    def tensor(self, tname):
        """The `Tensor` of that name.

        Raises TensorUnavailable, which offers the nearest names; SMDebugTypeError for a name that
        is no text.
        """
        try:
            return Tensor(self, self._core.tensor(_checked_name(tname)))
        except SMDebugError as error:
            if error.code != "not_found":
                raise
            raise TensorUnavailable(tname) from error

    def has_tensor(self, tname):
        """Whether a tensor of that name was saved so far."""
        return self._core.has_tensor(_checked_name(tname))

    def steps(self, mode=ModeKeys.GLOBAL, show_incomplete_steps=False):
        """The steps of `mode`, ascending: a list of int.

        Those that every worker has written, or that are given up on because newer ones are
        complete; with `show_incomplete_steps`, all that any worker has written.
        """
        return self._core.steps(checked_mode(mode), show_incomplete_steps)

    def modes(self):
        """The modes that were seen, a list of `smdebug.modes` in their order; never GLOBAL."""
        return self._core.modes()

    def mode(self, global_step):
        """The mode that a global step was made in, or None for a step that is not there."""
        return self.mode_modestep(global_step)[0]

    def mode_step(self, global_step):
        """The number of a global step in its mode, or None for a step that is not there."""
        return self.mode_modestep(global_step)[1]

    def mode_modestep(self, global_step):
        """(mode, step of that mode) of a global step; (None, None) if it is not there."""
        return self._core.step_id(checked_step(global_step)) or (None, None)

    def global_step(self, mode, mode_step):
        """The global step of a step of `mode`, or None; for GLOBAL, `mode_step` itself."""
        return self._core.global_step(checked_mode(mode), checked_step(mode_step))

    def workers(self):
        """The workers that saved anything, a sorted list of str: "worker_0", or device names."""
        return self._core.workers()

    def collections(self):
        """The collections of the run: a dict from name to `Collection`.

        Their tensors were not necessarily saved: that was up to the hook's configuration.
        """
        for collection in self._core.collections():
            self._collections[collection.name] = Collection.from_core(collection)
        return dict(self._collections)

    @property
    def collection_manager(self):
        """A CollectionManager of the run's collections, as they are now."""
        return CollectionManager(self.collections(), self.num_workers)

    def collection(self, coll_name):
        """The collection of that name; a new empty one, which is logged, if the run has none."""
        known = self.collections()
        if coll_name not in known:
            self._collections[coll_name] = Collection(coll_name)
            names = ", ".join(f"'{name}'" for name in known)
            logger.warning(
                "run '%s' has no collection '%s'; there are %s", self.name, coll_name, names
            )
        return self._collections[coll_name]

    def damage(self):
        """What could not be read and was left out: pairs of a file and a sentence."""
        return self._core.damage()

    # Waiting.

    def has_passed_step(self, step, mode=ModeKeys.GLOBAL):
        """The `smdebug.core.tensor.StepState` of a step of `mode`.

        AVAILABLE: every worker has written it, or those that did not are given up on.
        NOT_YET_AVAILABLE: it may still come, or be completed. UNAVAILABLE: it was passed over.
        """
        return self._core.has_passed_step(checked_step(step), checked_mode(mode))

    def wait_for_steps(self, required_steps, mode=ModeKeys.GLOBAL, timeout=None):
        """Waits until all the steps of `mode` can be read, also where `no_refresh` is on.

        Waits for ever, or for `timeout` seconds in all, and says each ten seconds for what.
        Raises StepUnavailable for a step that was passed over, NoMoreData for one after the last
        step of a run that has ended, StepNotYetAvailable when the time is over.
        """
        checked_mode(mode)
        deadline = None if timeout is None else time.monotonic() + timeout
        for step in map(checked_step, required_steps):
            reminder = _Reminder(f"step {step} of run '{self.name}'")
            while (state := self._state_now(step, mode)) == StepState.NOT_YET_AVAILABLE:
                if _is_over(deadline):
                    raise StepNotYetAvailable(step, mode)
                reminder.tick()
                time.sleep(_POLL_SECONDS)
            if state == StepState.UNAVAILABLE:
                self._raise_never(step, mode)

    def _state_now(self, step, mode):
        """The state after looking for new steps, even where queries do not."""
        self._core.refresh()
        return self._core.has_passed_step(step, mode)

    def _raise_never(self, step, mode):
        known = self._core.steps(mode, True)
        last = known[-1] if known else -1
        if self.loaded_all_steps and step >= last:
            raise NoMoreData(step, mode, last)
        raise StepUnavailable(step, mode)

    # Values of what a model takes and gives.

    def inputs(self, step, mode=ModeKeys.GLOBAL):
        """The values of the collection "inputs" at a step of `mode`: a list of numpy arrays.

        In the order of the numbers that their names end with. Empty where none were saved.
        """
        inputs = self.collections().get("inputs", Collection("inputs"))
        names = self.tensor_names(step=checked_step(step), mode=mode, collection=inputs)
        return self._values_of(names, step, mode)

    def labels(self, step, mode=ModeKeys.GLOBAL):
        """The values of tensors named like labels at a step of `mode`, as `inputs`."""
        names = self.tensor_names(step=checked_step(step), mode=mode, regex="labels*")
        return self._values_of(names, step, mode)

    def predictions(self, step, mode=ModeKeys.GLOBAL):
        """The values of tensors named like predictions at a step of `mode`, as `inputs`."""
        names = self.tensor_names(step=checked_step(step), mode=mode, regex="predictions*")
        return self._values_of(names, step, mode)

    def _values_of(self, names, step, mode):
        def suffix(name):
            digits = re.search(r"(\d+)$", name)
            return int(digits.group(1)) if digits else -1

        return [self.tensor(n).value(step, mode=mode) for n in sorted(names, key=suffix)]

    # Tables.

    def to_pandas(self, kind="statistics", *, mode=ModeKeys.GLOBAL, regex=None, collection=None):
        """The run as a tidy pandas.DataFrame; needs the package pandas.

        `kind` says what a row is:

        - "names": a tensor in a mode. Columns name, mode, steps (how many), first_step, last_step
          (steps of that mode).
        - "statistics": a tensor at a step from a worker. Columns name, step (global), mode,
          mode_step, worker, dtype, shape, and those of `TensorSummary`: count, nan, positive_inf,
          negative_inf, zeros, min, max, mean, std, l1, l2. Where the index has no statistics, the
          values are read.
        - "scalars": the same for tensors of one element, with the column value, a float.

        Only complete steps are in it, those of `mode`; `regex` and `collection` restrict the
        tensors as in `tensor_names`. Where only reductions or shapes were saved, or text, there
        are no numbers and so no row; what is damaged is left out and logged.

        Raises SMDebugValueError for another kind, SMDebugRuntimeError without pandas.
        """
        names = self.tensor_names(mode=mode, regex=regex, collection=collection)
        with no_refresh(self):
            return data_frame(self, kind, names, mode)

    # State.

    def refresh(self):
        """Looks for new steps now."""
        self._core.refresh()

    @property
    def dynamic_refresh(self):
        """Whether questions look for new steps first."""
        return self._core.is_refreshing

    @dynamic_refresh.setter
    def dynamic_refresh(self, value):
        self._core.is_refreshing = bool(value)

    @property
    def loaded_all_steps(self):
        """True once the run has ended and everything of it is known."""
        return self._core.has_ended()

    @property
    def last_complete_step(self):
        """The last global step that every worker has written, or -1."""
        return self._core.last_complete_step

    @property
    def last_index_token(self):
        """The path of the index file from which the original would list next, or None."""
        token = self._core.last_index_token
        return os.path.join(self.path, token) if token else None

    @property
    def num_workers(self):
        """How many workers the run says it has."""
        return self._core.num_workers

    @property
    def worker_set(self):
        """The set of `workers()`."""
        return set(self._core.workers())

    def __hash__(self):
        return hash((self.name, self.path))

    def __eq__(self, other):
        if not isinstance(other, Trial):
            return NotImplemented
        return (self.name, self.path) == (other.name, other.path)

    def __repr__(self):
        return f"{type(self).__name__}({self.path!r})"

    def _repr_html_(self):
        return trial_html(self)


class LocalTrial(Trial):
    """A run on this machine, by the original's arguments."""

    def __init__(
        self,
        name,
        dirname,
        range_steps=None,
        parallel=True,
        check=False,
        index_mode=True,
        cache=False,
        timeout=None,
    ):
        super().__init__(dirname, name, range_steps=range_steps, cache=cache, timeout=timeout)


class S3Trial(Trial):
    """A run in an S3 bucket, by the original's arguments. Raises SMDebugNotImplementedError."""

    def __init__(
        self,
        name,
        bucket_name,
        prefix_name,
        range_steps=None,
        check=False,
        index_mode=True,
        cache=False,
        timeout=None,
    ):
        raise SMDebugNotImplementedError(
            f"cannot open 's3://{bucket_name}/{prefix_name}': runs in S3 cannot be read yet; copy "
            "the run to this machine and open the copy"
        )


class _Reminder:
    """Says each ten seconds that something is still waited for."""

    def __init__(self, what):
        self._what = what
        self._next = time.monotonic() + _REMINDER_SECONDS

    def tick(self):
        if time.monotonic() >= self._next:
            self._next += _REMINDER_SECONDS
            logger.warning("still waiting for %s", self._what)


def _is_over(deadline):
    return deadline is not None and time.monotonic() >= deadline


def _as_patterns(regex):
    if regex is None:
        return []
    patterns = [regex] if isinstance(regex, str) else list(regex)
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise SMDebugTypeError(f"a regex is text, found {pattern!r}")
    return patterns


def _checked_name(name):
    if not isinstance(name, str):
        raise SMDebugTypeError(f"a tensor's name is text, found {name!r}")
    return name
