"""What a run knows of its model: the facts that the hook reports when an optimizer has acted."""

import json
import pathlib

import numpy as np
import pytest

from conftest import Net, read

torch = pytest.importorskip("torch")

from torch.optim import optimizer as of_all_optimizers  # noqa: E402

import smdebug.pytorch as smd  # noqa: E402


def every_step(out_dir, **options):
    return smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1), **options)


def step(model, optimizer, loss=torch.nn.functional.cross_entropy):
    optimizer.zero_grad()
    loss(model(torch.randn(6, 4)), torch.randint(3, (6,))).backward()
    optimizer.step()


def facts_of(out_dir):
    """The facts that were reported last."""
    return read(out_dir).facts()[-1].facts


def test_the_first_two_updates_between_saved_steps_are_described(out_dir):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    before = set(of_all_optimizers._global_optimizer_post_hooks)  # of hooks that are still open
    every_tenth = smd.SaveConfig(save_interval=10)
    hook = smd.Hook(out_dir, save_config=every_tenth, include_collections=["weights"])
    hook.register_module(model)
    for batch in range(15):  # the gradients of five batches are accumulated
        loss = torch.nn.functional.cross_entropy(model(torch.randn(6, 4)), torch.randint(3, (6,)))
        loss.backward()
        if batch % 5 == 3:
            optimizer.step()
            optimizer.zero_grad()
        if batch == 9:
            assert set(of_all_optimizers._global_optimizer_post_hooks) <= before
    hook.close()
    trial = read(out_dir)
    assert trial.steps() == [0, 10]
    reported, later = trial.facts()
    assert (reported.facts.step, later.facts.step) == (3, 8)
    assert [each.kind for each in reported.facts.optimizers] == ["SGD"]
    # The second update shows whether the gradients of the first were cleared.
    assert reported.facts.optimizers[0].keeps_gradients is None
    assert later.facts.optimizers[0].keeps_gradients is False
    assert all(each.updated_by == (0, 0) for each in later.facts.parameters)
    assert all(each.updated_by == (0, 0) for each in reported.facts.parameters)


def test_every_parameter_is_listed_with_the_group_that_updates_it(out_dir):
    model = Net()
    optimizer = torch.optim.Adam(
        [
            {"params": model.fc1.parameters(), "weight_decay": 0.25},
            {"params": [model.fc2.weight], "lr": 0.5},
        ],
        lr=0.125,
    )
    model.fc1.bias.requires_grad_(False)
    hook = every_step(out_dir)
    hook.register_module(model)
    step(model, optimizer)
    hook.close()
    facts = facts_of(out_dir)
    assert facts.step == 0
    assert [
        (each.tensor, each.is_trainable, each.dtype, each.device, each.shape, each.updated_by)
        for each in facts.parameters
    ] == [
        ("Net_fc1.weight", True, "float32", "cpu", [8, 4], (0, 0)),
        ("Net_fc1.bias", False, "float32", "cpu", [8], (0, 0)),
        ("Net_fc2.weight", True, "float32", "cpu", [3, 8], (0, 1)),
        ("Net_fc2.bias", True, "float32", "cpu", [3], None),
    ]
    (adam,) = facts.optimizers
    assert adam.kind == "Adam"
    assert [group.parameters for group in adam.groups] == [2, 1]
    assert adam.groups[0].settings == {
        "learning_rate": 0.125,
        "weight_decay": 0.25,
        "eps": 1e-8,
        "beta1": 0.9,
        "beta2": 0.999,
    }
    assert adam.groups[1].settings["learning_rate"] == 0.5


def test_parameters_of_an_older_model_are_foreign_to_the_recorded_one(out_dir):
    model, older = Net(), Net()
    optimizer = torch.optim.SGD([*older.parameters(), model.fc2.bias], lr=0.1, momentum=0.75)
    hook = every_step(out_dir)
    hook.register_module(model)
    step(model, optimizer)
    hook.close()
    (group,) = facts_of(out_dir).optimizers[0].groups
    assert (group.parameters, group.foreign_parameters) == (5, 4)
    assert group.settings["momentum"] == 0.75


def test_modules_and_losses_are_listed_with_their_settings(out_dir):
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8),
        torch.nn.BatchNorm1d(8, eps=0.5, momentum=0.25),
        torch.nn.Dropout(0.75),
        torch.nn.Linear(8, 3),
    )
    model[2].eval()
    loss = torch.nn.CrossEntropyLoss(ignore_index=-7, reduction="sum")
    hook = every_step(out_dir)
    hook.register_module(model)
    hook.register_loss(loss)
    step(model, torch.optim.SGD(model.parameters(), lr=0.1), loss)
    hook.close()
    facts = facts_of(out_dir)
    modules = {each.path: (each.kind, each.is_training, each.settings) for each in facts.modules}
    assert modules["Sequential"] == ("Sequential", True, {})
    assert modules["1"] == (
        "BatchNorm1d",
        True,
        {"eps": 0.5, "momentum": 0.25, "track_running_stats": 1},
    )
    assert modules["2"] == ("Dropout", False, {"p": 0.75})
    (one,) = facts.losses
    assert (one.tensor, one.kind) == ("CrossEntropyLoss_output_0", "CrossEntropyLoss")
    assert (one.reduction, one.ignored_label) == ("sum", -7)
    assert one.tensor in read(out_dir).tensor_names()


def test_the_dropout_inside_of_a_layer_is_one_of_its_settings(out_dir):
    class Reader(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = torch.nn.GRU(4, 4, num_layers=2, dropout=0.25)
            self.attention = torch.nn.MultiheadAttention(4, 2, dropout=0.5)
            self.head = torch.nn.Linear(4, 3)

        def forward(self, x):
            x, _ = self.rnn(x)
            return self.head(self.attention(x, x, x)[0])

    model = Reader()
    hook = every_step(out_dir)
    hook.register_module(model)
    step(model, torch.optim.SGD(model.parameters(), lr=0.1))
    hook.close()
    settings = {each.path: each.settings for each in facts_of(out_dir).modules}
    assert settings["rnn"] == {"dropout": 0.25, "batch_first": 0}
    assert settings["attention"] == {"dropout": 0.5, "batch_first": 0}
    assert settings["head"] == {}


def test_a_parameter_of_two_models_is_said_to_be_shared(out_dir):
    body = torch.nn.Linear(4, 4)
    actor = torch.nn.Sequential(body, torch.nn.Linear(4, 3))
    critic = torch.nn.Sequential(torch.nn.Linear(4, 3))
    critic[0].weight = torch.nn.Parameter(actor[1].weight.detach())  # the same memory
    hook = every_step(out_dir)
    hook.register_module(actor, "Actor")
    hook.register_module(critic, "Critic")
    step(actor, torch.optim.SGD(actor.parameters(), lr=0.1))
    hook.close()
    shared = {each.tensor: each.shared_with for each in facts_of(out_dir).parameters}
    assert shared["Critic_0.weight"] == "Actor_1.weight"
    assert shared["Actor_1.weight"] == shared["Critic_0.bias"] == ""


def test_facts_are_reported_again_when_they_change_and_only_then(out_dir):
    model = Net(dropout=0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    hook = every_step(out_dir)
    hook.register_module(model)
    for number in range(6):
        if number == 2:
            model.fc1.weight.requires_grad_(False)
        if number == 4:
            model.eval()
        step(model, optimizer)
    hook.close()
    facts = [each.facts for each in read(out_dir).facts()]
    assert [each.step for each in facts] == [0, 1, 2, 4]
    assert [each.optimizers[0].keeps_gradients for each in facts] == [None, False, False, False]
    assert [each.parameters[0].is_trainable for each in facts] == [True, True, False, False]
    assert [each.modules[0].is_training for each in facts] == [True, True, True, False]


def test_two_optimizers_of_a_step_are_reported_together(out_dir):
    model = Net()
    first = torch.optim.SGD(model.fc1.parameters(), lr=0.1)
    second = torch.optim.Adam(model.fc2.parameters(), lr=0.1)
    hook = every_step(out_dir)
    hook.register_module(model)
    for _ in range(6):
        step(model, first)  # clears the gradients of its own parameters only
        second.step()
    hook.close()
    one, *_, other = read(out_dir).facts()
    assert [each.kind for each in one.facts.optimizers] == ["SGD", "Adam"]
    assert [each.updated_by for each in one.facts.parameters] == [(0, 0), (0, 0), (1, 0), (1, 0)]
    assert [each.keeps_gradients for each in other.facts.optimizers] == [False, True]


def test_a_learning_rate_of_nan_is_kept(out_dir):
    model = Net()
    hook = every_step(out_dir)
    hook.register_module(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.param_groups[0]["lr"] = float("nan")
    step(model, optimizer)
    hook.close()
    assert np.isnan(facts_of(out_dir).optimizers[0].groups[0].settings["learning_rate"])
    (file,) = pathlib.Path(out_dir, "facts").iterdir()
    group = json.loads(file.read_text())["optimizers"][0]["groups"][0]
    assert group["settings"]["learning_rate"] == "nan"


def test_a_training_without_an_optimizer_has_no_facts(out_dir):
    model = Net()
    hook = every_step(out_dir)
    hook.register_module(model)
    model(torch.randn(6, 4)).sum().backward()
    hook.close()
    assert read(out_dir).facts() == []


def test_idle_steps_after_the_second_update_have_no_hook_on_optimizers(out_dir):
    from torch.optim import optimizer as module

    before = len(module._global_optimizer_post_hooks)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=10))
    hook.register_module(model)
    for number in range(4):
        model(torch.randn(6, 4))
        assert (len(module._global_optimizer_post_hooks) > before) == (number <= 1)
        step(model, optimizer)
    hook.close()
    assert len(module._global_optimizer_post_hooks) == before


def test_an_optimizer_that_cannot_be_described_does_not_harm_the_training(out_dir):
    class Odd(torch.optim.SGD):
        def __getattribute__(self, name):
            if name == "param_groups" and is_broken:
                raise RuntimeError("no groups")
            return super().__getattribute__(name)

    is_broken = []
    model = Net()
    optimizer = Odd(model.parameters(), lr=0.1)
    hook = every_step(out_dir, include_collections=["weights"])
    hook.register_module(model)
    optimizer.register_step_post_hook(lambda *_: is_broken.append(True))
    step(model, optimizer)
    model(torch.randn(6, 4))
    hook.close()
    assert read(out_dir).steps() == [0, 1]
    assert read(out_dir).facts() == []
