"""`ReplicaSessions`: a session of the core for each replica of a tf.distribute strategy.

Each replica is a worker of the run, named after its device. One process trains all of them, but a
session of the core records one worker, so there is a session for each replica where
`include_workers` is "all". Where it is "one" there is one session, `worker_0`. That session records
what belongs to the whole model, and the first replica of what each replica has for itself.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from smdebug._core import HookConfig, ModeKeys
from smdebug.hook_status import HookCost, HookStatus
from smdebug.log import get_logger


class _Selection(threading.local):
    """The replica that this thread works for; None means all replicas."""

    replica = None

    def of(self, all_replicas):
        return all_replicas if self.replica is None else [all_replicas[self.replica]]


class ReplicaSlots:
    """The slots of one tensor, one for each worker. Questions are answered by the first."""

    def __init__(self, slots: list[Any], selection: _Selection) -> None:
        self._slots = slots
        self._selection = selection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._selection.of(self._slots)[0], name)

    def put(self, tensor: Any) -> None:
        """Captures a tensor for the worker of the replica that this thread works for, or for every
        worker."""
        for slot in self._selection.of(self._slots):
            slot.put(tensor)

    def put_each(self, tensors: Sequence[Any]) -> None:
        """Captures `tensors`, one of each replica, as `put` does."""
        slots, tensors = self._selection.of(self._slots), self._selection.of(tensors)
        for slot, tensor in zip(slots, tensors, strict=True):
            slot.put(tensor)


class ReplicaSessions:
    """The sessions of all replicas, used like one session.

    Calls about the files of a worker go to every session, all others to the first. Without
    a strategy there is only the first.

    `make_another()` returns a further session of the same run; None where only the first replica is
    recorded.
    """

    def __init__(self, first: Any, make_another: Callable[[], Any] | None) -> None:
        self._sessions = [first]
        self._make_another = make_another
        self._strategy: Any = None
        self._has_begun = False
        self._selection = _Selection()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._selection.of(self._sessions)[0], name)

    # --- replicas ---

    @property
    def is_per_replica(self) -> bool:
        """Whether each replica has its own session."""
        return len(self._sessions) > 1

    @property
    def records_all(self) -> bool:
        """Whether each replica gets its own session where replicas can be distinguished."""
        return self._make_another is not None

    def records(self, replica: int) -> bool:
        """Whether there is a session for the replica of that number: otherwise only replica 0 is
        recorded."""
        return 0 <= replica < len(self._sessions)

    def follow_strategy(self, strategy: Any) -> None:
        """Gives each replica of `strategy` its own session from the first step of the run on, if
        all workers are recorded and its replicas can be distinguished. `strategy` may be None."""
        if strategy is None or strategy is self._strategy or not self.records_all:
            return
        from smdebug.tensorflow.replicas import are_replicas_known

        if not are_replicas_known(strategy):
            return
        if self._has_begun:
            get_logger().warning(
                "replicas cannot be distinguished: the run began without them; of what each "
                "replica has for itself, only the first replica is saved"
            )
        else:
            self._make_sessions(strategy.extended.worker_devices)
        self._strategy = strategy

    def _make_sessions(self, devices):
        self._sessions += [self._make_another() for _ in devices[1:]]
        for number, (session, device) in enumerate(zip(self._sessions, devices, strict=True)):
            session.set_worker(number, len(devices), device)
            session.set_mode(self._sessions[0].mode)

    @contextlib.contextmanager
    def for_replica(self, replica: int | None) -> Iterator[None]:
        """A context in which the steps and tensors of this thread belong to one replica; None means
        to all."""
        before, self._selection.replica = self._selection.replica, replica
        try:
            yield
        finally:
            self._selection.replica = before

    def copies(self, variable: Any) -> list[Any]:
        """The variables that the replicas hold for the tf.Variable `variable`; only `variable`
        itself where they share it."""
        if not self.is_per_replica:
            return [variable]
        return list(self._strategy.experimental_local_results(variable))

    # --- for the replica that this thread works for, or all of them ---

    def is_next_due(self, *of: str) -> bool:
        """Whether the next step saves anything, or the tensor `of`: its name and collection."""
        return self._selection.of(self._sessions)[0].is_next_due(*of)

    def begin_step(self) -> bool:
        """Begins a step and returns whether it saves anything."""
        self._has_begun = True
        if not self.is_per_replica:
            return self._sessions[0].begin_step()
        return self._call_selected("begin_step")[0]

    def before_update(self) -> None:
        """Lets the rules judge the step so far."""
        self._call_selected("before_update")

    def end_step(self) -> None:
        """Ends the step, which can be read soon."""
        self._call_selected("end_step")

    def bind_to_current_thread(self) -> None:
        """Makes this thread the owner of the open step."""
        self._call_selected("bind_to_current_thread")

    def save_scalar(self, *arguments: Any) -> None:
        """Saves a float, see Session.save_scalar of the core."""
        self._call_selected("save_scalar", *arguments)

    def save_integer(self, *arguments: Any) -> None:
        """Saves an int, see Session.save_integer of the core."""
        self._call_selected("save_integer", *arguments)

    def save_tensor(self, *arguments: Any) -> None:
        """Saves a tensor, see Session.save_tensor of the core."""
        self._call_selected("save_tensor", *arguments)

    # --- for all replicas ---

    def tensor(self, name: str, collections: Sequence[str] = ()) -> Any:
        """The slot of a tensor, which belongs to `collections` beside those that its name
        matches."""
        slots = [session.tensor(name, list(collections)) for session in self._sessions]
        return ReplicaSlots(slots, self._selection) if self.is_per_replica else slots[0]

    def set_worker(self, rank: int, world_size: int) -> None:
        """Names the worker, unless replicas are named after their devices."""
        if not self.is_per_replica:
            self._sessions[0].set_worker(rank, world_size)

    def set_config(self, config: HookConfig) -> None:
        """Hands a configuration over, from the next step on."""
        self._call_all("set_config", config)

    def set_mode(self, mode: ModeKeys) -> None:
        """Sets the mode of the next steps."""
        self._call_all("set_mode", mode)

    def pause(self) -> None:
        """Records nothing from the next step on."""
        self._call_all("pause")

    def resume(self) -> None:
        """Records again from the next step on."""
        self._call_all("resume")

    def export_collections(self) -> None:
        """Writes the collections file of each worker."""
        self._call_all("export_collections")

    def flush(self) -> None:
        """Returns when every step that has ended can be read."""
        self._call_all("flush")

    def after_fork_in_child(self) -> None:
        """Makes the sessions harmless in a forked child."""
        self._call_all("after_fork_in_child")

    def status(self) -> HookStatus:
        """The status of the first session that failed, or of the first session, with the tensors of
        all sessions."""
        return HookStatus.merged(self._call_all("status"))

    def cost(self) -> HookCost:
        """The cost of all sessions together."""
        return HookCost.merged(self._call_all("cost"))

    def close(self) -> None:
        """Ends the run once the steps of all workers are written: the first session that closes
        marks the end."""
        try:
            if self.is_per_replica:
                self._call_all("end_step")
                self.flush()
        finally:
            self._call_all("close")

    def _call_selected(self, method, *arguments):
        return _call_each(self._selection.of(self._sessions), method, arguments)

    def _call_all(self, method, *arguments):
        return _call_each(self._sessions, method, arguments)


def _call_each(sessions, method, arguments):
    """The results of all sessions. Every session is called, even if one fails; then the first
    failure is raised."""
    results, failures = [], []
    for session in sessions:
        try:
            results.append(getattr(session, method)(*arguments))
        except Exception as failure:
            failures.append(failure)
    if failures:
        raise failures[0]
    return results
