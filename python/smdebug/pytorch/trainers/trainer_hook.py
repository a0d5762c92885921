"""`TrainerHook`: the hook of the trainers' callbacks.

A trainer knows better than a model's calls when a step begins. A training step is one update of
the parameters, over however many batches its gradients come from; a step of evaluation or
prediction is one batch.
"""

from smdebug._core import ModeKeys
from smdebug.pytorch.hook import Hook

LOSS = "loss"


class TrainerHook(Hook):
    """Records steps that somebody else begins and ends. Nothing here raises.

    What differs from `Hook`: outputs of the second batch of a step are numbered on
    (`fc_output_1`); gradients are saved once, as the optimizer gets them; `loss_output_0` is the
    sum of the losses that the step went backward from.
    """

    # Of the steps that calls of the model begin, in eval mode; None: they begin none.
    call_mode = None
    is_each_call_a_step = False  # else those until `await_call` belong to the first of them
    # Called before a call of the model in training mode, where that may begin an update.
    on_training_call = None
    sums_losses = True  # of one update; False: each is a loss of its own
    monitor = None  # the RunMonitor that judges what this hook records, if any

    _root = None
    _is_call_awaited = False
    _is_step_open = False
    _is_update_open = False
    _losses = ()

    def __init__(self, out_dir, **options):
        super().__init__(out_dir, gradients="final", **options)

    def verdicts(self):
        """The verdicts of the callback's rules: see BaseHook."""
        return self.monitor.verdicts() if self.monitor else []

    def attach_to(self, model):
        """Puts the hooks into `model`, and takes them out of the one before."""
        self.release()
        with self._unharmed("registering the model"):
            self.register_module(model)
            self._root = self._roots[0]

    def release(self):
        """Takes all hooks out. The run stays open, for another model or the same again."""
        self.end_step()
        with self._unharmed("taking the hooks out"):
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

    def begin_update(self):
        """A step of training begins; what the model is called with now belongs to it."""
        self._begin(ModeKeys.TRAIN)
        self._is_update_open = True

    def end_update(self):
        """The optimizer has acted. The step takes scalars until the next one begins."""
        if self._is_update_open:
            self._is_update_open = False
            with self._unharmed("saving the loss"):
                self._put_losses()
        self._is_call_awaited = True

    def begin_batch(self, mode):
        """A step of evaluation or prediction begins. An update that is open is given up."""
        self._is_update_open = False
        self._begin(mode)

    def await_call(self):
        """The next call of the model in eval mode begins a step of `call_mode`."""
        self._is_call_awaited = True

    def end_step(self):
        """Hands the open step to the writer."""
        self.end_update()
        if self._is_step_open:
            self._is_step_open = False
            with self._unharmed("at the end of a step"):
                self._device_copies.hand_over()
                self._session.end_step()

    def is_saving(self):
        """Whether anything is due in the open step."""
        return bool(self._session) and self._session.is_capturing()

    def takes_scalars(self):
        """Whether a step is open, saved or not."""
        return self._is_step_open and not self._failure

    def trains_with(self, optimizer):
        """Whether `optimizer` acts on the model's parameters."""
        if self._root is None:
            return False
        own = {id(parameter) for parameter in self._root.module.parameters()}
        return any(id(each) in own for group in optimizer.param_groups for each in group["params"])

    def fail(self, where, error):
        """Latches an error of ours; recording is over."""
        self._latch(where, error)
        self.release()

    def _begin(self, mode):
        self._losses = []
        if self._failure or self._root is None:
            return
        self.set_mode(mode)
        try:
            self._begin_root_step(self._root)
            self._is_step_open = True
        except Exception as error:
            self._gate.is_open = False
            self._latch("at the beginning of a step", error)

    def _on_root_call(self, root, arguments, keywords):
        is_begun = False
        if root.module.training:
            if self.on_training_call is not None:
                self.on_training_call()
        elif self.call_mode is not None and not self._is_update_open and self._is_call_awaited:
            self._is_call_awaited = self.is_each_call_a_step
            self._begin(self.call_mode)
            is_begun = True
        if self._gate.is_open and not self._failure:
            with self._unharmed("at a call of the model"):
                if not is_begun:
                    self._go_on_with(root)
                self._watched_roots[root.module].run_input_hook(arguments, keywords)

    # --- what only a trainer's step has ---

    def wants_loss(self):
        """Whether `add_loss` would do something."""
        return self._is_update_open and self.is_saving()

    def add_loss(self, loss):
        """A backward pass starts from `loss`, or from something else: None."""
        if loss is not None and self.wants_loss():
            self._losses.append(loss.detach().clone())

    def _put_losses(self):
        losses, self._losses = self._losses, []
        if not losses:
            return
        for loss in [sum(losses)] if self.sums_losses else losses:
            self.record_tensor_value(LOSS, loss)
