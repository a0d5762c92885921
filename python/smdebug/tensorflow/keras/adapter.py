"""`KerasAdapter`: follows the models that Keras trains, and records their steps for a hook.

A step is one call of the model's train, test or predict function: a batch, or as many batches as
`steps_per_execution` says. The adapter replaces these functions (step_function.py) while Keras runs
with the hook, so that nothing waits for a batch's logs that need not be saved. A step begins when
its batch is done: an empty data set has no steps.
"""

from collections.abc import Mapping
from typing import Any

from smdebug.exceptions import RuleEvaluationConditionMet
from smdebug.log import get_logger
from smdebug.tensorflow.capture_sink import CaptureSink, PlanView, attempt
from smdebug.tensorflow.keras.keras_logs import KerasLogs
from smdebug.tensorflow.keras.step_backend import why_closed
from smdebug.tensorflow.keras.step_function import StepFunction
from smdebug.tensorflow.keras.tensor_saver import TensorSaver
from smdebug.tensorflow.keras.watched_model import WatchedModel
from smdebug.tensorflow.replica_sessions import ReplicaSessions

logger = get_logger()


class KerasAdapter:
    """Records `fit`, `evaluate` and `predict`. It is the BatchObserver of all step functions.

    `out_dir` is where the run is written, for messages.
    """

    def __init__(
        self, sink: CaptureSink, plan: PlanView, session: ReplicaSessions, out_dir: str
    ) -> None:
        self._sink = sink
        self._plan = plan
        self._session = session
        self._out_dir = out_dir
        self._saver = TensorSaver(sink, session)
        self._logs = KerasLogs(plan, session, self._saver)
        self._models: dict[int, WatchedModel] = {}  # by the id of the model
        self._registered: set[int] = set()  # ids of the models that need no callback
        self._armed: Any = None  # the model that Keras has just handed over
        self._depth = 0  # how many of fit, evaluate and predict run now
        self._has_own_mode = False
        # Made once, because every batch enters them.
        self._has_rules = plan.has_rules
        self._errors_before_batch = sink.isolate_errors("before a batch")
        self._errors_after_batch = sink.isolate_errors("after a batch")

    # --- what the hook passes on ---

    def register(self, model: Any) -> None:
        """Records every step of `model`, a keras.Model, with the hook among the callbacks or
        without."""
        self._registered.add(id(model))
        self._watch(model).install()

    def keep_mode(self) -> None:
        """The script has set the mode: it holds for steps outside of fit, evaluate and predict."""
        self._has_own_mode = True

    def attach(self, model: Any) -> None:
        """Keras is about to run `model` with the hook among its callbacks."""
        if not self._sink.is_recording:
            return
        if self._armed is model:
            logger.warning("the hook is among the callbacks twice; once is enough")
        if self._armed is None:
            self._depth = 0  # an exception may have ended an earlier call
        self._armed = model
        attempt(self._sink, lambda: self._watch(model).install(), "when Keras passed a model")

    def begin_run(self) -> None:
        """A `fit`, `evaluate` or `predict` begins."""
        self._armed = None
        self._depth += 1
        self._logs.begin_run()

    def begin_evaluation(self) -> None:
        """An `evaluate` begins, perhaps as the validation of a `fit`."""
        if self._depth > 0:
            attempt(self._sink, self._logs.end_training, "before the validation")
        self.begin_run()

    def end_run(self) -> None:
        """A `fit`, `evaluate` or `predict` ends."""
        self._depth = max(self._depth - 1, 0)
        if self._depth == 0:
            self.batches_are_over()

    def begin_epoch(self, epoch: int) -> None:
        """The epoch of that number begins."""
        self._logs.begin_epoch(epoch)

    def end_epoch(self, epoch: int, logs: Mapping[str, Any]) -> None:
        """The epoch of that number ends, of which Keras logs `logs`."""
        attempt(
            self._sink, lambda: self._logs.end_epoch(epoch, logs or {}), "at the end of an epoch"
        )

    def detach(self) -> None:
        """Takes the hook out of every model."""
        for watched in self._models.values():
            watched.uninstall()

    # --- what others ask ---

    @property
    def is_counting(self) -> bool:
        """Whether Keras runs a step, or a `fit`, `evaluate` or `predict`, at present."""
        return self._depth > 0 or any(watched.is_in_batch for watched in self._models.values())

    def named_layers(self) -> list[tuple[str, Any]]:
        """(name, layer) of each layer of the recorded models."""
        return [
            each for watched in self._models.values() for each in watched.layer_names.named_layers()
        ]

    def layer_name(self, layer: Any) -> str:
        """The name that the tensors of a layer begin with."""
        for watched in self._models.values():
            if watched.layer_names.knows(layer):
                return watched.layer_names(layer)
        return layer.name

    # --- what step functions report: a BatchObserver ---

    def expects(self, function: StepFunction) -> bool:
        """Whether this run of Keras has the hook: a later `fit` may go without."""
        model = function.model
        return (
            self._armed is model
            or id(model) in self._registered
            or (self._depth > 0 and function.kind != "train")
        )

    def release(self, model: Any) -> None:
        """Takes the hook out of a model, unless it is registered."""
        if id(model) not in self._registered:
            self._models[id(model)].uninstall()

    def batch_begins(self, function: StepFunction) -> bool:
        """Returns whether the graph of the coming batch is to pass out tensors. Raises SMDebugError
        for an invalid configuration."""
        sink = self._sink
        if not sink.is_recording:
            return False
        mode = None if self._has_own_mode and self._depth == 0 else function.mode
        if not sink.prepare_step(mode):
            return False
        with self._errors_before_batch:
            return self._wants_graph(function)
        return False

    def batch_ended(
        self, function: StepFunction, result: Any, captures: Any, state: Any = None
    ) -> None:
        """Begins the step of a batch that is done, and saves all that is due in it.

        `result` is what the step function returned, `captures` the tensors that its graph passed
        out, by name, or None. `state` is what JAX returns: lists of the values of the model's
        variables, by kind. Raises what a rule asks for.
        """
        if not self._sink.is_recording:
            return
        with self._errors_after_batch:
            self._save_step(function, result, captures, state)
        if self._has_rules:
            self._judge(function.model)

    def batches_are_over(self) -> None:
        """Keras has returned, or an exception passes through it."""
        self._armed, self._depth = None, 0
        self._logs.end_runs()
        for watched in self._models.values():
            self.release(watched.model)

    # --- a step ---

    def _watch(self, model):
        watched = self._models.get(id(model))
        if watched is None:
            self._session.follow_strategy(getattr(model, "distribute_strategy", None))
            if self._models:
                logger.warning(
                    "a second model is recorded in %s: its steps continue the count of the first, "
                    "and only the step distinguishes tensors of the same name",
                    self._out_dir,
                )
            watched = WatchedModel(self, self._sink, self._plan, self._session, self._saver, model)
            self._models[id(model)] = watched
        return watched

    def _wants_graph(self, function):
        why = why_closed(function.model)
        if why:
            self._saver.skip_graph(why)
            return False
        if function.is_known:
            return function.wants_next()
        candidates = self._models[id(function.model)].candidates(function.kind)
        return any(self._session.is_next_due(name, kind) for name, kind in candidates)

    def _save_step(self, function, result, captures, state):
        is_due = self._sink.begin_step()
        self._logs.end_batch(function.kind, result, is_due)
        if is_due:
            function.put(captures or {})
            self._models[id(function.model)].put_variables(state)

    def _judge(self, model):
        """Does what rules ask for that fired in this batch, whose update is made by now."""

        def stop(verdict):
            logger.error("a rule stops fit: %s", verdict["message"])
            model.stop_training = True

        try:
            self._sink.judge_step(stop)
        except RuleEvaluationConditionMet:
            self.batches_are_over()
            raise
