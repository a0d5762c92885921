"""A training gives the same bits with and without the hook."""

import numpy as np
import pytest

from conftest import Training, make_net, mx, smd

STEPS = 7


def trained(out_dir=None, hybridize=None, context=None, **options):
    """The weights after some steps with dropout, of which every third is saved."""
    hook = (
        smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=3), **options)
        if out_dir
        else None
    )
    training = Training(hook, net=make_net(dropout=0.5), context=context)
    if hybridize is not None:
        training.net.hybridize(**hybridize)
    training.steps(STEPS)
    if hook:
        assert hook.status().error is None and hook.status().tensors > 0
        hook.close()
    return training.weights()


@pytest.mark.parametrize("context", [None, [mx.cpu(0), mx.cpu(1)]])
@pytest.mark.parametrize(
    "hybridize", [None, {}, {"static_alloc": True}, {"static_alloc": True, "static_shape": True}]
)
@pytest.mark.parametrize("options", [{}, {"save_all": True}])
def test_weights_are_the_same_bits_with_and_without_the_hook(
    out_dir, hybridize, options, context, warned
):
    with warned() as usual:
        plain = trained(hybridize=hybridize, context=context)
    with warned() as texts:
        watched = trained(out_dir, hybridize, context, **options)
    assert texts - usual == set()
    assert plain.keys() == watched.keys()
    for name in plain:
        np.testing.assert_array_equal(plain[name], watched[name])


def test_dropout_is_at_work_in_these_trainings():
    weights = []
    for rate in (0.0, 0.5):
        weights.append(Training(net=make_net(dropout=rate)).steps(2).weights())
    assert not np.array_equal(weights[0]["net_dense0_weight"], weights[1]["net_dense0_weight"])
