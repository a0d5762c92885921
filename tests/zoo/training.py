"""One training of the zoo: its parts, and the loop that all trainings share.

A `Training` is described first, then changed by a fault, then run. It is an ordinary PyTorch
training that does not know of smdebug.
"""

import collections
import contextlib
import dataclasses
from collections.abc import Callable

import recording
import torch
from tasks import Task
from torch import nn


@dataclasses.dataclass
class Training:
    """The parts of a training. A fault changes them before it begins.

    `make_model(training)` builds the model from `task`, `activation`, `width` and `depth`;
    `goal` is the accuracy (or share of explained variance) that a healthy training reaches on
    the test set. `make_schedule(optimizer, training)` makes the schedule of the learning rate; it
    steps every `schedule_every` updates. `autocast` is a narrow dtype, in which gradients are
    scaled if `has_scaler`, and clipped to the norm `clips_to` after they are unscaled, or before
    it if `clips_scaled`. Gradients are cleared before each batch, or after each update if it
    `accumulates`. Without `evaluates`, the model stays in training mode during evaluations.
    """

    task: Task
    make_model: Callable[["Training"], nn.Module]
    seed: int
    activation: type[nn.Module] = nn.ReLU
    width: int = 32
    depth: int = 2
    make_optimizer: Callable = lambda parameters, lr: torch.optim.SGD(parameters, lr, momentum=0.9)
    lr: float = 0.02
    has_schedule: bool = False
    make_schedule: Callable | None = None
    schedule_every: int = 1
    warm_up: int = 0
    batch: int = 32
    steps: int = 300
    evaluate_every: int = 50
    goal: float = 0.8
    loss: nn.Module | None = None
    clears_gradients: bool = True
    update_every: int = 1
    accumulates: bool = False
    returns_to_training: bool = True
    on_model: list[Callable[[nn.Module], None]] = dataclasses.field(default_factory=list)
    learns: Callable[[str], bool] = lambda name: True
    batches: Callable | None = None
    autocast: torch.dtype | None = None
    has_scaler: bool = False
    clips_to: float | None = None
    clips_scaled: bool = False
    renews_optimizer: bool = False
    evaluates: bool = True

    @property
    def epoch(self):
        """The number of steps of an epoch."""
        return max(1, len(self.task.train_x) // self.batch)


def run(training):
    """Trains, and returns the quality of the model on the test set: the share of correct
    predictions, or of explained variance. What is recorded ends before the quality is measured."""
    torch.manual_seed(training.seed)
    model = made_model(training)
    loss = training.loss or (nn.CrossEntropyLoss() if training.task.classes else nn.MSELoss())
    _Loop(training, model, loss).run()
    recording.end()
    return _quality(model, training.task, getattr(loss, "ignore_index", None))


def learned(training, quality):
    """Returns `quality` of a healthy training. Raises RuntimeError if it is below the goal."""
    if not quality >= training.goal:
        raise RuntimeError(
            f"a healthy training must learn, but its quality is {quality:.3f}, less than "
            f"{training.goal}"
        )
    return quality


def made_model(training):
    model = training.make_model(training)
    for change in training.on_model:
        change(model)
    return model


class _Loop:
    def __init__(self, training, model, loss):
        self.training, self.model, self.loss = training, model, loss
        self.learned = [p for name, p in model.named_parameters() if training.learns(name)]
        self.optimizer = training.make_optimizer(self.learned, training.lr)
        self.schedule = None
        if training.make_schedule:
            self.schedule = training.make_schedule(self.optimizer, training)
        elif training.has_schedule:
            self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
                self.optimizer, training.steps
            )
        self.scaler = torch.amp.GradScaler("cpu") if training.has_scaler else None

    def run(self):
        of_training = self.training.batches or (lambda: batches(self.training))
        self.model.train()
        for step, batch in enumerate(of_training()):
            self._train(step, batch)
            if self.schedule and (step + 1) % self.training.schedule_every == 0:
                self.schedule.step()
            if (step + 1) % self.training.evaluate_every == 0:
                self._evaluate()

    def _train(self, step, batch):
        task = self.training.task
        every = self.training.update_every
        if self.training.returns_to_training:
            self.model.train()
        if self.training.renews_optimizer:
            self.optimizer = self.training.make_optimizer(self.learned, self.training.lr)
        is_first_of_update = step % every == 0 or not self.training.accumulates
        if self.training.clears_gradients and is_first_of_update:
            self.optimizer.zero_grad()
        with self._precision():
            loss = self.loss(self.model(task.train_x[batch]), task.train_y[batch])
        if self.scaler:
            self._scaled_update(loss)
            return
        loss.backward()
        if (step + 1) % every == 0:
            self._clip()
            self.optimizer.step()

    def _scaled_update(self, loss):
        self.scaler.scale(loss).backward()
        if not self.training.clips_scaled:
            self.scaler.unscale_(self.optimizer)
        self._clip()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def _clip(self):
        if self.training.clips_to:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.training.clips_to)

    def _precision(self):
        if self.training.autocast is None:
            return contextlib.nullcontext()
        return torch.autocast("cpu", dtype=self.training.autocast)

    def _evaluate(self):
        task = self.training.task
        if self.training.evaluates:
            self.model.eval()
        with torch.no_grad(), self._precision():
            for batch in torch.arange(len(task.test_x)).split(128):
                self.loss(self.model(task.test_x[batch]), task.test_y[batch])


def batches(training):
    """Yields the indexes of each batch, in a new order for each epoch."""
    order = torch.Generator().manual_seed(training.seed)
    left = collections.deque()
    for _ in range(training.steps):
        if not left:
            left.extend(
                torch.randperm(len(training.task.train_x), generator=order).split(training.batch)
            )
            if len(left) > 1 and len(left[-1]) < training.batch:
                left.pop()
        yield left.popleft()


@torch.no_grad()
def _quality(model, task, ignored_label):
    model.eval()
    answers = model(task.test_x)
    if task.classes:
        counts = task.test_y != ignored_label
        return (answers.argmax(1) == task.test_y)[counts].float().mean().item()
    spread = (task.test_y - task.test_y.mean(0)).square().mean()
    return 1 - ((answers - task.test_y).square().mean() / spread).item()
