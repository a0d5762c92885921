"""Records a training loop written with Hugging Face Accelerate.

    from smdebug.pytorch.accelerate import SMDebugRecorder

    with SMDebugRecorder(accelerator, model, "runs/1", rules=["ExplodingTensor"]) as recorder:
        for batch in loader:
            with accelerator.accumulate(model):
                ...
            if recorder.should_stop:
                break

Needs `accelerate`; see docs/trainers.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from smdebug._core import ModeKeys
from smdebug.exceptions import SMDebugTypeError
from smdebug.hook_arguments import shown
from smdebug.pytorch.trainers.optional_import import require
from smdebug.pytorch.trainers.training_watch import TrainingCallback, isolated

accelerate: Any = require("accelerate", ["Accelerator.accumulate"], "accelerate", "0.20")


class SMDebugRecorder(TrainingCallback):
    """A context manager that records what `accelerator` does with `model` into `out_dir`.

    `model` is the model to train, prepared or not. A training step is one update of the parameters.
    It starts with the first call of the model after `accelerator.sync_gradients` was true. A call
    in eval mode is a step of evaluation.

    The `rules` judge each saved step when it ends. A rule that fires logs an error, and with `stop`
    (default True) sets `should_stop`. `hook_options` are those of smdebug.pytorch.Hook: `save_all`,
    `save_config`, `include_collections`, ...

    The context can be entered again and then continues the same run, which ends with `close()` or
    the program. Raises for invalid arguments; later errors are logged and end the recording, never
    the training.
    """

    def __init__(
        self,
        accelerator: Any,
        model: Any,
        out_dir: str | None = None,
        rules: Iterable[Any] = (),
        stop: bool = True,
        **hook_options: Any,
    ) -> None:
        if not isinstance(accelerator, accelerate.Accelerator):
            raise SMDebugTypeError(
                f"expected an accelerate.Accelerator, found {shown(accelerator)}"
            )
        if not isinstance(model, torch.nn.Module):
            raise SMDebugTypeError(
                f"model must be the torch.nn.Module that is trained, found {shown(model)}"
            )
        super().__init__(out_dir, rules, stop, **hook_options)
        self.hook.advice = "train in the `with` block of the recorder"
        self._accelerator = accelerator
        self._model = model
        self._was_synced = True
        self._post_hook: Any = None

    @property
    def should_stop(self) -> bool:
        """Whether a rule has fired."""
        return self.watch.should_stop

    def close(self) -> None:
        """Publishes the last step and ends the run. The end of the program does the same."""
        self._end()
        super().close()

    def __enter__(self) -> SMDebugRecorder:
        self._begin()
        return self

    def __exit__(self, *exception: object) -> None:
        self._end()

    @isolated
    def _begin(self) -> None:
        self._was_synced = True
        self.watch.begin_fit(self._model)
        self.hook.call_mode = ModeKeys.EVAL
        self.hook.is_each_call_a_step = True
        self.hook.on_training_call = self._on_training_call
        self._post_hook = register_optimizer_step_post_hook(self._on_update)

    @isolated
    def _end(self) -> None:
        if self._post_hook is not None:
            self._post_hook.remove()
            self._post_hook = None
        self.watch.end_fit()

    @isolated
    def _on_training_call(self) -> None:
        if self._was_synced:
            self.watch.end_step()
            self.hook.begin_update()
        self._was_synced = self._accelerator.sync_gradients

    @isolated
    def _on_update(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self.hook.trains_with(optimizer):
            self.watch.end_step()
