"""A mistake in the configuration of a hook never ends or changes a training with PyTorch."""

import pytest
import torch
from random_configurations import Configuration, seeds

import smdebug.pytorch as smd
from conftest import Net, train

STRANGER = torch.nn.Linear(1, 1)
ODD = (
    lambda collection: collection.add_module_tensors(STRANGER),
    lambda collection: collection.add_module_tensors("fc1"),
)


OWN = {
    "step_on": ["forward", "optimizer", "sometimes", None],
    "gradients": ["final", "backward", "sometimes", None],
}


def trained(hook, configuration):
    """The weights after four steps, in which the script also edits the hook and saves tensors."""
    torch.manual_seed(1)
    model, loss = Net(), torch.nn.CrossEntropyLoss()
    if hook:
        hook.register_module(model)
        hook.register_loss(loss)

    def after_backward(step):
        if hook:
            hook.record_tensor_value("extra", torch.ones(1))
            configuration.use(hook)
            if step == 1:
                configuration.edit(hook)

    train(model, 4, loss=loss, on_step=after_backward)
    if hook:
        hook.close()
    return [parameter.detach().numpy().tobytes() for parameter in model.parameters()]


@pytest.fixture(scope="module")
def plain():
    return trained(None, None)


@pytest.mark.parametrize("seed", seeds(60))
def test_a_training_is_the_same_whatever_its_hook_is_told(seed, tmp_path, plain):
    configuration = Configuration(seed, ODD, OWN)
    hook = configuration.hook(smd.Hook, str(tmp_path / "run"))
    configuration.edit(hook)
    assert trained(hook, configuration) == plain
    assert hook.status().error is None, hook.status()
