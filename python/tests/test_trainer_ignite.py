"""The handler for Ignite, with the real package."""

import numpy as np
import pytest
import torch
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Loss

from conftest import FIRES, Net, check_end_is_that_of_watch, read
from smdebug import SaveConfig, modes
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.pytorch.ignite import SMDebugHandler

EVERY_STEP = SaveConfig(save_interval=1)
X = torch.randn(24, 4, generator=torch.Generator().manual_seed(3))
Y = torch.randint(0, 3, (24,), generator=torch.Generator().manual_seed(4))
BATCHES = [(X[i : i + 4], Y[i : i + 4]) for i in range(0, 24, 4)]


def train(handler=None, epochs=1, accumulation=1, evaluate=False):
    """Returns the model, the trainer's losses, and the trainer."""
    torch.manual_seed(0)
    model = Net(dropout=0.5)
    loss = torch.nn.functional.cross_entropy
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    trainer = create_supervised_trainer(
        model, optimizer, loss, gradient_accumulation_steps=accumulation
    )
    losses = []
    trainer.add_event_handler(
        Events.ITERATION_COMPLETED, lambda engine: losses.append(engine.state.output)
    )
    evaluator = create_supervised_evaluator(model, metrics={"nll": Loss(loss)})
    if handler is not None:
        handler.attach(trainer, model, evaluators=[evaluator])
    if evaluate:
        trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda engine: evaluator.run(BATCHES[:2]))
    trainer.run(BATCHES, max_epochs=epochs)
    return model, losses, trainer


def test_what_cannot_be_attached_is_refused(out_dir):
    handler, model, trainer = SMDebugHandler(out_dir), Net(), Engine(lambda *_: None)
    for arguments, said in [
        ((model, trainer), "trainer must be an ignite Engine, found"),
        ((trainer, "m"), "model must be the torch.nn.Module that the trainer trains, found 'm'"),
        ((trainer, model, [model]), "each of evaluators must be an ignite Engine, found"),
    ]:
        with pytest.raises(SMDebugTypeError, match=said):
            handler.attach(*arguments)
    handler.attach(trainer, model)
    with pytest.raises(SMDebugValueError, match="attached already; make another SMDebugHandler"):
        handler.attach(trainer, model)
    handler.close()


def values(trial, name, mode=modes.TRAIN):
    tensor = trial.tensor(name)
    return [tensor.value(step, mode=mode) for step in tensor.steps(mode=mode)]


@pytest.mark.parametrize("accumulation", [1, 3])
def test_the_training_has_the_same_bits(out_dir, accumulation):
    options = {"epochs": 2, "accumulation": accumulation, "evaluate": True}
    plain, plain_losses, _ = train(**options)
    handler = SMDebugHandler(
        out_dir,
        rules=["ExplodingTensor"],
        gradient_accumulation_steps=accumulation,
        save_all=True,
        save_config=EVERY_STEP,
    )
    watched, losses, _ = train(handler, **options)
    assert handler.hook.status().tensors > 20
    assert losses == plain_losses
    for one, other in zip(plain.parameters(), watched.parameters(), strict=True):
        assert torch.equal(one, other)


def test_under_gradient_accumulation_an_update_is_one_step(out_dir):
    handler = SMDebugHandler(
        out_dir,
        gradient_accumulation_steps=3,
        include_collections=["losses", "gradients"],
        save_config=EVERY_STEP,
    )
    _, losses, _ = train(handler, accumulation=3)
    trial = read(out_dir)
    assert trial.steps(mode=modes.TRAIN) == [0, 1]
    # Ignite gives back the losses before it divides them by the number of batches.
    means = np.reshape(losses, (2, 3)).mean(axis=1)
    assert values(trial, "loss_output_0") == pytest.approx(means)
    assert len(values(trial, "gradient/Net_fc2.weight")) == 2


def test_evaluators_have_steps_of_their_own(out_dir):
    handler = SMDebugHandler(out_dir, include_regex=["fc2_output"], save_config=EVERY_STEP)
    model, _, _ = train(handler, epochs=2, evaluate=True)
    assert not any(each._forward_hooks for each in model.modules())
    handler.close()
    trial = read(out_dir)
    assert trial.loaded_all_steps
    assert trial.steps(mode=modes.TRAIN) == list(range(12))
    assert trial.steps(mode=modes.EVAL) == [0, 1, 2, 3]
    assert trial.tensor("scalar/nll").steps(mode=modes.EVAL) == [1, 3]


def test_a_rule_that_fires_terminates_the_trainer(out_dir, logged):
    backward = torch.autograd.backward
    handler = SMDebugHandler(out_dir, rules=[FIRES], save_config=EVERY_STEP)
    model, losses, trainer = train(handler, epochs=5)
    assert len(losses) == 1
    assert torch.autograd.backward is backward
    assert not any(each._forward_hooks for each in model.modules())
    handler.close()
    check_end_is_that_of_watch(logged, out_dir)


def test_losses_and_gradients_have_no_scale_of_a_grad_scaler(out_dir):
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    losses, gradients = [], []

    def update(engine, batch):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(batch[0]), batch[1])
        losses.append(loss.item())
        scaler.scale(loss).backward()
        gradients.append(model.fc2.weight.grad.numpy() / 1024)
        scaler.step(optimizer)
        scaler.update()

    trainer = Engine(update)
    handler = SMDebugHandler(
        out_dir, include_collections=["losses", "gradients"], save_config=EVERY_STEP
    )
    handler.attach(trainer, model)
    trainer.run(BATCHES)
    trial = read(out_dir)
    assert values(trial, "loss_output_0") == pytest.approx(losses, abs=0)
    np.testing.assert_array_equal(values(trial, "gradient/Net_fc2.weight"), gradients)
