"""`ReplicaSessions`: a session of the core for each replica of a tf.distribute strategy.

Each replica is a worker of the run, named after its device. One process trains all of them, but a
session of the core records one worker. With `include_workers="all"`, each replica has its own
session. With "one", the only session is `worker_0`: it records the tensors of the whole model, and
of the tensors that each replica has, those of the first replica.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from smdebug._core import Session, SessionGroup
from smdebug.log import get_logger


class ReplicaSessions(SessionGroup):
    """The sessions of all replicas, used like one session. Without a strategy there is only the
    first. Worker i is replica i.

    The bound method `make_another()` returns a further session of the same run; None where only the
    first replica is recorded.
    """

    def __init__(self, first: Session, make_another: Callable[[], Session] | None) -> None:
        super().__init__(first)
        # Weak: slots keep their group alive where the garbage collector cannot see it.
        self._make_another = make_another and weakref.WeakMethod(make_another)
        self._strategy: Any = None

    @property
    def is_per_replica(self) -> bool:
        """Whether each replica has its own session."""
        return self.size > 1

    @property
    def records_all(self) -> bool:
        """Whether each replica gets its own session if replicas can be distinguished."""
        return self._make_another is not None

    def follow_strategy(self, strategy: Any) -> None:
        """Gives each replica of `strategy`, a tf.distribute.Strategy or None, its own session from
        the first step of the run on, if all workers are recorded and its replicas can be
        distinguished."""
        if strategy is None or strategy is self._strategy or self._make_another is None:
            return
        from smdebug.tensorflow.replicas import are_replicas_known

        if not are_replicas_known(strategy):
            return
        self._strategy = strategy
        if self.has_begun:
            get_logger().warning(
                "replicas cannot be distinguished: the run began without them; tensors that "
                "each replica has are saved for the first one only"
            )
            return
        devices = strategy.extended.worker_devices
        make_another = self._make_another()
        self.spread([make_another() for _ in devices[1:]], devices)

    def copies(self, variable: Any) -> list[Any]:
        """Returns the variables that the replicas hold for the tf.Variable `variable`; only
        `variable` itself where they share it."""
        if self._strategy is None or not self.is_per_replica:
            return [variable]
        return list(self._strategy.experimental_local_results(variable))
