"""`SessionAdapter`: records the runs of a session of TensorFlow 1 for a hook.

A run is a step. Variables are read before the run, so that they have the initial values of the
step. Tensors are fetched with the run if this does not change its computation (session_graph.py).
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from smdebug.log import get_logger
from smdebug.tensorflow.capture_sink import CaptureContext
from smdebug.tensorflow.session.optimizers import SessionOptimizers
from smdebug.tensorflow.session.session_graph import SessionGraph
from smdebug.tensorflow.session.session_tensors import Fetched, SessionTensors

_logger = get_logger()

# The number of tensor names in a warning.
_NAMES_IN_WARNING = 5


class SessionAdapter:
    """Follows the graph of a session, and records the results of its runs.

    `bias_patterns()` returns regular expressions for the names of variables that are biases.
    """

    def __init__(self, context: CaptureContext, bias_patterns: Callable[[], list[str]]) -> None:
        self.optimizers: SessionOptimizers = SessionOptimizers()
        self._sink, self._plan, self._session = context
        self._bias_patterns = bias_patterns
        self._graph: SessionGraph | None = None
        self._tensors: SessionTensors | None = None
        self._described: tuple[Any, int] | None = None  # graph and version of the plan of _tensors
        self._fetched: list[Fetched] = []
        self._missed: dict[str, bool] = {}  # name of a due tensor -> whether no run returned it

    def computes_update(self, graph: Any, arguments: Any) -> bool:
        """Returns whether an optimizer acts in a run with these `arguments`, a SessionRunArgs."""
        updates = self.optimizers.updates(graph)
        if not updates:
            return False
        self._look_at(graph)
        computed = self._graph.computed(arguments.fetches, arguments.feed_dict or {})
        return not updates.isdisjoint(computed)

    def follow(self, graph: Any) -> None:
        """Finds the tensors of `graph` to save, if the graph or the configuration is new."""
        self._look_at(graph)
        current = (self._graph, self._session.plan_version)
        if self._described != current:
            self._described = current
            self._sink.offer_graph(graph)
            self._tensors = SessionTensors(
                self._session,
                graph,
                self._graph,
                self.optimizers,
                self._plan.tensor_patterns(),
                self._bias_patterns(),
            )

    def before_run(self, run_context: Any) -> Any:
        """Begins a step. Returns the fetches to add to the run: a SessionRunArgs or None."""
        self._fetched = []
        if not self._sink.is_recording:
            return None
        with self._sink.isolate_errors("before a session's run"):
            self._sink.offer_graph(run_context.session.graph)
            if self._sink.begin_step():
                self.follow(run_context.session.graph)
                self._put_variables(run_context.session)
                self._fetched = self._due_tensors(run_context.original_args)
        if not self._fetched:
            return None
        return tf.compat.v1.train.SessionRunArgs([each.tensor for each in self._fetched])

    def after_run(self, results: Any) -> None:
        """Saves `results`, those of the fetches that `before_run` returned, and publishes the
        step."""
        with self._sink.isolate_errors("after a session's run"):
            for each, value in zip(self._fetched, results or [], strict=True):
                each.put(value)
            self._session.end_step()
        self._fetched = []

    def report_missed(self) -> None:
        """Logs the tensors that were due, but that no run has returned."""
        missed = sorted(name for name, is_missed in self._missed.items() if is_missed)
        self._missed = {}
        if missed:
            _logger.warning(
                "%d tensors are not saved, such as '%s': no run computed them, and fetching them "
                "would have had side effects. They depend on a placeholder that was not fed, on "
                "random numbers or a queue, or are inside a branch or loop",
                len(missed),
                "', '".join(missed[:_NAMES_IN_WARNING]),
            )

    def _look_at(self, graph):
        if self._graph is None or not self._graph.is_of(graph):
            self._graph = SessionGraph(graph)

    def _put_variables(self, session):
        due = [each for each in self._tensors.variables if each.slot.is_due()]
        if not due:
            return
        try:
            values = session.run([each.tensor for each in due])
        except tf.errors.FailedPreconditionError:  # they have no values yet
            return
        for each, value in zip(due, values, strict=True):
            each.put(value)

    def _due_tensors(self, arguments):
        feeds = arguments.feed_dict or {}
        found = self._tensors.of_run(arguments.fetches, feeds)
        due = {each.name: each for each in found if each.slot.is_due()}
        self._missed.update(dict.fromkeys(due, False))
        for each in self._tensors.tensors:
            if each.name not in self._missed and each.is_due():
                self._missed[each.name] = True
        return list(due.values())
