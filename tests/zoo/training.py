"""One training of the zoo: its parts, and the loop that all trainings share.

A `Training` is described first, then changed by a fault, then run. It is an ordinary PyTorch
training with a hook that saves what every rule needs, every tenth step as `smdebug run` does.
"""

import collections
import dataclasses
from collections.abc import Callable

import torch
from tasks import Task
from torch import nn

import smdebug.pytorch as smd
from smdebug import modes
from smdebug.activation_collections import ACTIVATION_COLLECTIONS

SAVE_INTERVAL = 10
# Not in `save_all`: PyTorch's adapter fills these by the types of modules.
BY_KIND = sorted(ACTIVATION_COLLECTIONS)


@dataclasses.dataclass
class Training:
    """The parts of a training. A fault changes them before it begins.

    `make_model(training)` builds the model from `task`, `activation`, `width` and `depth`;
    `goal` is the accuracy (or share of explained variance) that a healthy training reaches on
    the test set.
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
    batch: int = 32
    steps: int = 300
    evaluate_every: int = 50
    goal: float = 0.8
    loss: nn.Module | None = None
    clears_gradients: bool = True
    on_model: list[Callable[[nn.Module], None]] = dataclasses.field(default_factory=list)
    learns: Callable[[str], bool] = lambda name: True
    save_interval: int = SAVE_INTERVAL
    batches: Callable | None = None


def run(training, out_dir):
    """Trains, saves into `out_dir`, and returns the quality of the model on the test set: the share
    of correct predictions, or of explained variance."""
    torch.manual_seed(training.seed)
    model = made_model(training)
    loss = training.loss or (nn.CrossEntropyLoss() if training.task.classes else nn.MSELoss())
    with make_hook(out_dir, training.save_interval) as hook:
        hook.register_module(model)
        hook.register_loss(loss)
        _Loop(training, model, loss, hook).run()
    return _quality(model, training.task)


def made_model(training):
    model = training.make_model(training)
    for change in training.on_model:
        change(model)
    return model


def make_hook(out_dir, save_interval=SAVE_INTERVAL, **options):
    """A hook that saves everything: training steps at the interval, evaluations whole."""
    config = smd.SaveConfig(
        {
            modes.TRAIN: smd.SaveConfigMode(save_interval=save_interval),
            modes.EVAL: smd.SaveConfigMode(save_interval=1),
        }
    )
    hook = smd.Hook(
        str(out_dir), save_all=True, include_collections=BY_KIND, save_config=config, **options
    )
    for name in BY_KIND:
        hook.get_collection(name)  # its tensors are those of modules of the type
    return hook


class _Loop:
    def __init__(self, training, model, loss, hook):
        self.training, self.model, self.loss, self.hook = training, model, loss, hook
        learned = [p for name, p in model.named_parameters() if training.learns(name)]
        self.optimizer = training.make_optimizer(learned, training.lr)
        self.schedule = None
        if training.has_schedule:
            self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
                self.optimizer, training.steps
            )

    def run(self):
        of_training = self.training.batches or (lambda: batches(self.training))
        for step, batch in enumerate(of_training()):
            self._train(batch)
            if (step + 1) % self.training.evaluate_every == 0:
                self._evaluate()

    def _train(self, batch):
        task = self.training.task
        self.hook.set_mode(modes.TRAIN)
        self.model.train()
        if self.training.clears_gradients:
            self.optimizer.zero_grad()
        self.loss(self.model(task.train_x[batch]), task.train_y[batch]).backward()
        self.optimizer.step()
        if self.schedule:
            self.schedule.step()

    def _evaluate(self):
        task = self.training.task
        self.hook.set_mode(modes.EVAL)
        self.model.eval()
        with torch.no_grad():
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
def _quality(model, task):
    model.eval()
    answers = model(task.test_x)
    if task.classes:
        return (answers.argmax(1) == task.test_y).float().mean().item()
    spread = (task.test_y - task.test_y.mean(0)).square().mean()
    return 1 - ((answers - task.test_y).square().mean() / spread).item()
