"""The shapes that recurrent and attention layers get, which the hook notes once."""

import contextlib
import copy
import pickle

import pytest

from conftest import read

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import smdebug.pytorch as smd  # noqa: E402
from smdebug.exceptions import NoMoreData  # noqa: E402
from smdebug.rules import builtin, invoke_rule  # noqa: E402


class Sequence(nn.Module):
    def __init__(self, is_batch_first):
        super().__init__()
        self.gru = nn.GRU(3, 8, batch_first=is_batch_first)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        x = self.gru(x)[0]
        return self.head(self.attention(query=x, key=x, value=x)[0][:, -1])


def trained(out_dir, model, steps=3, between=lambda: None):
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    hook.register_module(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_of = nn.CrossEntropyLoss()
    hook.register_loss(loss_of)
    losses = []
    for step in range(steps):
        torch.manual_seed(step)
        loss = loss_of(model(torch.randn(6, 5, 3)), torch.randint(4, (6,)))
        between()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    hook.close()
    return losses


def shapes_in(out_dir):
    modules = read(out_dir).facts()[-1].facts.modules
    return {each.path: list(each.input_shape) for each in modules}


def hooks_of(model):
    return [module._forward_pre_hooks for module in model.modules() if module._forward_pre_hooks]


def test_the_first_shapes_are_facts_and_the_hooks_are_removed(out_dir):
    model = Sequence(is_batch_first=True)
    trained(out_dir, model)
    shapes = shapes_in(out_dir)
    assert shapes["gru"] == [6, 5, 3]
    assert shapes["attention"] == [6, 5, 8]
    assert shapes["head"] == []
    assert hooks_of(model) == []


@pytest.mark.parametrize("is_batch_first", [False, True])
def test_the_rule_finds_a_gru_that_takes_the_samples_for_steps(out_dir, is_batch_first):
    trained(out_dir, Sequence(is_batch_first), steps=4)
    rule = builtin("MixedSamples", read(out_dir))
    with contextlib.suppress(NoMoreData):
        invoke_rule(rule)
    status = rule.verdict()["status"]
    assert (status == "IssuesFound") == (not is_batch_first)


def test_a_model_may_be_copied_and_pickled_before_its_first_update(out_dir):
    model = Sequence(is_batch_first=True)
    copies = []

    def keep_copies():
        copies.extend([copy.deepcopy(model), pickle.loads(pickle.dumps(model))])

    trained(out_dir, model, between=keep_copies)
    x = torch.randn(2, 5, 3)
    assert torch.equal(copies[0](x), copies[1](x))


def test_evaluations_and_idle_layers_leave_no_hook(out_dir):
    class Idle(Sequence):
        def forward(self, x):
            return self.head(self.gru(x)[0][:, -1])

    model = Idle(is_batch_first=True)
    trained(out_dir, model)
    assert shapes_in(out_dir)["attention"] == []
    assert hooks_of(model) == []


def test_packed_sequences_have_no_shape(out_dir):
    class Packed(Sequence):
        def forward(self, x):
            packed = nn.utils.rnn.pack_padded_sequence(x, [5] * len(x), batch_first=True)
            return self.head(self.gru(packed)[1][-1])

    trained(out_dir, Packed(is_batch_first=True))
    assert shapes_in(out_dir)["gru"] == []
