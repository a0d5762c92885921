"""The replicas of a tf.distribute strategy: each is a worker of the run, named after its device.

One process trains all of them, and a session of the core records one worker: so there is a session
for each replica where `include_workers` is "all". Where it is "one" there is one session,
`worker_0`, which records what the model shows as a whole and, of what replicas have of their own,
that of the first.
"""

import contextlib
import threading
from dataclasses import replace

import tensorflow as tf

from smdebug.hook_status import HookCost, HookStatus
from smdebug.log import get_logger

_COUNTS_OF_TENSORS = (
    "tensors",
    "records",
    "bytes",
    "removed_steps",
    "replaced_tensors",
    "dropped_tensors",
    "dropped_bytes",
)
_COSTS = (
    "step_thread_seconds",
    "wait_seconds",
    "writer_cpu_seconds",
    "bytes_captured",
    "bytes_written",
)


def are_replicas_known(strategy):
    """Whether a strategy has several replicas that can be told apart: those of one process, which
    mirror their variables."""
    is_mirrored = isinstance(strategy, tf.distribute.MirroredStrategy)
    return is_mirrored and strategy.num_replicas_in_sync > 1


def replica_here():
    """The number of the replica that this thread runs or traces: None where there are no several,
    -1 where it is not known."""
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return None
    number = tf.get_static_value(tf.convert_to_tensor(context.replica_id_in_sync_group))
    return -1 if number is None else int(number)


def device_of(replica):
    """The name of the device of a replica of the present strategy."""
    return tf.distribute.get_strategy().extended.worker_devices[replica]


class _Chosen(threading.local):
    """The replica that this thread speaks for; None: all."""

    replica = None

    def among(self, each_has):
        return each_has if self.replica is None else [each_has[self.replica]]


class ReplicaSites:
    """The places of one tensor under each worker. What the first says holds for all."""

    def __init__(self, sites, chosen):
        self._sites = sites
        self._chosen = chosen

    def __getattr__(self, name):
        return getattr(self._chosen.among(self._sites)[0], name)

    def put(self, tensor):
        """Captures a tensor under the worker of the replica that this thread speaks for, else under
        every worker."""
        for site in self._chosen.among(self._sites):
            site.put(tensor)

    def put_each(self, tensors):
        """The same with a tensor for each replica."""
        sites, tensors = self._chosen.among(self._sites), self._chosen.among(tensors)
        for site, tensor in zip(sites, tensors, strict=True):
            site.put(tensor)


class ReplicaSessions:
    """The sessions of all replicas, used like one: what concerns a worker's files is told to each,
    anything else to the first, which is the only one without a strategy."""

    def __init__(self, first):
        self._sessions = [first]
        self._strategy = None
        self._has_begun = False
        self._chosen = _Chosen()

    def __getattr__(self, name):
        return getattr(self._chosen.among(self._sessions)[0], name)

    # --- replicas ---

    @property
    def are_apart(self):
        """Whether each replica has a session of its own."""
        return len(self._sessions) > 1

    def records(self, replica):
        """Whether a replica has a session: without one for each, the first has."""
        return 0 <= replica < len(self._sessions)

    def spread_over(self, strategy, make_another):
        """Before the first step: from now on there is a session for each replica. `make_another()`
        gives a further session of the same run."""
        if strategy is self._strategy:
            return
        if self._has_begun:
            get_logger().warning(
                "replicas are not told apart: the run has begun without them; of what each has of "
                "its own, that of the first is saved"
            )
        else:
            self._make_sessions(strategy.extended.worker_devices, make_another)
        self._strategy = strategy

    def _make_sessions(self, devices, make_another):
        self._sessions += [make_another() for _ in devices[1:]]
        for number, (session, device) in enumerate(zip(self._sessions, devices, strict=True)):
            session.set_worker(number, len(devices), device)
            session.set_mode(self._sessions[0].mode)

    @contextlib.contextmanager
    def only(self, replica):
        """Within it this thread speaks for one replica; None: for all."""
        before, self._chosen.replica = self._chosen.replica, replica
        try:
            yield
        finally:
            self._chosen.replica = before

    def copies(self, variable):
        """What each replica holds of a tf.Variable: a list of variables, of `variable` alone where
        they share it."""
        if not self.are_apart:
            return [variable]
        return list(self._strategy.experimental_local_results(variable))

    # --- told to those that this thread speaks for ---

    def is_next_due(self, *of):
        return self._chosen.among(self._sessions)[0].is_next_due(*of)

    def begin_step(self):
        self._has_begun = True
        if not self.are_apart:
            return self._sessions[0].begin_step()
        return self._told("begin_step")[0]

    def before_update(self):
        self._told("before_update")

    def end_step(self):
        self._told("end_step")

    def bind_to_current_thread(self):
        self._told("bind_to_current_thread")

    def save_scalar(self, *arguments):
        self._told("save_scalar", *arguments)

    def save_integer(self, *arguments):
        self._told("save_integer", *arguments)

    def save_tensor(self, *arguments):
        self._told("save_tensor", *arguments)

    # --- told to all ---

    def tensor(self, name, collections=()):
        sites = [session.tensor(name, list(collections)) for session in self._sessions]
        return ReplicaSites(sites, self._chosen) if self.are_apart else sites[0]

    def set_worker(self, rank, world_size):
        if not self.are_apart:  # else they have their names
            self._sessions[0].set_worker(rank, world_size)

    def set_config(self, config):
        self._all_told("set_config", config)

    def set_mode(self, mode):
        self._all_told("set_mode", mode)

    def pause(self):
        self._all_told("pause")

    def resume(self):
        self._all_told("resume")

    def export_collections(self):
        self._all_told("export_collections")

    def flush(self):
        self._all_told("flush")

    def after_fork_in_child(self):
        self._all_told("after_fork_in_child")

    def status(self):
        """That of the first session that failed, else of the first; tensors are those of all."""
        found = self._all_told("status")
        worst = next((each for each in found if each.error), found[0])
        skipped = {name: why for each in found for name, why in each.skipped.items()}
        return replace(
            HookStatus.from_core(worst), skipped=skipped, **_added_up(found, _COUNTS_OF_TENSORS)
        )

    def cost(self):
        """That of all sessions together."""
        found = self._all_told("cost")
        return replace(HookCost.from_core(found[0]), **_added_up(found, _COSTS))

    def close(self):
        """Ends the run when the steps of all workers are written: the first that closes writes the
        mark of the end."""
        try:
            if self.are_apart:
                self._all_told("end_step")
                self.flush()
        finally:
            self._all_told("close")

    def _told(self, method, *arguments):
        return _each(self._chosen.among(self._sessions), method, arguments)

    def _all_told(self, method, *arguments):
        return _each(self._sessions, method, arguments)


def _added_up(found, fields):
    return {field: sum(getattr(each, field) for each in found) for field in fields}


def _each(sessions, method, arguments):
    """What each session answers. All are asked, also where one fails; then the first failure is
    raised."""
    answers, failures = [], []
    for session in sessions:
        try:
            answers.append(getattr(session, method)(*arguments))
        except Exception as failure:
            failures.append(failure)
    if failures:
        raise failures[0]
    return answers
