"""Recording a loop of one's own over Hugging Face Accelerate.

    from smdebug.pytorch.accelerate import SMDebugRecorder

    with SMDebugRecorder(accelerator, model, "runs/1", rules=["VanishingGradient"]) as recorder:
        for batch in loader:
            with accelerator.accumulate(model):
                ...
            if recorder.should_stop:
                break

Needs `accelerate`; see docs/trainers.md.
"""

from torch.optim.optimizer import register_optimizer_step_post_hook

from smdebug._core import ModeKeys
from smdebug.exceptions import SMDebugTypeError
from smdebug.pytorch.trainers.requirement import require
from smdebug.pytorch.trainers.training_watch import TrainingWatch, contained

accelerate = require("accelerate", ["Accelerator.accumulate"], "accelerate", "0.20")


class SMDebugRecorder:
    """Records, while it is entered, what `accelerator` does with `model` into `out_dir`.

    `model` is the one to train, prepared or not. A step of training is one update of the
    parameters: it begins with the first call of the model after `accelerator.sync_gradients`
    was true. A call in eval mode is a step of evaluation.

    `rules` are judged when a saved step ends; where one fires, it is logged, and with `stop`
    (default True) `should_stop` becomes true. `hook_options` are those of
    smdebug.pytorch.Hook: `save_all`, `save_config`, `include_collections`, ...; the hook itself
    is the attribute `hook`, for its collections, modes and `status()`.

    It may be entered again: what follows goes into the same run, which ends with `close()` or
    the program. Mistakes in the arguments raise here; later nothing of ours does.
    """

    def __init__(self, accelerator, model, out_dir, rules=(), stop=True, **hook_options):
        if not isinstance(accelerator, accelerate.Accelerator):
            raise SMDebugTypeError(f"expected an accelerate.Accelerator, found {accelerator!r}")
        self.watch = TrainingWatch(out_dir, rules, stop, hook_options)
        self._accelerator = accelerator
        self._model = model
        self._was_synced = True
        self._post_hook = None

    @property
    def hook(self):
        return self.watch.hook

    @property
    def should_stop(self):
        """Whether a rule has fired."""
        return self.watch.should_stop

    def close(self):
        """Ends the run: publishes the last step. Also happens when the program ends."""
        self._end()
        self.watch.close()

    def __enter__(self):
        self._begin()
        return self

    def __exit__(self, *exception):
        self._end()

    @contained
    def _begin(self):
        self._was_synced = True
        self.watch.begin_fit(self._model)
        self.hook.call_mode = ModeKeys.EVAL
        self.hook.is_each_call_a_step = True
        self.hook.on_training_call = self._on_training_call
        self._post_hook = register_optimizer_step_post_hook(self._on_update)

    @contained
    def _end(self):
        if self._post_hook is not None:
            self._post_hook.remove()
            self._post_hook = None
        self.watch.end_fit()

    @contained
    def _on_training_call(self):
        if self._was_synced:
            self.watch.end_step()
            self.hook.begin_update()
        self._was_synced = self._accelerator.sync_gradients

    @contained
    def _on_update(self, optimizer, args, kwargs):
        if self.hook.trains_with(optimizer):
            self.watch.end_step()
