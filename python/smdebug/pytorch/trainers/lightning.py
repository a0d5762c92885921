"""A callback for PyTorch Lightning, under either of its names.

    from smdebug.pytorch.lightning import SMDebugCallback

    trainer = Trainer(..., callbacks=[SMDebugCallback("runs/1", rules=["VanishingGradient"])])

Needs `lightning` or `pytorch-lightning`; see docs/trainers.md.
"""

import importlib.util
import sys

from smdebug._core import ModeKeys
from smdebug.pytorch.trainers.requirement import require
from smdebug.pytorch.trainers.training_watch import TrainingWatch, contained

_NAMES = {"lightning.pytorch": "lightning", "pytorch_lightning": "pytorch-lightning"}


def _callback_classes():
    """Of the names that the program has imported; else of the first that is installed."""
    modules = [name for name in _NAMES if sys.modules.get(name)]
    installed = [name for name in _NAMES if importlib.util.find_spec(name.partition(".")[0])]
    modules = modules or installed[:1] or list(_NAMES)[:1]
    needed = ["Callback.on_before_optimizer_step", "Callback.on_exception"]
    return tuple(require(name, needed, _NAMES[name], "2.0").Callback for name in modules)


class SMDebugCallback(*_callback_classes()):
    """Records what a Lightning Trainer does into `out_dir`.

    With automatic optimization a step of training is one update of the parameters, over however
    many batches `accumulate_grad_batches` says; with manual optimization it is one batch.
    `scalar/global_step` is `trainer.global_step` at its beginning, `loss_output_0` the loss that
    was gone backward from, with manual optimization one for each time. A step of validation,
    test or prediction is one batch. Where a validation interrupts an update, what of the update
    comes after it is not recorded.

    `rules` are judged when a saved step ends; where one fires, it is logged, and with `stop`
    (default True) `trainer.should_stop` is set. `hook_options` are those of
    smdebug.pytorch.Hook: `save_all`, `save_config`, `include_collections`, ...; the hook itself
    is the attribute `hook`, for its collections and `status()`.

    One callback may see several fits, validations and tests; they follow each other in one run,
    which ends with `close()` or the program. Mistakes in the arguments raise here; later nothing
    of ours does.
    """

    def __init__(self, out_dir, rules=(), stop=True, **hook_options):
        super().__init__()
        self.watch = TrainingWatch(out_dir, rules, stop, hook_options)
        self._update = None  # global_step at the beginning of the update

    @property
    def hook(self):
        return self.watch.hook

    def close(self):
        """Ends the run: publishes the last step. Also happens when the program ends."""
        self.watch.close()

    # --- training ---

    @contained
    def on_train_start(self, trainer, pl_module):
        self.watch.begin_fit(pl_module)
        self.hook.sums_losses = pl_module.automatic_optimization
        self._update = None

    @contained
    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if pl_module.automatic_optimization and self._update == trainer.global_step:
            return
        self._update = trainer.global_step
        self.hook.begin_update()
        if self.hook.is_saving():
            self.hook.save_scalar("global_step", trainer.global_step)

    @contained
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if pl_module.automatic_optimization:
            if self._update == trainer.global_step:
                return  # there are more batches to come
        self.watch.end_step()
        if self.watch.should_stop:
            trainer.should_stop = True

    @contained
    def on_train_epoch_end(self, trainer, pl_module):
        self.watch.save_scalars(trainer.callback_metrics)

    @contained
    def on_train_end(self, trainer, pl_module):
        self.watch.end_fit()

    @contained
    def on_exception(self, trainer, pl_module, exception):
        self._release()

    @contained
    def teardown(self, trainer, pl_module, stage):
        self._release()

    # --- validation, test, prediction ---

    @contained
    def on_validation_start(self, trainer, pl_module):
        self._attach(trainer, pl_module)

    on_test_start = on_predict_start = on_validation_start

    @contained
    def on_validation_batch_start(self, trainer, pl_module, batch, batch_idx, dataloader_idx=0):
        self.hook.begin_batch(ModeKeys.EVAL)

    on_test_batch_start = on_validation_batch_start

    @contained
    def on_predict_batch_start(self, trainer, pl_module, batch, batch_idx, dataloader_idx=0):
        self.hook.begin_batch(ModeKeys.PREDICT)

    @contained
    def on_validation_end(self, trainer, pl_module):
        self.watch.save_scalars(trainer.callback_metrics)
        self._detach()

    on_test_end = on_validation_end

    @contained
    def on_predict_end(self, trainer, pl_module):
        self._detach()

    def _attach(self, trainer, pl_module):
        if not self.watch.is_fitting and not trainer.sanity_checking:
            self.hook.attach_to(pl_module)

    def _detach(self):
        if not self.watch.is_fitting:
            self.hook.release()

    def _release(self):
        self.watch.end_fit()
        self.hook.release()
