"""A handler for PyTorch-Ignite.

    from smdebug.pytorch.ignite import SMDebugHandler

    handler = SMDebugHandler("runs/1", rules=["ExplodingTensor"])
    handler.attach(trainer, model, evaluators=[evaluator])

Needs `pytorch-ignite`; see docs/trainers.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from smdebug._core import ModeKeys
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.hook_arguments import shown
from smdebug.pytorch.trainers.optional_import import require
from smdebug.pytorch.trainers.training_watch import TrainingCallback, isolated

events: Any = require(
    "ignite.engine", ["Events.TERMINATE", "Events.STARTED"], "pytorch-ignite", "0.4.10"
)


def _check_engine(field: str, engine: Any) -> None:
    if not isinstance(engine, events.Engine):
        raise SMDebugTypeError(f"{field} must be an ignite Engine, found {shown(engine)}")


class SMDebugHandler(TrainingCallback):
    """Records what Ignite's engines do into `out_dir`.

    A training step is one update of the parameters: one iteration of the trainer, or
    `gradient_accumulation_steps` of them, as given to `create_supervised_trainer`. A step of
    evaluation is one iteration of an evaluator.

    The `rules` judge each saved step when it ends. A rule that fires logs an error, and with `stop`
    (default True) terminates the trainer. `hook_options` are those of smdebug.pytorch.Hook:
    `save_all`, `save_config`, `include_collections`, ...

    Several runs of the trainer form one recorded run, which ends with `close()` or the program.
    Raises for invalid arguments; later errors are logged and end the recording, never the training.
    """

    def __init__(
        self,
        out_dir: str | None = None,
        rules: Iterable[Any] = (),
        stop: bool = True,
        gradient_accumulation_steps: int = 1,
        **hook_options: Any,
    ) -> None:
        super().__init__(out_dir, rules, stop, **hook_options)
        self.hook.advice = "call handler.attach(trainer, model), and run the trainer"
        self._batches = gradient_accumulation_steps
        self._is_attached = False

    def attach(self, trainer: Any, model: Any, evaluators: Iterable[Any] = ()) -> None:
        """Records the engine `trainer`, which trains `model`, and the engines `evaluators`, which
        run during the training.

        Raises SMDebugTypeError for other objects, and SMDebugValueError for a second call.
        """
        _check_engine("trainer", trainer)
        if not isinstance(model, torch.nn.Module):
            raise SMDebugTypeError(
                f"model must be the torch.nn.Module that the trainer trains, found {shown(model)}"
            )
        evaluators = list(evaluators) if isinstance(evaluators, Iterable) else [evaluators]
        for evaluator in evaluators:
            _check_engine("each of evaluators", evaluator)
        if self._is_attached:
            raise SMDebugValueError(
                "the handler is attached already; make another SMDebugHandler for another trainer"
            )
        self._is_attached = True
        Events = events.Events
        trainer.add_event_handler(Events.STARTED, self._on_start, model)
        trainer.add_event_handler(Events.ITERATION_STARTED, self._on_iteration)
        trainer.add_event_handler(Events.ITERATION_COMPLETED, self._on_iteration_end)
        for event in (Events.COMPLETED, Events.TERMINATE, Events.INTERRUPT):
            trainer.add_event_handler(event, self._on_end)
        for evaluator in evaluators:
            evaluator.add_event_handler(Events.ITERATION_STARTED, self._on_evaluation)
            evaluator.add_event_handler(Events.COMPLETED, self._on_evaluation_end)

    @isolated
    def _on_start(self, engine: Any, model: Any) -> None:
        self.watch.begin_fit(model)

    @isolated
    def _on_iteration(self, engine: Any) -> None:
        if (engine.state.iteration - 1) % self._batches == 0:
            self.hook.begin_update()

    @isolated
    def _on_iteration_end(self, engine: Any) -> None:
        if engine.state.iteration % self._batches == 0:
            self.watch.end_step()
            if self.watch.should_stop:
                engine.terminate()

    @isolated
    def _on_evaluation(self, engine: Any) -> None:
        self.hook.begin_batch(ModeKeys.EVAL)

    @isolated
    def _on_evaluation_end(self, engine: Any) -> None:
        if self.watch.is_fitting:
            self.watch.save_scalars(engine.state.metrics)

    @isolated
    def _on_end(self, engine: Any) -> None:
        self.watch.end_fit()
