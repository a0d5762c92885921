"""A mistake in the configuration of a hook never ends or changes a training with MXNet."""

import pytest
from random_configurations import Configuration, seeds

from conftest import Training, nn, smd

STRANGER = nn.Dense(1, prefix="stranger_")
ODD = (
    lambda collection: collection.add_block_tensors(STRANGER),
    lambda collection: collection.add_block_tensors("net"),
)


OWN = {"step_on": ["forward", "optimizer", "sometimes", None]}


def trained(hook, configuration):
    """The parameters after four steps, in which the script also edits the hook and saves."""
    training = Training(hook)
    for step in range(4):
        training.step()
        if hook:
            configuration.use(hook)
            if step == 1:
                configuration.edit(hook)
    if hook:
        hook.close()
    parameters = training.net.collect_params().values()
    return [parameter.data().asnumpy().tobytes() for parameter in parameters]


@pytest.fixture(scope="module")
def plain():
    return trained(None, None)


# The first has no text among the patterns of losses.
@pytest.mark.parametrize("seed", [715805045, *seeds(40)])
def test_a_training_is_the_same_whatever_its_hook_is_told(seed, out_dir, plain):
    configuration = Configuration(seed, ODD, OWN)
    hook = configuration.hook(smd.Hook, out_dir)
    configuration.edit(hook)
    assert trained(hook, configuration) == plain
    assert hook.status().error is None, hook.status()
