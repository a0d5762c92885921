"""Modules that a model takes up after it was registered, such as the new head of a fine-tuning."""

import pytest
import torch
from torch import nn

import smdebug.pytorch as smd
from conftest import read

EVERY_STEP = smd.SaveConfig(save_interval=1)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))


def step(model, optimizer=None):
    """One training step; returns the gradients by the name of their parameter."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.zero_grad()
    model(torch.randn(5, 4, generator=torch.Generator().manual_seed(1))).pow(2).mean().backward()
    gradients = {name: each.grad.clone() for name, each in model.named_parameters()}
    optimizer.step()
    return gradients


def forward_hooks(module):
    return len(module._forward_hooks) + len(module._forward_pre_hooks)


@pytest.fixture
def hook(tmp_path):
    with smd.Hook(tmp_path / "run", save_all=True, save_config=EVERY_STEP) as hook:
        yield hook


def test_a_new_head_is_recorded_in_place_of_the_old_one(hook):
    model = network()
    hook.register_module(model)
    step(model)
    old = model[2]
    model[2] = nn.Linear(6, 2)
    outputs = []
    model[2].register_forward_hook(lambda module, inputs, output: outputs.append(output.detach()))
    weight = model[2].weight.detach().clone()
    gradients = step(model)
    hook.close()
    trial = read(hook.out_dir)
    assert trial.tensor("Sequential_2.weight").value(0).shape == (3, 6)
    assert trial.tensor("Sequential_2.weight").value(1) == pytest.approx(weight.numpy())
    gradient = trial.tensor("gradient/Sequential_2.weight").value(1)
    assert gradient == pytest.approx(gradients["2.weight"].numpy())
    assert trial.tensor("2_output_0").value(1) == pytest.approx(outputs[0].numpy())
    assert forward_hooks(old) == 0
    assert forward_hooks(model[2]) == 1, "the user's own"


def test_modules_that_are_added_and_removed_are_followed(hook):
    model = network()
    hook.register_module(model)
    step(model)
    model.append(nn.Tanh())
    step(model)
    del model[3]
    step(model)
    hook.close()
    assert read(hook.out_dir).tensor("3_output_0").steps() == [1]


def test_a_module_that_moves_is_recorded_under_its_new_path(hook):
    model = network()
    hook.register_module(model)
    step(model)
    model.insert(1, nn.LayerNorm(6))
    step(model)
    hook.close()
    trial = read(hook.out_dir)
    assert trial.tensor("Sequential_2.weight").steps() == [0]
    assert trial.tensor("Sequential_3.weight").steps() == [1]
    assert trial.tensor("3_output_0").value(1).shape == (5, 3)
    assert trial.tensor("2_output_0").value(1).shape == (5, 6)  # of the ReLU


def test_a_head_outside_of_the_optimizer_is_a_fact_of_the_next_saved_step(hook):
    model = network()
    hook.register_module(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step(model, optimizer)
    model[2] = nn.Linear(6, 2)
    step(model, optimizer)
    hook.close()
    facts = [each.facts for each in read(hook.out_dir).facts()]
    updated = [
        {each.tensor: each.updated_by is not None for each in one.parameters} for one in facts
    ]
    assert all(updated[0].values())
    assert updated[-1] == {
        "Sequential_0.weight": True,
        "Sequential_0.bias": True,
        "Sequential_2.weight": False,
        "Sequential_2.bias": False,
    }


def test_a_model_that_exchanges_modules_all_the_time_is_followed_for_a_while(hook, logged):
    model = network()
    hook.register_module(model)
    for _ in range(30):
        model[1] = nn.ReLU()
        step(model)
    hook.close()
    assert hook.status().error is None
    said = [line for line in logged if "has exchanged modules" in line]
    assert said == [
        "model 'Sequential' has exchanged modules 20 times: modules that it takes up from now on "
        "are not recorded"
    ]
    trial = read(hook.out_dir)
    assert trial.tensor("1_output_0").steps() == list(range(20)), "a change before each step"
    assert trial.tensor("2_output_0").steps() == list(range(30))


def test_code_that_was_compiled_elsewhere_does_not_matter(hook):
    torch.compile(nn.Linear(2, 2), backend="eager")(torch.ones(1, 2))
    model = network()
    hook.register_module(model)
    step(model)
    model[2] = nn.Linear(6, 2)
    step(model)
    hook.close()
    assert read(hook.out_dir).tensor("Sequential_2.weight").value(1).shape == (2, 6)


def test_a_compiled_model_that_exchanges_a_module_goes_on(hook):
    model = network()
    compiled = torch.compile(model, backend="eager")
    hook.register_module(compiled)
    step(compiled)
    model[2] = nn.Linear(6, 2)
    step(compiled)
    hook.close()
    assert hook.status().error is None
    assert read(hook.out_dir).tensor("Sequential_0.weight").steps() == [0, 1]


def test_training_has_the_same_bits_when_the_head_is_exchanged(tmp_path):
    def trained(is_hooked):
        model = network()
        hook = smd.Hook(tmp_path / f"run-{is_hooked}", save_all=True, save_config=EVERY_STEP)
        if is_hooked:
            hook.register_module(model)
        step(model)
        model[2] = nn.Linear(6, 2)
        for _ in range(3):
            step(model)
        hook.close()
        return list(model.state_dict().values())

    assert all(map(torch.equal, trained(True), trained(False)))
