"""Replaces tape_adapter.py where Keras runs without TensorFlow."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from smdebug.exceptions import SMDebugNotImplementedError, SMDebugTypeError
from smdebug.tensorflow.capture_sink import CaptureSink, PlanView
from smdebug.tensorflow.replica_sessions import ReplicaSessions


class TapeAdapter:
    """A TapeAdapter that has no loops to record, and knows no graphs or replicas."""

    def __init__(
        self,
        sink: CaptureSink,
        plan: PlanView,
        session: ReplicaSessions,
        is_counted_elsewhere: Callable[[], bool],
    ) -> None:
        pass

    def detach(self) -> None:
        """There is nothing to let go of."""

    def watch_tape(self, tape: Any) -> None:
        """Raises SMDebugNotImplementedError: there is no tf.GradientTape without TensorFlow."""
        raise SMDebugNotImplementedError(
            f"wrap_tape takes a tf.GradientTape, and TensorFlow is not imported, found {tape!r}: "
            "Keras on this backend is recorded in fit, evaluate and predict"
        )

    def watch_optimizer(self, optimizer: Any) -> None:
        """Raises SMDebugTypeError for what is no Keras optimizer. The variables of an optimizer are
        recorded in `fit`, wrapped or not."""
        if not callable(getattr(optimizer, "apply_gradients", None)):
            raise SMDebugTypeError(f"wrap_optimizer takes a Keras optimizer, found {optimizer!r}")

    def defer(
        self, method: Callable[..., Any], value: Any, arguments_of: Callable[[Any], tuple]
    ) -> bool:
        """Returns False: no value belongs to a graph."""
        return False

    @contextlib.contextmanager
    def saving(self) -> Iterator[bool]:
        """A context in which a script saves values. Yields True: they are recorded."""
        yield True
