"""`KerasAdapter`: follows the models that Keras trains, and records their steps for a hook.

A step is one call of the model's train, test or predict function: a batch, or as many batches as
`steps_per_execution` says. The adapter replaces these functions (step_function.py) while Keras runs
with the hook, so that nothing waits for a batch's logs that need not be saved. A step begins when
its batch is done: an empty data set has no steps.
"""

import contextlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from smdebug.exceptions import RuleEvaluationConditionMet
from smdebug.log import get_logger
from smdebug.tensorflow import names
from smdebug.tensorflow.capture_sink import CaptureContext
from smdebug.tensorflow.keras.facts import KerasFacts
from smdebug.tensorflow.keras.keras_logs import KerasLogs
from smdebug.tensorflow.keras.step_backend import backend, why_closed
from smdebug.tensorflow.keras.step_function import IS_FUNCTIONAL, StepFunction
from smdebug.tensorflow.keras.step_series import StepSeries
from smdebug.tensorflow.keras.tensor_saver import TensorSaver
from smdebug.tensorflow.keras.watched_model import WatchedModel

_logger = get_logger()


class KerasAdapter:
    """Records `fit`, `evaluate` and `predict`. It is the BatchObserver of all step functions.

    `out_dir` is the location of the run, for messages.
    """

    def __init__(self, context: CaptureContext, out_dir: str) -> None:
        self._context = context
        self._sink, self._plan, self._session = context
        self._out_dir = out_dir
        self._saver = TensorSaver(self._sink, self._session)
        self._logs = KerasLogs(self._plan, self._session, self._saver)
        self._models: dict[int, WatchedModel] = {}  # by the id of the model
        self._registered: set[int] = set()  # ids of the models that need no callback
        self._armed: Any = None  # the model that Keras passed last
        self._depth = 0  # how many of fit, evaluate and predict are running
        self._has_own_mode = False
        self._was_attached = False  # Keras has passed a model
        self._series: StepSeries | None = None
        self._facts: KerasFacts | None = None
        # Made once, because every batch enters them.
        self._has_rules = self._plan.has_rules
        self._errors_before_batch = self._sink.isolate_errors("before a batch")
        self._errors_after_batch = self._sink.isolate_errors("after a batch")

    # --- events of the hook ---

    def register(self, model: Any) -> None:
        """Records every step of `model`, a keras.Model, with the hook among the callbacks or
        without."""
        self._registered.add(id(model))
        self._watch(model).install()

    def note_every_step(self, series: StepSeries) -> None:
        """Notes the numbers of every training step in `series`."""
        if not IS_FUNCTIONAL:
            self._series = series

    def report_facts(self, facts: KerasFacts) -> None:
        """Reports what the training is made of by `facts`."""
        self._facts = facts

    def keep_mode(self) -> None:
        """Keeps the mode that the script has set for steps outside of fit, evaluate and predict."""
        self._has_own_mode = True

    def attach(self, model: Any) -> None:
        """Prepares for a run of `model` by Keras, with the hook among its callbacks."""
        if not self._sink.is_recording:
            return
        if self._armed is model:
            _logger.warning("the hook is among the callbacks twice; once is enough")
        self._was_attached = True
        if self._armed is None:
            self._depth = 0  # an exception may have ended an earlier call
        self._armed = model
        self._sink.attempt(lambda: self._watch(model).install(), "when Keras passed a model")

    def begin_run(self) -> None:
        """Begins a `fit`, `evaluate` or `predict`."""
        self._armed = None
        self._depth += 1
        self._logs.begin_run()
        self._interrupt_series()

    def begin_evaluation(self) -> None:
        """Begins an `evaluate`, perhaps as the validation of a `fit`."""
        if self._depth > 0:
            self._sink.attempt(self._logs.end_training, "before the validation")
        self.begin_run()

    def end_run(self) -> None:
        """Ends a `fit`, `evaluate` or `predict`."""
        self._depth = max(self._depth - 1, 0)
        if self._depth == 0:
            self.batches_are_over()
            if self._series is not None:
                self._series.fetch()

    def begin_epoch(self, epoch: int) -> None:
        """Begins the epoch of that number."""
        self._interrupt_series()
        self._logs.begin_epoch(epoch)

    def end_epoch(self, epoch: int, logs: Mapping[str, Any] | None) -> None:
        """Ends the epoch of that number and saves the `logs` of Keras."""
        self._sink.attempt(
            lambda: self._logs.end_epoch(epoch, logs or {}), "at the end of an epoch"
        )
        if self._facts is not None:
            self._facts.end_epoch()

    def detach(self) -> None:
        """Removes the hook from every model."""
        if self._series is not None:
            self._series.close()
        for watched in self._models.values():
            watched.uninstall()

    # --- queries ---

    def why_no_batch(self) -> str:
        """Returns why no step has begun, and what to do; empty if the hook has no model."""
        if self._was_attached:
            return "Keras ran no batch with the hook: look whether the data are empty"
        if self._registered:
            return (
                "no batch of a registered model ran: register the model that you train, and train "
                "it with fit or train_on_batch, or wrap the tape of a loop by hook.wrap_tape(tape)"
            )
        return ""

    def is_counting(self) -> bool:
        """Returns whether Keras runs a step, or a `fit`, `evaluate` or `predict`, at present."""
        return self._depth > 0 or any(watched.is_in_batch for watched in self._models.values())

    def named_layers(self) -> list[tuple[str, Any]]:
        """Returns (name, layer) of each layer of the recorded models."""
        return [
            each for watched in self._models.values() for each in watched.layer_names.named_layers()
        ]

    def is_foreign(self, layer: Any) -> bool:
        """Returns whether a layer belongs to none of the recorded models, if there are any."""
        models = self._models.values()
        return bool(models) and not any(watched.layer_names.knows(layer) for watched in models)

    def layer_name(self, layer: Any) -> str:
        """Returns the name that the tensors of a layer begin with."""
        for watched in self._models.values():
            if watched.layer_names.knows(layer):
                return watched.layer_names(layer)
        return layer.name

    # --- events of step functions: a BatchObserver ---

    def expects(self, function: StepFunction) -> bool:
        """Returns whether this run of Keras has the hook: a later `fit` may run without it."""
        model = function.model
        return (
            self._armed is model
            or id(model) in self._registered
            or (self._depth > 0 and function.kind != "train")
        )

    def release(self, model: Any) -> None:
        """Removes the hook from a model, unless the model is registered."""
        if id(model) not in self._registered:
            self._models[id(model)].uninstall()

    def batch_begins(self, function: StepFunction) -> bool:
        """Returns whether the coming batch must capture tensors inside its graph."""
        if not self._sink.is_recording:
            return False
        mode = None if self._has_own_mode and self._depth == 0 else function.mode
        is_due = self._sink.prepare_step(mode)
        if self._series is not None and function.kind == "train":
            self._series.before_batch(function.model, self._depth > 0)
        elif self._series is not None:
            self._series.interrupt()
        if not is_due:
            return False
        with self._errors_before_batch:
            return self._wants_graph(function)
        return False

    def batch_ended(
        self, function: StepFunction, result: Any, captures: Any, state: Any = None
    ) -> None:
        """Begins the step of a batch that is done, and saves all that is due in it.

        `result` is the result of the step function, `captures` the tensors that its graph captured,
        by name, or None. `state` is the state that JAX returns: lists of the values of the model's
        variables, by kind. Raises the exception that a rule requests.
        """
        if not self._sink.is_recording:
            return
        with self._errors_after_batch:
            self._save_step(function, result, captures, state)
        if self._has_rules:
            self._judge(function.model)

    def wants_data(self, function: StepFunction) -> bool:
        """Returns whether the coming batch, if it is saved, is measured."""
        if self._facts is None:
            return False
        if function.kind == "test":
            return self._facts.wants_evaluation(function.model)
        return function.kind == "train" and self._facts.wants_data()

    def losses_read(self, function: StepFunction) -> AbstractContextManager[None]:
        """Returns a context in which the losses of a step are read, if it is traced."""
        if self._facts is None or function.kind != "train":
            return contextlib.nullcontext()
        return backend.losses_reported(self._facts.written.note_graph)

    def step_traced(self, function: StepFunction) -> None:
        """Notes that a step was traced, or has run as eager code."""
        if self._facts is not None and function.kind == "train":
            layer_names = self._models[id(function.model)].layer_names
            self._facts.note_model(function.model, layer_names, function.original_step)
            self._facts.note_trace(function.model)

    def measured_tensors(self, function: StepFunction, trace: Any) -> dict[str, Any]:
        """Returns the tensors of a trace that are measured, by name."""
        if self._facts is None:
            return {}
        if function.kind == "test":
            return self._facts.evaluation_tensors_of(function.model, trace)
        return self._facts.tensors_of(function.model, trace) if function.kind == "train" else {}

    def batches_are_over(self) -> None:
        """Releases all models: Keras has returned, or an exception passes through it."""
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
                _logger.warning(
                    "a second model is recorded in %s: its steps continue the count of the first, "
                    "and only the step distinguishes tensors of the same name",
                    self._out_dir,
                )
            watched = WatchedModel(self, self._context, self._saver, model)
            self._models[id(model)] = watched
        return watched

    def _wants_graph(self, function):
        why = why_closed(function.model)
        if why:
            self._saver.skip_graph(why)
            return False
        if function.is_known:
            return function.wants_next()
        if self.wants_data(function):
            return True
        candidates = self._models[id(function.model)].candidates(function.kind)
        return any(self._session.is_next_due(name, kind) for name, kind in candidates)

    def _save_step(self, function, result, captures, state):
        is_due = self._sink.begin_step()
        self._logs.end_batch(function.kind, result, is_due)
        if self._series is not None and function.kind == "train":
            self._series.after_batch(function.model, result)
        if self._facts is not None and function.kind == "train" and is_due:
            self._note_value(self._facts.written, result)
        if self._facts is not None and function.kind in ("train", "test"):
            captures = self._describe(self._facts, function, captures or {}, is_due)
        if is_due:
            function.put(captures or {})
            self._models[id(function.model)].put_variables(state)

    def _describe(self, facts, function, captures, is_due):
        """Reports the facts of a step. Returns the captured tensors that are saved."""
        if function.kind == "test":
            rest = facts.take_evaluation(function.model, captures)
        else:
            if why_closed(function.model):  # the hook sees no trace
                layer_names = self._models[id(function.model)].layer_names
                facts.note_model(function.model, layer_names, function.original_step)
            rest = facts.take(function.model, captures, self._depth > 0)
        facts.end_step(is_due, is_training=function.kind == "train")
        return rest

    def _note_value(self, written, result):
        """Notes whether the loss that Keras logs is finite."""
        loss = result.get(names.LOSS) if isinstance(result, Mapping) else None
        if written.wants_value and backend.is_number(loss):
            written.note_value(backend.numbers([loss])[0], self._session.step[0])

    def _interrupt_series(self):
        if self._series is not None:
            self._series.interrupt()

    def _judge(self, model):
        """Responds to the rules that fired in this batch, after its update."""

        def stop(verdict):
            text = "a rule stops fit: %s fired at step %d"
            _logger.error(text, verdict["rule"], verdict["step"]["global"])
            model.stop_training = True

        try:
            self._sink.judge_step(stop)
        except RuleEvaluationConditionMet:
            self.batches_are_over()
            raise
