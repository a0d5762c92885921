"""A callback for the Trainer of Hugging Face Transformers.

    from smdebug.pytorch.transformers import SMDebugCallback

    trainer = Trainer(..., callbacks=[SMDebugCallback("runs/1", rules=["VanishingGradient"])])

Needs `transformers`; see docs/trainers.md.
"""

import contextlib

from smdebug._core import ModeKeys
from smdebug.pytorch.trainers.requirement import require
from smdebug.pytorch.trainers.training_watch import TrainingWatch, contained

transformers = require(
    "transformers",
    ["TrainerCallback.on_step_begin", "TrainerCallback.on_pre_optimizer_step"],
    "transformers",
    "4.46",
)


class SMDebugCallback(transformers.TrainerCallback):
    """Records what a Trainer does into `out_dir`.

    A step of training is one update of the parameters: `trainer.state.global_step` of it is saved
    as `scalar/global_step`, beside what the Trainer logs. A step of evaluation is one batch.
    `loss_output_0` is the loss of the update as the Trainer computed it.

    `rules` are judged when a saved step ends; where one fires, it is logged, and with `stop`
    (default True) the Trainer is asked to stop. `hook_options` are those of
    smdebug.pytorch.Hook: `save_all`, `save_config`, `include_collections`, ...; the hook itself
    is the attribute `hook`, for its collections and `status()`.

    One callback may see several trainings; they follow each other in one run, which ends with
    `close()` or the program. Mistakes in the arguments raise here; later nothing of ours does.
    """

    def __init__(self, out_dir, rules=(), stop=True, **hook_options):
        super().__init__()
        self.watch = TrainingWatch(out_dir, rules, stop, hook_options)

    @property
    def hook(self):
        return self.watch.hook

    def close(self):
        """Ends the run: publishes the last step. Also happens when the program ends."""
        self.watch.close()

    @contextlib.contextmanager
    def recording(self, model, mode=ModeKeys.EVAL):
        """For `trainer.evaluate()` and `trainer.predict()` outside of a training: each batch
        within is a step of `mode`. The Trainer itself does not say when these begin."""
        self._record_calls(model, mode)
        try:
            yield self
        finally:
            self._release()

    # --- the Trainer's events ---

    @contained
    def on_train_begin(self, args, state, control, model=None, **kwargs):
        self.watch.begin_fit(model)
        self.hook.call_mode = ModeKeys.EVAL
        self.hook.await_call()

    @contained
    def on_step_begin(self, args, state, control, **kwargs):
        self.hook.begin_update()

    @contained
    def on_step_end(self, args, state, control, **kwargs):
        if self.hook.is_saving():
            self.hook.save_scalar("global_step", state.global_step)
        self.hook.end_update()
        if not control.should_log:  # else the step takes what is logged, too
            self._end_step(state, control)

    @contained
    def on_log(self, args, state, control, logs=None, **kwargs):
        is_summary = "train_runtime" in (logs or {})
        if not is_summary or self.hook.mode is ModeKeys.TRAIN:
            self.watch.save_scalars(logs or {})
        self._end_step(state, control)

    @contained
    def on_prediction_step(self, args, state, control, **kwargs):
        self.hook.await_call()

    @contained
    def on_train_end(self, args, state, control, **kwargs):
        self.watch.end_fit()

    def _end_step(self, state, control):
        if self.watch.is_fitting and state.global_step >= state.max_steps:
            return  # the last one also takes what is logged at the end
        self.watch.end_step()
        if self.watch.should_stop:
            control.should_training_stop = True

    @contained
    def _record_calls(self, model, mode):
        self.hook.attach_to(model)
        self.hook.call_mode = mode
        self.hook.await_call()

    @contained
    def _release(self):
        self.hook.release()
