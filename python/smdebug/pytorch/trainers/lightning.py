"""A callback for PyTorch Lightning, under either of its package names.

    from smdebug.pytorch.lightning import SMDebugCallback

    trainer = Trainer(..., callbacks=[SMDebugCallback("runs/1", rules=["ExplodingTensor"])])

Needs `lightning` or `pytorch-lightning`; see docs/trainers.md.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from smdebug._core import ModeKeys
from smdebug.pytorch.trainers.optional_import import require
from smdebug.pytorch.trainers.training_watch import TrainingCallback, isolated

_NAMES = {"lightning.pytorch": "lightning", "pytorch_lightning": "pytorch-lightning"}


def _callback_classes() -> tuple[Any, ...]:
    """The `Callback` of each package that the program has imported, else of the first one that is
    installed."""
    modules = [name for name in _NAMES if sys.modules.get(name)]
    installed = [name for name in _NAMES if importlib.util.find_spec(name.partition(".")[0])]
    modules = modules or installed[:1] or list(_NAMES)[:1]
    needed = ["Callback.on_before_optimizer_step", "Callback.on_exception"]
    return tuple(require(name, needed, _NAMES[name], "2.0").Callback for name in modules)


if TYPE_CHECKING:
    from lightning.pytorch import Callback
else:
    Callback = type("Callback", _callback_classes(), {})


class SMDebugCallback(TrainingCallback, Callback):
    """Records what a Lightning Trainer does into `out_dir`.

    With automatic optimization, a training step is one update of the parameters, over
    `accumulate_grad_batches` batches. With manual optimization it is one batch.
    `scalar/global_step` is `trainer.global_step` at the start of the step, and `loss_output_0` the
    loss of the backward pass; with manual optimization there is one loss per backward pass. A step
    of validation, test or prediction is one batch. If a validation interrupts an update, the part
    of the update after the validation is not recorded.

    The `rules` judge each saved step when it ends. A rule that fires logs an error, and with `stop`
    (default True) sets `trainer.should_stop`. `hook_options` are those of smdebug.pytorch.Hook:
    `save_all`, `save_config`, `include_collections`, ...

    One callback may record several fits, validations and tests. They form one run, which ends with
    `close()` or the program. Raises for invalid arguments; later errors are logged and end the
    recording, never the training.
    """

    _update: int | None = None  # global_step at the start of the update

    # --- training ---

    @isolated
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Starts to record the fit."""
        self.watch.begin_fit(pl_module)
        self.hook.sums_losses = pl_module.automatic_optimization
        self._update = None

    @isolated
    def on_train_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: Any
    ) -> None:
        """Prepares the step of a training batch."""
        if pl_module.automatic_optimization and self._update == trainer.global_step:
            return
        self._update = trainer.global_step
        self.hook.begin_update()
        if self.hook.is_saving():
            self.hook.save_scalar("global_step", trainer.global_step)

    @isolated
    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: Any
    ) -> None:
        """Ends the step of a training batch, unless its update takes further batches."""
        if pl_module.automatic_optimization:
            if self._update == trainer.global_step:
                return  # more batches of this update follow
        self.watch.end_step()
        if self.watch.should_stop:
            trainer.should_stop = True

    @isolated
    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Saves the metrics of an epoch."""
        self.watch.save_scalars(trainer.callback_metrics)

    @isolated
    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Ends the recording of the fit."""
        self.watch.end_fit()

    @isolated
    def on_exception(self, trainer: Any, pl_module: Any, exception: Any) -> None:
        """Removes the hooks from the model after an error."""
        self._release()

    @isolated
    def teardown(self, trainer: Any, pl_module: Any, stage: Any) -> None:
        """Removes the hooks from the model."""
        self._release()

    # --- validation, test, prediction ---

    @isolated
    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Starts to record a validation, a test or a prediction."""
        self._attach(trainer, pl_module)

    on_test_start = on_validation_start
    on_predict_start = on_validation_start

    @isolated
    def on_validation_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: Any, dataloader_idx: int = 0
    ) -> None:
        """Prepares the step of a batch of a validation or test."""
        self.hook.begin_batch(ModeKeys.EVAL)

    on_test_batch_start = on_validation_batch_start

    @isolated
    def on_predict_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: Any, dataloader_idx: int = 0
    ) -> None:
        """Prepares the step of a prediction batch."""
        self.hook.begin_batch(ModeKeys.PREDICT)

    @isolated
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Saves the metrics of a validation or test, and ends its recording."""
        self.watch.save_scalars(trainer.callback_metrics)
        self._detach()

    on_test_end = on_validation_end

    @isolated
    def on_predict_end(self, trainer: Any, pl_module: Any) -> None:
        """Ends the recording of a prediction."""
        self._detach()

    def _attach(self, trainer: Any, pl_module: Any) -> None:
        if not self.watch.is_fitting and not trainer.sanity_checking:
            self.hook.attach_to(pl_module)

    def _detach(self) -> None:
        if not self.watch.is_fitting:
            self.hook.release()

    def _release(self) -> None:
        self.watch.end_fit()
        self.hook.release()
