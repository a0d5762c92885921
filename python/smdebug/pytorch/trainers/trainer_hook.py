"""`TrainerHook`: the hook of the trainers' callbacks.

A trainer knows better than the calls of a model when a step begins. A training step is one update
of the parameters, over any number of batches. A step of evaluation or prediction is one batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from smdebug._core import ModeKeys
from smdebug.pytorch.hook import Hook

if TYPE_CHECKING:
    import torch

    from smdebug.rules.run_monitor import RunMonitor, Verdict

LOSS = "loss"


class TrainerHook(Hook):
    """Records steps that a trainer begins and ends. None of its methods raises.

    Differences from `Hook`: outputs of the second batch of a step continue the numbering
    (`fc_output_1`); gradients are saved once, as the optimizer receives them; `loss_output_0` is
    the sum of the losses of the backward passes of the step.
    """

    # The mode of the steps that calls of the model in eval mode begin; None: they begin no step.
    call_mode: ModeKeys | None = None
    is_each_call_a_step: bool = False  # else one step covers the calls until the next `await_call`
    # Called before each call of the model in training mode, if such a call may begin an update.
    on_training_call: Callable[[], None] | None = None
    sums_losses: bool = True  # of one update; False: saves each loss
    monitor: RunMonitor | None = None  # judges the recorded steps

    _has_mode_of_script = False
    _sees_backward = True
    _root = None
    _is_call_awaited = False
    _is_step_open = False
    _is_update_open = False
    _losses: list[torch.Tensor] | tuple[()] = ()

    advice: str = "pass the callback to the trainer, and start the training"

    def __init__(self, out_dir: str | None = None, **options: Any) -> None:
        super().__init__(out_dir, gradients="final", **options)

    def verdicts(self) -> list[Verdict]:
        """The verdicts of the callback's rules: see BaseHook."""
        return self.monitor.verdicts() if self.monitor else []

    def attach_to(self, model: torch.nn.Module) -> None:
        """Installs the hooks in `model` and removes them from the previous model."""
        self.release()
        with self._isolate("registering the model"):
            self.register_module(model)
            self._root = self._roots[0]

    def release(self) -> None:
        """Removes all hooks. The run stays open for another model or for the same one."""
        self.end_step()
        with self._isolate("removing the hooks"):
            self._detach()
        self._root = self.call_mode = self.on_training_call = None
        self._is_call_awaited = False
        self._installer.clear()
        for kept in (
            self._roots,
            self._starts,
            self._root_handles,
            self._modules,
            self._loss_names,
            self._watched_roots,
        ):
            kept.clear()

    # --- steps ---

    def begin_update(self) -> None:
        """Begins a training step. The following calls of the model belong to it."""
        self._begin(ModeKeys.TRAIN)
        self._is_update_open = True

    def end_update(self) -> None:
        """Marks the end of the update. The step accepts scalars until the next one begins."""
        if self._is_update_open:
            self._is_update_open = False
            with self._isolate("saving the loss"):
                self._put_losses()
        self._is_call_awaited = True

    def begin_batch(self, mode: ModeKeys) -> None:
        """Begins a step of evaluation or prediction. Abandons an open update."""
        self._is_update_open = False
        self._begin(mode)

    def await_call(self) -> None:
        """Lets the next call of the model in eval mode begin a step of `call_mode`."""
        self._is_call_awaited = True

    def end_step(self) -> None:
        """Passes the open step to the writer."""
        self.end_update()
        if self._is_step_open:
            self._is_step_open = False
            with self._isolate("at the end of a step"):
                self._device_copies.hand_over()
                self._facts.end_step()  # before the step can be judged
                self._session.end_step()

    def is_saving(self) -> bool:
        """Whether anything is due in the open step."""
        return bool(self._session) and self._session.is_capturing()

    def takes_scalars(self) -> bool:
        """Whether a step is open, saved or not."""
        return self._is_step_open and not self._failure

    def trains_with(self, optimizer: torch.optim.Optimizer) -> bool:
        """Whether `optimizer` updates parameters of the model."""
        if self._root is None:
            return False
        own = {id(parameter) for parameter in self._root.module.parameters()}
        return any(id(each) in own for group in optimizer.param_groups for each in group["params"])

    def fail(self, where: str, error: BaseException) -> None:
        """Latches an error of smdebug and ends the recording."""
        self._latch(where, error)
        self.release()

    def _begin(self, mode: ModeKeys) -> None:
        self._losses = []
        if self._failure or self._root is None:
            return
        self.set_mode(mode)
        try:
            self._begin_root_step(self._root)
            self._is_step_open = True
        except Exception as error:
            self._switch.is_on = False
            self._latch("at the beginning of a step", error)

    def _on_root_call(self, root: Any, arguments: Any, keywords: Any) -> None:
        is_begun = False
        if root.module.training:
            if self.on_training_call is not None:
                self.on_training_call()
        elif self.call_mode is not None and not self._is_update_open and self._is_call_awaited:
            self._is_call_awaited = self.is_each_call_a_step
            self._begin(self.call_mode)
            is_begun = True
        if self._switch.is_on and not self._failure:
            with self._isolate("at a call of the model"):
                if not is_begun:
                    self._continue_step(root)
                self._watched_roots[root.module].run_input_hook(arguments, keywords)

    # --- features of a trainer's steps ---

    def wants_loss(self) -> bool:
        """Whether the open step records losses."""
        return self._is_update_open and self.is_saving()

    def add_loss(self, loss: torch.Tensor | None, start: torch.Tensor | None = None) -> None:
        """Records the tensor from which a backward pass starts; None if there is no single one.
        `start` is the same tensor with the scale of a GradScaler."""
        self.note_start_of_backward(start)
        if loss is not None and self.wants_loss():
            self._losses.append(loss.detach().clone())

    def _put_losses(self) -> None:
        losses, self._losses = self._losses, []
        if not losses:
            return
        for loss in [sum(losses)] if self.sums_losses else losses:
            self.record_tensor_value(LOSS, loss)
