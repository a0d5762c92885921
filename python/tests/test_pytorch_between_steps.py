"""What is left of a hook in a model between the steps that are saved, and how it comes back."""

import copy
import random

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import Net, read, train
from smdebug.pytorch import detachable_hook
from smdebug.pytorch.detachable_hook import DetachableHook

EVERY_THIRD = smd.SaveConfig(save_interval=3)


pytestmark = pytest.mark.usefixtures("nothing_is_compiled")


def hook_of(out_dir, model, **options):
    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_THIRD, **options)
    hook.register_module(model)
    return hook


def hooks_in(model):
    return {
        path: [*module._forward_pre_hooks.values(), *module._forward_hooks.values()]
        for path, module in model.named_modules()
        if path
    }


def test_between_saved_steps_no_hook_is_in_the_modules(out_dir):
    model = Net()
    hook = hook_of(out_dir, model)
    found = []
    train(model, 7, on_step=lambda step: found.append(sum(map(bool, hooks_in(model).values()))))
    hook.close()
    assert found == [4, 0, 0, 4, 0, 0, 4]
    assert read(out_dir).tensor("relu_output_0").steps() == [0, 3, 6]


def test_without_torchs_private_tables_new_hooks_come_in(out_dir, monkeypatch):
    monkeypatch.setattr(detachable_hook, "hook_tables", lambda module, is_before: None)
    model = Net(inplace=True)
    hook = hook_of(out_dir, model)
    found = []
    train(model, 7, on_step=lambda step: found.append(sum(map(bool, hooks_in(model).values()))))
    hook.close()
    assert found == [4, 0, 0, 4, 0, 0, 4]
    trial = read(out_dir)
    for name in ("fc1_output_0", "relu_input_0", "relu_output_0"):
        assert trial.tensor(name).steps() == [0, 3, 6]


def test_a_first_saved_step_late_in_the_training_holds_everything(out_dir):
    torch.manual_seed(1)
    model, twin = Net(), Net()
    twin.load_state_dict(model.state_dict())
    hook = smd.Hook(
        out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1, start_step=4)
    )
    hook.register_module(model)
    train(model, 6)
    hook.close()
    expected = []
    twin.relu.register_forward_hook(lambda module, args, output: expected.append(output.detach()))
    train(twin, 6)
    tensor = read(out_dir).tensor("relu_output_0")
    assert tensor.steps() == [4, 5]
    for step in (4, 5):
        np.testing.assert_array_equal(tensor.value(step), expected[step].numpy())


def test_hooks_come_back_between_those_of_the_user(out_dir):
    """Each of the user's doubles the output: ours must see what it saw the first time."""
    model, x = Net(), torch.randn(2, 4)
    double = lambda module, arguments, output: 2 * output  # noqa: E731
    model.fc1.register_forward_hook(double)
    hook = hook_of(out_dir, model)
    model.fc1.register_forward_hook(double)
    for step in range(7):
        if step == 4:
            model.fc1.register_forward_hook(double)
        with torch.no_grad():
            model(x)
    hook.close()
    plain = torch.nn.functional.linear(x, model.fc1.weight, model.fc1.bias).detach().numpy()
    tensor = read(out_dir).tensor("fc1_output_0")
    assert tensor.steps() == [0, 3, 6]
    for step in tensor.steps():
        np.testing.assert_array_equal(tensor.value(step), 2 * plain)


@pytest.mark.parametrize("is_before", [True, False])
def test_a_hook_keeps_its_place_whatever_comes_and_goes(is_before):
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    for _ in range(50):
        module, order, handles = torch.nn.Identity(), [], {}
        register = module.register_forward_pre_hook if is_before else module.register_forward_hook

        def user_hook():
            return lambda *arguments: None

        def add(register=register, order=order, handles=handles, new=user_hook):
            hook = new()
            handles[hook] = register(hook)
            order.append(hook)

        for _ in range(chance.randrange(3)):
            add()
        ours = user_hook()
        hung = DetachableHook(module, ours, is_before=is_before)
        hung.put_in()
        order.append(ours)
        for _ in range(12):
            what = chance.choice(["add", "remove", "in", "out"])
            users = [hook for hook in order if hook is not ours]
            if what == "add":
                add()
            elif what == "remove" and users:
                gone = chance.choice(users)
                handles[gone].remove()
                order.remove(gone)
            elif what == "in":
                hung.put_in()
            elif what == "out":
                hung.take_out()
            found = list(
                (module._forward_pre_hooks if is_before else module._forward_hooks).values()
            )
            assert found == [hook for hook in order if hung.is_in or hook is not ours], seed


def test_a_copy_that_is_made_between_saved_steps_trains_on_the_same_hook(out_dir):
    model = Net()
    hook = hook_of(out_dir, model)
    train(model, 2)
    clone = copy.deepcopy(model)
    found = []
    train(clone, 2)
    train(model, 3, on_step=lambda step: found.append(sum(map(bool, hooks_in(model).values()))))
    hook.close()
    assert read(out_dir).tensor("relu_output_0").steps() == [0, 3, 6]
    assert found == [0, 0, 4]
    again = copy.deepcopy(clone)
    assert not any(hooks_in(model).values())
    assert train(clone, 2, seed=5) == train(again, 2, seed=5)


def test_what_is_compiled_while_the_hooks_are_out_is_made_to_see_them(out_dir, logged):
    torch.manual_seed(2)
    net = Net()
    model = torch.nn.Sequential(net)
    hook = hook_of(out_dir, model)
    expected = {}

    def step(number):
        x = torch.randn(3, 4)
        expected[number] = torch.nn.functional.linear(x, net.fc1.weight, net.fc1.bias).relu()
        model(x).sum().backward()

    for number in range(2):
        step(number)
    assert not any(hooks_in(model).values())
    net.compile(backend="eager")
    for number in range(2, 10):
        step(number)
    hook.close()
    tensor = read(out_dir).tensor("0.relu_output_0")
    assert tensor.steps() == [0, 3, 6, 9]
    for number in tensor.steps():
        np.testing.assert_array_equal(tensor.value(number), expected[number].detach().numpy())
    assert len([line for line in logged if "torch compiles it again" in line]) == 1


def test_a_model_that_is_compiled_as_a_whole_between_saved_steps_is_recorded(out_dir):
    torch.manual_seed(2)
    model = Net()
    hook = hook_of(out_dir, model)
    for _ in range(2):
        model(torch.randn(3, 4)).sum().backward()
    compiled = torch.compile(model, backend="eager")
    for _ in range(2, 10):
        compiled(torch.randn(3, 4)).sum().backward()
    hook.close()
    trial = read(out_dir)
    for name in ("fc1_output_0", "relu_output_0", "fc2_input_0", "Net_output_0"):
        assert trial.tensor(name).steps() == [0, 3, 6, 9]


def test_training_with_dropout_is_bit_identical_while_hooks_come_and_go(out_dir):
    results = []
    for is_watched in (False, True):
        torch.manual_seed(3)
        model = Net(dropout=0.5, inplace=True)
        hook = hook_of(out_dir, model) if is_watched else None
        losses = train(model, 9)
        if hook:
            hook.close()
        results.append((losses, [p.detach().clone() for p in model.parameters()]))
    (plain, parameters), (watched, same) = results
    assert plain == watched
    assert all(map(torch.equal, parameters, same))
