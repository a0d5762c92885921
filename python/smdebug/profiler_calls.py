"""`ProfilerCalls`: the methods of a hook that the original's profiler takes, without effect.

Scripts, and frameworks that were patched for the original, call them inside the training.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from smdebug._core import ModeKeys
from smdebug.log import get_logger


class ProfilerCalls:
    """Methods that record nothing until smdebug has a profiler. The first call logs that."""

    _has_reported_no_profiler: bool = False

    def record_trace_events(
        self,
        timestamp: float,
        training_phase: str = "",
        op_name: str = "",
        phase: str = "X",
        duration: float = 1,
        **kwargs: Any,
    ) -> None:
        """Has no effect, because smdebug has no profiler yet."""
        self._report_no_profiler("record_trace_events")

    def should_save_dataloader_metrics(self, metrics_name: str) -> bool:
        """Returns False, because smdebug has no profiler yet."""
        return False

    def profiling_start_batch(self, mode: ModeKeys = ModeKeys.TRAIN) -> None:
        """Has no effect, because smdebug has no profiler yet."""
        self._report_no_profiler("profiling_start_batch")

    def profiling_end_batch(self, mode: ModeKeys = ModeKeys.TRAIN) -> None:
        """Has no effect, because smdebug has no profiler yet."""

    def profiling_end(self) -> None:
        """Has no effect, because smdebug has no profiler yet."""

    @contextlib.contextmanager
    def profiler(self, mode: ModeKeys = ModeKeys.TRAIN) -> Iterator[None]:
        """A context without effect, because smdebug has no profiler yet."""
        self._report_no_profiler("profiler")
        yield

    def _report_no_profiler(self, method: str) -> None:
        if not self._has_reported_no_profiler:
            self._has_reported_no_profiler = True
            get_logger().warning(
                "%s has no effect: smdebug has no profiler yet, tensors are recorded as usual",
                method,
            )
