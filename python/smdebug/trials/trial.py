"""`Trial`: a run as its reader sees it, while it grows or long after."""

from __future__ import annotations

import logging
import os
import re
import time

from smdebug._core import ModeKeys, StepState
from smdebug._core import Trial as CoreTrial
from smdebug.collection import Collection
from smdebug.current_hook import before_refresh
from smdebug.exceptions import (
    MissingCollectionFiles,
    NoMoreData,
    SMDebugError,
    SMDebugNotImplementedError,
    SMDebugTypeError,
    SMDebugValueError,
    StepUnavailable,
    TensorUnavailable,
)
from smdebug.trials.limits import number_from
from smdebug.trials.tensor import Tensor

logger = logging.getLogger("smdebug")

_POLL_SECONDS = 0.1
_REMINDER_SECONDS = 10.0


def create_trial(path=None, name=None, *, out_dir=None, timeout=None, profiler=False, **kwargs):
    """Opens the run at `path` (also called `out_dir`).

    Waits until every worker of the run has said what it saves: at most `timeout` seconds, for
    ever if that is None. `range_steps=(first, end)` leaves global steps outside it unread;
    `cache=True` keeps values in memory once they were read.
    """
    path = path if path is not None else out_dir
    if path is None:
        raise SMDebugTypeError("create_trial needs the path of a run")
    path = os.fspath(path).strip()
    if profiler:
        raise SMDebugNotImplementedError("reading profiler output is not there yet")
    kwargs.pop("output_dir", None)
    return Trial(path, name=name, timeout=timeout, **kwargs)


class Trial:
    """The tensors of one run. Looks for new steps at each question while the run goes on."""

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
        first, end = _checked_range(range_steps)
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
        """The names of the tensors that were saved, sorted.

        Restricted to a `step` of `mode`, to a `mode`, to names in which a `regex` (or one of
        several) is found, or to a `collection`.
        """
        if regex is not None and collection is not None:
            raise SMDebugValueError("tensor_names takes a regex or a collection, not both")
        _check_mode(mode)
        if isinstance(collection, str) or collection is None:
            return self._core.tensor_names(step, mode, _as_list(regex), collection)
        found = set(self._core.tensor_names(step, mode, [], None))
        matching = set()
        if collection.include_regex:
            patterns = list(collection.include_regex)
            matching = set(self._core.tensor_names(step, mode, patterns, None))
        return sorted(matching | (found & set(collection.tensor_names)))

    def tensor(self, tname):
        """The tensor of that name. Raises TensorUnavailable."""
        try:
            return Tensor(self, self._core.tensor(tname))
        except SMDebugError as error:
            if error.code != "not_found":
                raise
            raise TensorUnavailable(tname) from error

    def has_tensor(self, tname):
        return self._core.has_tensor(tname)

    def steps(self, mode=ModeKeys.GLOBAL, show_incomplete_steps=False):
        """Steps of `mode` that every worker has written, or all that anyone has."""
        return self._core.steps(_check_mode(mode), show_incomplete_steps)

    def modes(self):
        """The modes that were seen, in the order of `ModeKeys`; never GLOBAL."""
        return self._core.modes()

    def mode(self, global_step):
        found = self._core.step_id(global_step)
        return found[0] if found else None

    def mode_step(self, global_step):
        found = self._core.step_id(global_step)
        return found[1] if found else None

    def mode_modestep(self, global_step):
        return self._core.step_id(global_step) or (None, None)

    def global_step(self, mode, mode_step):
        return self._core.global_step(_check_mode(mode), mode_step)

    def workers(self):
        return self._core.workers()

    def collections(self):
        """The collections of the run, by name."""
        for collection in self._core.collections():
            self._collections[collection.name] = Collection.from_core(collection)
        return dict(self._collections)

    def collection(self, name):
        """The collection of that name; an empty one if the run has none."""
        return self.collections().get(name) or self._collections.setdefault(name, Collection(name))

    def damage(self):
        """What could not be read and was left out: pairs of a file and a sentence."""
        return self._core.damage()

    # Waiting.

    def has_passed_step(self, step, mode=ModeKeys.GLOBAL):
        return self._core.has_passed_step(step, _check_mode(mode))

    def wait_for_steps(self, required_steps, mode=ModeKeys.GLOBAL):
        """Waits until all the steps can be read.

        Raises StepUnavailable for a step that was passed over, NoMoreData for one after the last
        step of a run that has ended.
        """
        _check_mode(mode)
        for step in required_steps:
            reminder = _Reminder(f"step {step} of run '{self.name}'")
            while (state := self._state_now(step, mode)) == StepState.NOT_YET_AVAILABLE:
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

    def inputs(self, step=None, mode=ModeKeys.GLOBAL):
        names = self.tensor_names(step=step, mode=mode, collection="inputs")
        return self._values_of(names, step, mode)

    def labels(self, step=None, mode=ModeKeys.GLOBAL):
        names = self.tensor_names(step=step, mode=mode, regex="labels*")
        return self._values_of(names, step, mode)

    def predictions(self, step=None, mode=ModeKeys.GLOBAL):
        names = self.tensor_names(step=step, mode=mode, regex="predictions*")
        return self._values_of(names, step, mode)

    def _values_of(self, names, step, mode):
        def suffix(name):
            digits = re.search(r"(\d+)$", name)
            return int(digits.group(1)) if digits else -1

        return [self.tensor(n).value(step, mode=mode) for n in sorted(names, key=suffix)]

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
        return self._core.last_complete_step

    @property
    def last_index_token(self):
        token = self._core.last_index_token
        return os.path.join(self.path, token) if token else None

    @property
    def num_workers(self):
        return self._core.num_workers

    @property
    def worker_set(self):
        return set(self._core.workers())

    def __hash__(self):
        return hash((self.name, self.path))

    def __eq__(self, other):
        if not isinstance(other, Trial):
            return NotImplemented
        return (self.name, self.path) == (other.name, other.path)

    def __repr__(self):
        return f"{type(self).__name__}({self.path!r})"


class LocalTrial(Trial):
    """A run on this machine, by the original's arguments."""

    def __init__(self, name, dirname, **kwargs):
        super().__init__(dirname, name=name, **kwargs)


class S3Trial(Trial):
    """A run in an S3 bucket, by the original's arguments."""

    def __init__(self, name, bucket_name, prefix_name, **kwargs):
        super().__init__(f"s3://{bucket_name}/{prefix_name}", name=name, **kwargs)


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


def _check_mode(mode):
    if not isinstance(mode, ModeKeys):
        raise SMDebugValueError(f"a mode is one of smdebug.modes, found {mode!r}")
    return mode


def _checked_range(range_steps):
    if range_steps is None:
        return None, None
    first, end = range_steps
    for bound in (first, end):
        if bound is not None and (not isinstance(bound, int) or bound < 0):
            raise AssertionError(f"range_steps takes whole numbers from 0, found {range_steps!r}")
    if end is not None and end <= (first or 0):
        raise AssertionError(f"range_steps must not be empty, found {range_steps!r}")
    return first, end


def _as_list(patterns):
    if patterns is None:
        return []
    return [patterns] if isinstance(patterns, str) else list(patterns)
