"""A callback for the Trainer of Hugging Face Transformers.

    from smdebug.pytorch.transformers import SMDebugCallback

    trainer = Trainer(..., callbacks=[SMDebugCallback("runs/1", rules=["ExplodingTensor"])])

Needs `transformers`; see docs/trainers.md.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from smdebug._core import ModeKeys
from smdebug.pytorch.trainers.optional_import import require
from smdebug.pytorch.trainers.training_watch import TrainingCallback, isolated

if TYPE_CHECKING:
    from transformers import TrainerCallback
else:
    needed = ["TrainerCallback.on_step_begin", "TrainerCallback.on_pre_optimizer_step"]
    TrainerCallback = require("transformers", needed, "transformers", "4.46").TrainerCallback


class SMDebugCallback(TrainingCallback, TrainerCallback):
    """Records what a Trainer does into `out_dir`.

    A training step is one update of the parameters. Its `trainer.state.global_step` is saved as
    `scalar/global_step`, next to the values that the Trainer logs. A step of evaluation is one
    batch. `loss_output_0` is the loss of the update as the Trainer computed it.

    The `rules` judge each saved step when it ends. A rule that fires logs an error, and with `stop`
    (default True) asks the Trainer to stop. `hook_options` are those of smdebug.pytorch.Hook:
    `save_all`, `save_config`, `include_collections`, ...

    One callback may record several trainings. They form one run, which ends with `close()` or the
    program. Raises for invalid arguments; later errors are logged and end the recording, never the
    training.
    """

    _logged_step = -1

    @contextlib.contextmanager
    def recording(self, model: Any, mode: ModeKeys = ModeKeys.EVAL) -> Iterator[SMDebugCallback]:
        """Records `trainer.evaluate()` and `trainer.predict()` outside of a training: each batch
        within the context is a step of `mode`. The Trainer has no event for their start."""
        self._record_calls(model, mode)
        try:
            yield self
        finally:
            self._release()

    # --- the Trainer's events ---

    @isolated
    def on_train_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any
    ) -> None:
        """Starts to record the training."""
        self.watch.begin_fit(model)
        self.hook.call_mode = ModeKeys.EVAL
        self.hook.await_call()

    @isolated
    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begins an update, which may take several batches."""
        self.hook.begin_update()

    @isolated
    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Saves the number of the update."""
        if self.hook.is_saving():
            self.hook.save_scalar("global_step", state.global_step)
        self.hook.end_update()
        if not control.should_log:  # else the step also records the logged values
            self._end_step(state, control)

    @isolated
    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Saves the numbers that the Trainer logs."""
        logs = dict(logs or {})
        if "train_runtime" in logs:  # the summary of the training
            if self._logged_step == state.global_step:
                logs.pop("epoch", None)  # this step has it
            if self.hook.mode is not ModeKeys.TRAIN:
                logs.clear()
        self._logged_step = state.global_step
        self.watch.save_scalars(logs)
        self._end_step(state, control)

    @isolated
    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Prepares the step of a prediction batch."""
        self.hook.await_call()

    @isolated
    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Ends the recording of the training."""
        self.watch.end_fit()

    def _end_step(self, state: Any, control: Any) -> None:
        if self.watch.is_fitting and state.global_step >= state.max_steps:
            return  # the last step also records the values logged at the end
        self.watch.end_step()
        if self.watch.should_stop:
            control.should_training_stop = True

    @isolated
    def _record_calls(self, model: Any, mode: Any) -> None:
        self.hook.attach_to(model)
        self.hook.call_mode = mode
        self.hook.await_call()

    @isolated
    def _release(self) -> None:
        self.hook.release()
