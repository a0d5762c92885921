"""Every kind of argument that adds tensors to a collection of a hook for MXNet: the call
takes it, or refuses it and changes nothing. Neither affects the training."""

import numpy as np
import pytest
from added_kinds import (
    FLAGS,
    INCLUDED,
    NO_FLAGS,
    ODD,
    OFF,
    check_is_refused_everywhere,
    check_save_all_is_what_scripts_pass,
    members_of,
)
from mxnet import gluon

from conftest import EVERY_STEP, Training, make_net, mx, nn, smd
from smdebug.exceptions import SMDebugTypeError


class Block(gluon.Block):
    """A block of the user, which is no graph."""

    def forward(self, x):
        return x * 2


def hybridized():
    net = nn.HybridSequential()
    net.add(nn.Dense(8), nn.Activation("relu"))
    net.hybridize()
    return net


def symbol_block():
    x = mx.sym.Variable("data", dtype="float32")
    return gluon.SymbolBlock(x * 2, x)


# Name -> makes a block of a net.
BLOCKS = {
    "Dense": lambda: nn.Dense(8),
    "Activation": lambda: nn.Activation("relu"),
    "Lambda": lambda: nn.Lambda("relu"),
    "HybridLambda": lambda: nn.HybridLambda("relu"),
    "Block": Block,
    "container": lambda: nn.Sequential(),
    "hybridized": hybridized,
    "SymbolBlock": symbol_block,
}
STRANGERS = {
    "of no net": lambda: nn.Dense(3, prefix="stranger_"),
    "of unknown shape": lambda: nn.Dense(3),
    "another net": make_net,
    "loss": gluon.loss.L2Loss,
    "recurrent": lambda: gluon.rnn.LSTM(2),
}
# Name -> makes a value of MXNet that is no block.
VALUES = {
    "nd": lambda: mx.nd.ones(2),
    "nd of one element": lambda: mx.nd.ones(1),
    "nd of another device": lambda: mx.nd.ones(2, ctx=mx.cpu(1)),
    "np": lambda: mx.np.ones(2),
    "csr": lambda: mx.nd.ones((2, 2)).tostype("csr"),
    "row_sparse": lambda: mx.nd.ones((2, 2)).tostype("row_sparse"),
    "Parameter": lambda: gluon.Parameter("p", shape=(2,)),
    "deferred Parameter": lambda: nn.Dense(2).weight,
    "Constant": lambda: gluon.Constant("c", mx.nd.ones(2)),
    "parameters": lambda: nn.Dense(2).collect_params(),
    "symbol": lambda: mx.sym.Variable("x"),
    "group of symbols": lambda: mx.sym.Group([mx.sym.Variable("x"), mx.sym.Variable("y")]),
    "class of blocks": lambda: nn.Dense,
    "list of blocks": lambda: [nn.Dense(2)],
    "text": lambda: "net",
}
UNNAMED = {**{kind: make for kind, make in VALUES.items() if kind != "text"}, **ODD}


@pytest.fixture
def hook(out_dir):
    hook = smd.Hook(out_dir, save_config=EVERY_STEP, include_collections=["weights", "mine"])
    yield hook
    hook.close()


def trained(hook, read, net=None):
    """The run of two steps."""
    Training(hook, net).steps(2)
    hook.close()
    assert hook.status().error is None
    trial = read()
    assert trial.steps() == [0, 1]
    return trial


@pytest.mark.parametrize("kind", BLOCKS)
def test_the_tensors_of_a_block_of_any_kind_can_be_added(hook, read, kind):
    net = nn.Sequential(prefix="net_")
    with net.name_scope():
        block = BLOCKS[kind]()
        net.add(nn.Dense(4), block, nn.Dense(3))
    hook.get_collection("mine").add_block_tensors(block, inputs=True)
    names = trained(hook, read, net).tensor_names(collection="mine")
    assert any(name.endswith("_input_0") for name in names)
    assert any(name.endswith("_output_0") for name in names)


@pytest.mark.parametrize("kind", STRANGERS)
def test_a_block_that_no_step_calls_does_not_end_the_training(hook, read, kind):
    hook.get_collection("mine").add_block_tensors(STRANGERS[kind]())
    assert "mine" not in trained(hook, read).collections()


@pytest.mark.parametrize("kind", [*VALUES, *ODD])
def test_anything_but_a_block_is_refused_and_changes_nothing(hook, kind):
    mine = hook.get_collection("mine")
    before = members_of(mine)
    with pytest.raises(SMDebugTypeError, match="takes a gluon.Block"):
        mine.add_block_tensors({**VALUES, **ODD}[kind]())
    assert members_of(mine) == before


@pytest.mark.parametrize("kind", UNNAMED)
def test_anything_but_patterns_and_collections_is_refused_and_changes_nothing(hook, kind):
    check_is_refused_everywhere(hook, UNNAMED[kind]())


def test_a_training_goes_on_after_everything_that_was_refused(hook, read):
    mine = hook.get_collection("mine")
    for make in UNNAMED.values():
        for add in (mine.add_block_tensors, mine.include, hook.add_collection):
            with pytest.raises(SMDebugTypeError):
                add(make())
    assert "mine" not in trained(hook, read).collections()


@pytest.mark.parametrize("kind", INCLUDED)
def test_every_kind_of_patterns_is_included(hook, read, kind):
    make, expected = INCLUDED[kind]
    hook.get_collection("mine").include(make())
    assert hook.get_collection("mine").include_regex == expected
    trained(hook, read)


@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_of_any_kind_that_has_a_truth_chooses_the_tensors(hook, read, name):
    net, flag = make_net(), FLAGS[name]
    hook.get_collection("mine").add_block_tensors(net[0], inputs=flag, outputs=False)
    found = trained(hook, read, net).collections()
    assert ("mine" in found) == (name not in OFF)


@pytest.mark.parametrize("flag", [*NO_FLAGS.values(), mx.nd.ones(2)], ids=[*NO_FLAGS, "nd"])
def test_a_flag_without_a_truth_is_refused_and_changes_nothing(hook, flag):
    mine = hook.get_collection("mine")
    for flags in ({"inputs": flag}, {"outputs": flag}):
        with pytest.raises(SMDebugTypeError, match="must be True or False"):
            mine.add_block_tensors(make_net(), **flags)
    assert mine.block_tensors() == []


def test_save_all_takes_what_scripts_pass(out_dir):
    check_save_all_is_what_scripts_pass(lambda **given: smd.Hook(out_dir, **given))


@pytest.mark.parametrize("value", [np.ones(1), mx.nd.ones(1)])
def test_an_array_of_one_element_is_a_flag(hook, value):
    mine = hook.get_collection("mine")
    block = make_net()
    mine.add_block_tensors(block, inputs=value)
    assert mine.block_tensors() == [(block, True, True)]
