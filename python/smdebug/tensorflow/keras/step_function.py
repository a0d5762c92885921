"""`StepFunction`: a model's train, test or predict function, and how tensors leave it.

Keras traces the function once and calls it for each batch. A StepFunction has up to two functions:
a lean one, which Keras would also use without the hook, and a capturing one, whose result also
holds the tensors that the hook saves (function_pair.py, capture_join.py). The lean one runs every
batch. To TensorFlow, a graph with more results is a different program: it may fuse operations
differently, and therefore round differently. When a tensor is due, the capturing function runs
after the lean one on the same batch, and its changes are undone (batch_replay.py).

A graph that cannot run twice has only one function, which always returns the captured tensors.
"""

from contextlib import AbstractContextManager
from typing import Any, Protocol

from smdebug._core import ModeKeys
from smdebug.log import get_logger
from smdebug.tensorflow.keras.capture_join import CAPTURES, CaptureJoin
from smdebug.tensorflow.keras.function_pair import FunctionPair
from smdebug.tensorflow.keras.step_backend import NAME, backend, why_closed
from smdebug.tensorflow.keras.step_trace import LayerCalls, StepTrace, TraceSettings, collecting
from smdebug.tensorflow.private_names import as_traced, left_alone
from smdebug.tensorflow.replaced_method import ReplacedMethod

IS_FUNCTIONAL = NAME == "jax"  # a step takes and returns all state
MODES = {"train": ModeKeys.TRAIN, "test": ModeKeys.EVAL, "predict": ModeKeys.PREDICT}


class BatchObserver(Protocol):
    """Receives the events of the step functions of models: see KerasAdapter."""

    def expects(self, function: "StepFunction") -> bool:
        """Returns whether to record the coming run of Keras."""

    def release(self, model: Any) -> None:
        """Removes the hook from `model`, which Keras runs without it."""

    def batch_begins(self, function: "StepFunction") -> bool:
        """Returns whether the coming batch must capture tensors inside its graph."""

    def batch_ended(
        self, function: "StepFunction", result: Any, captures: Any, state: Any = None
    ) -> None:
        """Saves the step of a batch that is done."""

    def wants_data(self, function: "StepFunction") -> bool:
        """Returns whether the coming batch, if it is saved, is measured."""

    def losses_read(self, function: "StepFunction") -> AbstractContextManager[None]:
        """Returns a context in which the losses of a step are read, if it is traced."""

    def step_traced(self, function: "StepFunction") -> None:
        """Notes that a step was traced, or has run as eager code."""

    def measured_tensors(self, function: "StepFunction", trace: StepTrace) -> dict[str, Any]:
        """Returns the tensors of a trace that are measured, by name."""

    def batches_are_over(self) -> None:
        """Releases all models, because an exception passes through Keras."""


class StepFunction:
    """One of the three functions of one model. `kind` is "train", "test" or "predict"."""

    def __init__(self, observer: BatchObserver, settings: TraceSettings, kind: str) -> None:
        self.kind = kind
        self.mode: ModeKeys = MODES[kind]
        self.model: Any = settings.model
        self._observer = observer
        self._settings = settings
        self._sink = settings.context.sink
        self._saver = settings.saver
        self._functions = FunctionPair(self.model, kind, self._dispatch)
        self._replay = backend.make_replay(self.model)
        self._join = CaptureJoin(kind, settings.saver)
        self._replaced: list[ReplacedMethod] = []
        self._is_installed = False
        self._is_capturing: bool | None = None  # in a batch: whether it must capture tensors
        self._data: Any = None  # in a batch: the argument of the function
        self._replicas: Any = None  # in a call under a strategy: its ReplicaCaptures

    # --- in and out ---

    def install(self) -> None:
        """Replaces the model's own functions, on this instance only."""
        if self._is_installed:
            return
        self._has_replicas = backend.are_replicas_known(self._strategy)
        self._functions.make_original = self._replace(f"make_{self.kind}_function", self._make)
        if not why_closed(self.model):
            step = left_alone(self._watched_step)
            self._original_step = self._replace(f"{self.kind}_step", step)
        self._is_installed = True

    def uninstall(self) -> None:
        """Restores the model. Its function stays, so that nothing is traced again."""
        if not self._is_installed:
            return
        self._is_installed = False
        LayerCalls.leave(self)
        for replaced in self._replaced:
            replaced.undo()
        self._replaced = []

    def _replace(self, name, method):
        """Returns the former method."""
        replaced = ReplacedMethod(self.model, name, method)
        self._replaced.append(replaced)
        return replaced.original

    def _make(self, force=False):
        """Replaces make_train_function."""
        if not self._observer.expects(self):
            self._observer.release(self.model)
            return self._functions.make_original(force)
        return self._functions.make(force)

    @property
    def _strategy(self):
        return getattr(self.model, "distribute_strategy", None)

    # --- a batch ---

    @property
    def is_in_batch(self) -> bool:
        """Whether a batch runs at present."""
        return self._is_capturing is not None

    def _dispatch(self, *arguments):
        """Replaces the function: runs one batch."""
        if not self._is_installed:
            return self._join.split(self._run_uninstalled(arguments))[0]
        self._is_capturing = self._observer.batch_begins(self)
        try:
            result, captures = self._run(arguments)
        except backend.END_OF_DATA:
            raise
        except BaseException:
            self._observer.batches_are_over()
            raise
        finally:
            is_capturing, self._is_capturing = self._is_capturing, None
            self._data = None
        if IS_FUNCTIONAL:
            logs, state = result
            self._observer.batch_ended(self, logs, None, state)
            return result
        self._observer.batch_ended(self, result, captures if is_capturing else None)
        return result

    def _run(self, arguments):
        """Returns (the function's result, the captured tensors or None)."""
        self._data = arguments[0]
        if self._is_capturing and not self._functions.is_single:
            if self._replay.can_run(self._data):
                return self._run_twice()
        return self._join.split(self._call(arguments))

    def _run_twice(self):
        """Runs the lean function, and then the capturing one beside it."""
        replay = self._replay
        self._is_capturing = False
        if not self._sink.attempt(lambda: replay.begin(self._data), "before a batch is captured"):
            return self._join.split(self._call((self._data,)))
        try:
            batch = replay.take(self._data)
            try:
                result, captures = self._join.split(self._call((batch.again(),)))
            finally:
                batch.raise_late_error()
            self._is_capturing = True
            if replay.is_possible:  # the call may have traced a graph for which it is not
                captures = self._sink.attempt(
                    lambda: self._captured_beside(batch), "while a batch is captured"
                )
            return result, captures
        finally:
            replay.end()

    def _captured_beside(self, batch):
        """Runs the capturing function, and returns what it captures."""
        if self.is_known and not self.wants_next():
            return None
        draws = self._join.draws
        if not self._replay.knows_draws(draws):
            self._saver.skip_graph(
                "the step draws random numbers, and was traced before a tensor inside it was to be "
                "saved"
            )
            return None
        with self._replay.undone(draws):
            return self._join.split(self._call((batch.again(),)))[1]

    def _call(self, arguments):
        function = self._functions.choose(self._is_capturing)
        if not self._has_replicas:
            return function(*arguments)
        with backend.ReplicaCaptures(self._strategy, CAPTURES, self._saver.skip) as replicas:
            self._replicas = replicas
            try:
                return function(*arguments)
            finally:
                self._replicas = None

    def _run_uninstalled(self, arguments):
        """Runs a batch while the hook is not installed. Keras 2 looks up the step when it traces,
        so a new trace must still go through the hook."""
        if not self._sink.is_recording or why_closed(self.model):
            return self._functions.resting()(*arguments)
        self._data = arguments[0]
        replaced = ReplacedMethod(self.model, f"{self.kind}_step", left_alone(self._watched_step))
        try:
            return self._functions.resting()(*arguments)
        finally:
            replaced.undo()
            self._data = None

    # --- a step, while it is traced or runs eagerly ---

    def _watched_step(self, data):
        """Replaces train_step."""
        step = as_traced(self._original_step)
        graph = backend.graph()
        if graph is not None:
            self._sink.offer_graph(graph)
        if not self._wants_trace():
            with self._observer.losses_read(self):
                result = step(data)
            self._note_trace()
            self._sink.attempt(lambda: self._note_graph(graph), "after a trace")
            return self._join.join(result, replicas=self._replicas)
        LayerCalls.watch(self)
        trace = StepTrace(self._settings)
        self._sink.attempt(lambda: trace.step_begins(data), "before a step is traced")
        with collecting(trace), self._observer.losses_read(self):
            result = step(data)
        self._note_trace()
        passed_out = self._sink.attempt(
            lambda: self._passed_out(trace, graph, self._note_graph(graph)),
            "while a step is traced",
        )
        return self._join.join(result, *(passed_out or (None, None)), self._replicas)

    def _note_trace(self):
        # The capturing function may be traced after the script has frozen other layers. Eager code
        # comes here in each step.
        is_lean = self._functions.is_single or not self._is_capturing
        if is_lean != (backend.graph() is not None):
            return
        self._sink.attempt(lambda: self._observer.step_traced(self), "after a trace")

    def _note_graph(self, graph):
        """Returns whether the step that was traced in `graph` can run twice; eager code has no
        graph."""
        return graph is not None and self._replay.note_graph(graph, self._data)

    def _wants_trace(self):
        if self._is_capturing is None or not self._sink.is_recording:
            return False
        unknown = backend.unknown_replicas()
        if unknown:
            self._saver.skip_graph(
                f"Keras adds up the results of the replicas of {unknown}; use a MirroredStrategy "
                "to save them"
            )
            return False
        return self._is_capturing or backend.graph() is not None

    def _passed_out(self, trace, graph, is_repeatable):
        """Returns (captured tensors by name, random numbers) that this function adds to its
        result; None for nothing."""
        wanted = self._join.wanted(trace, is_graph=graph is not None)
        # A function that runs every batch returns nothing more than what is saved.
        can_measure = graph is None or (is_repeatable and not self._functions.is_single)
        measured = self._observer.measured_tensors(self, trace) if can_measure else {}
        if not wanted and not measured:
            return None, None
        if graph is not None:
            if not self._functions.is_single and is_repeatable:
                if not self._is_capturing:
                    return None, self._replay.draws_of(graph)
                self._replay.replace_draws(graph)
            else:
                self._keep_single_function()
            self._join.note_returned(wanted)
        return {name: backend.dense(tensor) for name, tensor in wanted.items()} | measured, None

    def _keep_single_function(self):
        if not self._functions.is_single and self._functions.keep_single():
            get_logger().warning(
                "%s: the step cannot run twice, and the first tensor inside it is saved from now "
                "on: its random numbers will differ from those without the hook",
                self.kind,
            )

    # --- what is due ---

    def wants_next(self) -> bool:
        """Returns whether the coming step saves a tensor of this graph, as far as the graph is
        known."""
        due = self._join.next_due()
        if self._join.lacks(due):
            self._functions.forget_capturing()  # the configuration was edited since the trace
        return bool(due) or self._observer.wants_data(self)

    @property
    def original_step(self) -> Any:
        """The model's own train_step, or that of the kind."""
        return getattr(self, "_original_step", None) or getattr(self.model, f"{self.kind}_step")

    @property
    def is_known(self) -> bool:
        """Whether a step was traced, so that the names of its tensors are known."""
        return self._join.is_known

    def put(self, captures: dict[str, Any]) -> None:
        """Saves the due tensors among those that a batch captured."""
        self._join.put(captures)
