"""Recording a loop over Accelerate, with the real package."""

import warnings

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch.optim import optimizer as torch_optimizers

from conftest import FIRES, Net, check_end_is_that_of_watch, read
from smdebug import SaveConfig, modes
from smdebug.exceptions import SMDebugTypeError
from smdebug.pytorch.accelerate import SMDebugRecorder

warnings.filterwarnings("ignore")
EVERY_STEP = SaveConfig(save_interval=1)
X = torch.randn(24, 4, generator=torch.Generator().manual_seed(3))
Y = torch.randint(0, 3, (24,), generator=torch.Generator().manual_seed(4))


@pytest.fixture(autouse=True)
def _each_test_sets_up_its_own():
    AcceleratorState._reset_state(True)


class Loop:
    """Twelve batches of two, in a loop as Accelerate's guide writes it."""

    def __init__(self, accumulation=1, **options):
        self.accelerator = Accelerator(
            cpu=True, gradient_accumulation_steps=accumulation, **options
        )
        torch.manual_seed(0)
        self.plain_model = Net(dropout=0.5)
        optimizer = torch.optim.AdamW(self.plain_model.parameters(), lr=0.1)
        data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), 2)
        prepared = self.accelerator.prepare(self.plain_model, optimizer, data)
        self.model, self.optimizer, self.data = prepared
        self.losses, self.gradients = [], []

    def run(self, recorder=None, evaluate_after=None):
        self.model.train()
        for number, (x, y) in enumerate(self.data):
            with self.accelerator.accumulate(self.model):
                loss = torch.nn.functional.cross_entropy(self.model(x), y)
                self.losses.append(loss.item())
                self.accelerator.backward(loss)
                if self.accelerator.sync_gradients:
                    self.accelerator.clip_grad_norm_(self.model.parameters(), 0.1)
                    self.gradients.append(self.plain_model.fc2.weight.grad.numpy().copy())
                self.optimizer.step()
                self.optimizer.zero_grad()
            if number == evaluate_after:
                self.evaluate()
            if recorder is not None and recorder.should_stop:
                break

    def evaluate(self):
        self.model.eval()
        with torch.no_grad():
            self.model(X)
            self.model(X)
        self.model.train()


def values(trial, name, mode=modes.TRAIN):
    tensor = trial.tensor(name)
    return [tensor.value(step, mode=mode) for step in tensor.steps(mode=mode)]


@pytest.mark.parametrize("options", [{}, {"accumulation": 3}, {"mixed_precision": "bf16"}])
def test_the_training_has_the_same_bits(out_dir, options):
    plain = Loop(**options)
    torch.manual_seed(1)
    plain.run()
    watched = Loop(**options)
    torch.manual_seed(1)
    with SMDebugRecorder(
        watched.accelerator, watched.model, out_dir, save_all=True, save_config=EVERY_STEP
    ) as recorder:
        watched.run()
    assert recorder.hook.status().tensors > 20
    assert watched.losses == plain.losses
    for one, other in zip(
        plain.plain_model.parameters(), watched.plain_model.parameters(), strict=True
    ):
        assert torch.equal(one, other)


def test_under_gradient_accumulation_an_update_is_one_step(out_dir):
    loop = Loop(accumulation=5)
    collections = ["losses", "gradients"]
    with SMDebugRecorder(
        loop.accelerator,
        loop.model,
        out_dir,
        include_collections=collections,
        save_config=EVERY_STEP,
    ):
        loop.run()
    trial = read(out_dir)
    assert trial.steps(mode=modes.TRAIN) == [0, 1, 2]  # 5 + 5 + 2 batches
    losses = [sum(loop.losses[first : first + 5]) / 5 for first in (0, 5, 10)]
    assert values(trial, "loss_output_0") == pytest.approx(losses)
    np.testing.assert_array_equal(values(trial, "gradient/Net_fc2.weight"), loop.gradients)


def test_an_evaluation_is_steps_of_its_own(out_dir):
    loop = Loop(accumulation=4)
    with SMDebugRecorder(loop.accelerator, loop.model, out_dir, save_config=EVERY_STEP) as recorder:
        loop.run(evaluate_after=3)
    assert recorder.hook.status().steps == 3 + 2
    assert read(out_dir).tensor("loss_output_0").steps(mode=modes.TRAIN) == [0, 1, 2]


def test_a_rule_that_fires_tells_the_loop_after_the_update(out_dir, logged):
    loop = Loop(accumulation=2)
    recorder = SMDebugRecorder(
        loop.accelerator,
        loop.model,
        out_dir,
        rules=[FIRES],
        save_config=EVERY_STEP,
    )
    with recorder:
        loop.run(recorder)
    assert recorder.should_stop
    assert len(loop.losses) == 2
    recorder.close()
    check_end_is_that_of_watch(logged, out_dir)


def test_nothing_stays_hooked(out_dir):
    before = [
        set(torch_optimizers._global_optimizer_pre_hooks),
        set(torch_optimizers._global_optimizer_post_hooks),
    ]
    backward = torch.autograd.backward
    loop = Loop()
    with pytest.raises(KeyError):
        with SMDebugRecorder(loop.accelerator, loop.model, out_dir, save_all=True):
            loop.run()
            raise KeyError
    assert torch.autograd.backward is backward
    assert set(torch_optimizers._global_optimizer_pre_hooks) <= before[0]
    assert set(torch_optimizers._global_optimizer_post_hooks) <= before[1]
    assert not any(each._forward_hooks for each in loop.model.modules())


def test_it_may_be_entered_again(out_dir):
    loop = Loop()
    recorder = SMDebugRecorder(loop.accelerator, loop.model, out_dir, save_config=EVERY_STEP)
    for _ in range(2):
        with recorder:
            loop.run()
    recorder.close()
    trial = read(out_dir)
    assert trial.loaded_all_steps
    assert values(trial, "loss_output_0") == pytest.approx(loop.losses)


def test_what_is_no_accelerator_is_said(out_dir):
    with pytest.raises(SMDebugTypeError, match="Accelerator"):
        SMDebugRecorder(Net(), Net(), out_dir)


def test_a_model_that_is_no_module_is_refused(out_dir):
    with pytest.raises(SMDebugTypeError, match=r"model must be the torch\.nn\.Module .* found 'm'"):
        SMDebugRecorder(Accelerator(cpu=True), "m", out_dir)
