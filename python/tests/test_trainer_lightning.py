"""The callback for Lightning, in real trainings, under both names of the package."""

import importlib
import pickle
import warnings

import numpy as np
import pytest
import torch
from torch.nn import functional

from conftest import FIRES, check_end_is_that_of_watch, read
from smdebug import SaveConfig, modes

warnings.filterwarnings("ignore")
EVERY_STEP = SaveConfig(save_interval=1)
X = torch.randn(24, 4, generator=torch.Generator().manual_seed(3))
Y = torch.randint(0, 3, (24,), generator=torch.Generator().manual_seed(4))


@pytest.fixture(params=["lightning.pytorch", "pytorch_lightning"])
def lightning(request):
    return importlib.import_module(request.param)


def callback(*args, **kwargs):
    """Made when both names are imported: it is a callback of both."""
    import lightning.pytorch
    import pytorch_lightning

    from smdebug.pytorch.lightning import SMDebugCallback

    made = SMDebugCallback(*args, **kwargs)
    assert isinstance(made, lightning.pytorch.Callback)
    assert isinstance(made, pytorch_lightning.Callback)
    return made


def net(lightning):
    class Net(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.fc1 = torch.nn.Linear(4, 8)
            self.dropout = torch.nn.Dropout(0.5)
            self.fc2 = torch.nn.Linear(8, 3)
            self.losses, self.gradients, self.weights = [], [], []

        def logits(self, x):
            return self.fc2(self.dropout(self.fc1(x).relu()))

        def training_step(self, batch, batch_idx):
            loss = functional.cross_entropy(self.logits(batch[0]), batch[1])
            self.losses.append(loss.item())
            return loss

        def on_before_zero_grad(self, optimizer):
            if self.fc2.weight.grad is not None:
                self.gradients.append(self.fc2.weight.grad.numpy().copy())

        def validation_step(self, batch, batch_idx):
            self.log("val_loss", functional.cross_entropy(self.logits(batch[0]), batch[1]))

        test_step = validation_step

        def predict_step(self, batch, batch_idx):
            return self.logits(batch[0])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    torch.manual_seed(0)
    return Net()


def loader(batch_size=4):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size)


def make_trainer(lightning, *callbacks, **options):
    options = {"max_epochs": 1, "accelerator": "cpu", **options}
    return lightning.Trainer(
        callbacks=list(callbacks),
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )


def values(trial, name, mode=modes.TRAIN):
    tensor = trial.tensor(name)
    return [tensor.value(step, mode=mode) for step in tensor.steps(mode=mode)]


def hooks_in(model):
    return sum(
        len(each._forward_hooks) + len(each._forward_pre_hooks) for each in model.modules()
    ) + sum(bool(each._backward_hooks) for each in model.parameters())


@pytest.mark.parametrize(
    "options",
    [{}, {"accumulate_grad_batches": 2}, {"precision": "bf16-mixed"}, {"gradient_clip_val": 0.1}],
    ids=lambda options: next(iter(options), "plain"),
)
def test_the_training_has_the_same_bits(lightning, out_dir, options):
    plain, watched = net(lightning), net(lightning)
    torch.manual_seed(1)
    make_trainer(lightning, max_epochs=2, **options).fit(plain, loader(), loader())
    watcher = callback(out_dir, rules=["ExplodingTensor"], save_all=True, save_config=EVERY_STEP)
    torch.manual_seed(1)
    make_trainer(lightning, watcher, max_epochs=2, **options).fit(watched, loader(), loader())
    assert watcher.hook.status().tensors > 50
    assert watched.losses == plain.losses
    for one, other in zip(plain.state_dict().values(), watched.state_dict().values(), strict=True):
        assert torch.equal(one, other)


def test_under_gradient_accumulation_an_update_is_one_step(lightning, out_dir):
    model = net(lightning)
    watcher = callback(
        out_dir,
        include_collections=["losses", "gradients", "weights"],
        include_regex=["fc1_output"],
        save_config=EVERY_STEP,
    )
    trainer = make_trainer(lightning, watcher, accumulate_grad_batches=4, gradient_clip_val=0.1)
    trainer.fit(model, loader())  # 6 batches: an update of 4, and one of 2
    trial = read(out_dir)
    assert trial.steps(mode=modes.TRAIN) == [0, 1]
    losses = [sum(model.losses[:4]) / 4, sum(model.losses[4:]) / 4]
    assert values(trial, "loss_output_0") == pytest.approx(losses)
    # Zeroed once more before each update; what was there then is what the optimizer had.
    gradients = values(trial, "gradient/Net_fc2.weight")
    np.testing.assert_array_equal(gradients[0], model.gradients[-1])
    assert trial.tensor("fc1_output_3").steps(mode=modes.TRAIN) == [0]
    assert trial.tensor("fc1_output_1").steps(mode=modes.TRAIN) == [0, 1]
    assert values(trial, "scalar/global_step") == [0, 1]


def test_validation_test_and_prediction_are_steps_of_their_modes(lightning, out_dir):
    model = net(lightning)
    watcher = callback(out_dir, include_regex=["fc2_output"], save_config=EVERY_STEP)
    trainer = make_trainer(lightning, watcher, max_epochs=2, num_sanity_val_steps=2)
    trainer.fit(model, loader(), loader(12))
    trainer.test(model, loader(12), verbose=False)
    predicted = trainer.predict(model, loader(8))
    assert hooks_in(model) == 0
    watcher.close()
    trial = read(out_dir)
    assert trial.loaded_all_steps
    assert trial.steps(mode=modes.TRAIN) == list(range(12))
    assert trial.steps(mode=modes.EVAL) == list(range(2 * 2 + 2))
    assert trial.steps(mode=modes.PREDICT) == [0, 1, 2]
    np.testing.assert_array_equal(
        np.concatenate(values(trial, "fc2_output_0", modes.PREDICT)), torch.cat(predicted)
    )
    assert trial.tensor("scalar/val_loss").steps(mode=modes.EVAL) == [1, 3, 5]


def test_a_validation_inside_an_update_does_not_make_it_two(lightning, out_dir):
    watcher = callback(out_dir, save_config=EVERY_STEP)
    trainer = make_trainer(lightning, watcher, accumulate_grad_batches=2, val_check_interval=3)
    trainer.fit(net(lightning), loader(), loader(24))
    trial = read(out_dir)
    # Six batches, three updates; the validation after the third batch cuts the second in two.
    assert watcher.hook.status().steps == 3 + 2
    assert trial.tensor("loss_output_0").steps(mode=modes.TRAIN) == [0, 2]


def test_manual_optimization_has_a_step_per_batch_and_a_loss_per_backward(lightning, out_dir):
    class Gan(lightning.LightningModule):
        automatic_optimization = False

        def __init__(self):
            super().__init__()
            self.generator = torch.nn.Linear(2, 4)
            self.critic = torch.nn.Linear(4, 1)
            self.losses = []

        def training_step(self, batch, batch_idx):
            for optimizer, sign in zip(self.optimizers(), (1, -1), strict=True):
                loss = sign * self.critic(self.generator(batch[0][:, :2])).mean()
                self.losses.append(loss.item())
                optimizer.zero_grad()
                self.manual_backward(loss)
                optimizer.step()

        def configure_optimizers(self):
            parts = (self.generator, self.critic)
            return [torch.optim.SGD(part.parameters(), lr=0.1) for part in parts]

    model = Gan()
    watcher = callback(out_dir, include_collections=["losses", "gradients"], save_config=EVERY_STEP)
    make_trainer(lightning, watcher).fit(model, loader(8))
    trial = read(out_dir)
    assert trial.steps(mode=modes.TRAIN) == [0, 1, 2]
    recorded = [values(trial, f"loss_output_{i}") for i in range(2)]
    assert np.stack(recorded, axis=1).ravel() == pytest.approx(model.losses)
    assert len(values(trial, "gradient/Gan_generator.weight")) == 3
    assert len(values(trial, "gradient/Gan_critic.weight")) == 3


def test_a_rule_that_fires_stops_the_trainer_at_once(lightning, out_dir, logged):
    watcher = callback(out_dir, rules=[FIRES], save_config=EVERY_STEP)
    trainer = make_trainer(lightning, watcher, max_epochs=50)
    trainer.fit(net(lightning), loader())
    assert trainer.global_step == 1
    watcher.close()
    check_end_is_that_of_watch(logged, out_dir)


def test_nothing_stays_hooked_when_a_training_fails(lightning, out_dir):
    backward = torch.autograd.backward
    model = net(lightning)

    def fails(*args):
        raise KeyError("a bug of the user's")

    model.on_train_epoch_end = fails
    watcher = callback(out_dir, save_all=True, save_config=EVERY_STEP)
    with pytest.raises(KeyError, match="a bug of the user's"):
        make_trainer(lightning, watcher).fit(model, loader())
    assert hooks_in(model) == 0
    assert torch.autograd.backward is backward
    assert read(out_dir).steps(mode=modes.TRAIN) == list(range(6))


def test_several_fits_with_one_callback_follow_each_other(lightning, out_dir):
    watcher = callback(out_dir, rules=["ExplodingTensor"], save_config=EVERY_STEP)
    models = [net(lightning) for _ in range(2)]
    for model in models:
        make_trainer(lightning, watcher).fit(model, loader())
    watcher.close()
    trial = read(out_dir)
    assert trial.steps(mode=modes.TRAIN) == list(range(12))
    assert values(trial, "loss_output_0") == pytest.approx(models[0].losses + models[1].losses)


def test_a_resumed_fit_says_which_of_the_trainers_steps_it_records(lightning, tmp_path, out_dir):
    first = make_trainer(lightning)
    first.fit(net(lightning), loader())
    first.save_checkpoint(tmp_path / "last.ckpt")
    watcher = callback(out_dir, save_config=EVERY_STEP)
    make_trainer(lightning, watcher, max_epochs=2).fit(
        net(lightning), loader(), ckpt_path=tmp_path / "last.ckpt"
    )
    assert values(read(out_dir), "scalar/global_step") == list(range(6, 12))


def test_an_error_of_ours_ends_the_recording_and_not_the_training(lightning, out_dir, monkeypatch):
    watcher = callback(out_dir, rules=["ExplodingTensor"], save_config=EVERY_STEP)
    model = net(lightning)

    begin_update = watcher.hook.begin_update

    def fails_at_the_third_update():
        if len(model.losses) == 2:
            raise ZeroDivisionError("planted")
        begin_update()

    monkeypatch.setattr(watcher.hook, "begin_update", fails_at_the_third_update)
    trainer = make_trainer(lightning, watcher)
    trainer.fit(model, loader())
    assert trainer.global_step == 6
    assert hooks_in(model) == 0
    assert "on_train_batch_start: ZeroDivisionError('planted')" in watcher.hook.status().error
    assert read(out_dir).steps(mode=modes.TRAIN) == [0, 1]


def test_a_callback_that_was_pickled_records_like_a_new_one(lightning, tmp_path):
    watcher = callback(str(tmp_path / "run"), save_config=EVERY_STEP)
    copy = pickle.loads(pickle.dumps(watcher))
    make_trainer(lightning, copy).fit(net(lightning), loader())
    assert read(str(tmp_path / "run")).steps(mode=modes.TRAIN) == list(range(6))
