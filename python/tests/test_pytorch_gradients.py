"""Gradients: as each backward leaves them, or as the optimizer uses them."""

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import Net, read


def every_step(out_dir, **arguments):
    arguments = {"include_collections": ["gradients"], "gradients": "final", **arguments}
    return smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1), **arguments)


class UsedGradients:
    """What an optimizer finds in `.grad` when its own hook runs."""

    def __init__(self, model, optimizer):
        self.steps = []
        optimizer.register_step_pre_hook(
            lambda *_: self.steps.append(
                {
                    name: p.grad.detach().clone().numpy()
                    for name, p in model.named_parameters()
                    if p.grad is not None
                }
            )
        )


def assert_saved(trial, steps, used):
    for step, gradients in zip(steps, used, strict=True):
        saved = {name for name in trial.tensor_names(step=step) if name.startswith("gradient/")}
        assert saved == {f"gradient/Net_{path}" for path in gradients}
        for path, expected in gradients.items():
            value = trial.tensor(f"gradient/Net_{path}").value(step)
            np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("set_to_none", [True, False])
def test_final_gradients_are_accumulated_and_clipped(out_dir, set_to_none):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    used = UsedGradients(model, optimizer)
    increments = []
    model.fc1.weight.register_hook(lambda g: increments.append(g.clone().numpy()))
    with every_step(out_dir, step_on="optimizer") as hook:
        hook.register_module(model)
        for _ in range(3):
            for _ in range(2):
                model(torch.randn(5, 4)).square().sum().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=set_to_none)
    trial = read(out_dir)
    assert trial.steps() == [0, 1, 2]
    assert_saved(trial, range(3), used.steps)
    whole = np.sqrt(sum(np.square(g).sum() for g in used.steps[0].values()))
    assert whole == pytest.approx(1.0, rel=1e-4)
    assert np.abs(increments[0]).max() > np.abs(used.steps[0]["fc1.weight"]).max()


def test_gradients_of_backward_are_the_increments(out_dir):
    model = Net()
    increments = []
    model.fc1.weight.register_hook(lambda g: increments.append(g.clone().numpy()))
    with every_step(out_dir, gradients="backward") as hook:
        hook.register_module(model)
        for _ in range(2):
            model(torch.randn(5, 4)).square().sum().backward()  # never set to zero
    gradient = read(out_dir).tensor("gradient/Net_fc1.weight")
    for step in range(2):
        np.testing.assert_array_equal(gradient.value(step), increments[step])
    assert np.abs(model.fc1.weight.grad.numpy() - increments[1]).max() > 0


def test_a_step_without_an_update_has_no_final_gradient(out_dir):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with every_step(out_dir) as hook:
        hook.register_module(model)
        for batch in range(4):
            model(torch.randn(5, 4)).sum().backward()
            if batch % 2:
                optimizer.step()
                optimizer.zero_grad()
    assert read(out_dir).tensor("gradient/Net_fc1.weight").steps() == [1, 3]


def test_each_of_several_optimizers_brings_its_own_gradients(out_dir):
    model = Net()
    model.fc1.bias.requires_grad_(False)
    both = [
        torch.optim.SGD(model.fc1.parameters(), lr=0.1),
        torch.optim.Adam(model.fc2.parameters(), lr=0.1),
    ]
    expected = []
    with every_step(out_dir) as hook:
        hook.register_module(model)
        for step in range(2):
            model(torch.randn(5, 4)).square().sum().backward()
            grads = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
            expected.append({n: g.clone().numpy() for n, g in grads.items()})
            for optimizer in both[: 2 - step]:  # the second acts in the first step alone
                optimizer.step()
                optimizer.zero_grad()
    del expected[1]["fc2.weight"], expected[1]["fc2.bias"]
    assert_saved(read(out_dir), range(2), expected)


@pytest.mark.parametrize("is_fused", [False, True])
def test_a_grad_scaler_leaves_no_scale_in_final_gradients(out_dir, is_fused):
    def run(model, used=None):
        torch.manual_seed(2)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=is_fused)
        if used is not None:
            used.append(UsedGradients(model, optimizer))
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                loss = criterion(model(torch.randn(6, 4)), torch.randint(0, 3, (6,)))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        return losses

    criterion = torch.nn.CrossEntropyLoss()
    torch.manual_seed(0)
    plain, watched = Net(dropout=0.5), Net(dropout=0.5)
    watched.load_state_dict(plain.state_dict())
    expected = run(plain)
    used = []
    with every_step(out_dir, include_regex=["fc1_output"]) as hook:
        hook.register_module(watched)
        hook.register_loss(criterion)
        assert run(watched, used) == expected
    for one, other in zip(plain.parameters(), watched.parameters(), strict=True):
        assert one.detach().numpy().tobytes() == other.detach().numpy().tobytes()
    trial = read(out_dir)
    loss = trial.tensor("CrossEntropyLoss_output_0")
    assert [loss.value(step).item() for step in range(4)] == expected
    assert trial.tensor("fc1_output_0").value(0).dtype == np.float16
    # A fused optimizer finds the scaled gradients and undoes the scale itself.
    scale = 1024.0 if is_fused else 1.0
    unscaled = [{n: g / scale for n, g in step.items()} for step in used[0].steps]
    assert_saved(trial, range(4), unscaled)


def test_an_update_that_the_grad_scaler_skips_has_no_final_gradient(out_dir):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    with every_step(out_dir) as hook:
        hook.register_module(model)
        for step in range(3):
            loss = model(torch.randn(2, 4)).sum()
            scaler.scale(loss * (float("inf") if step == 1 else 1)).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    assert read(out_dir).tensor("gradient/Net_fc1.weight").steps() == [0, 2]


def test_bfloat16_activations_and_gradients_are_those_of_torch(out_dir):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    used = UsedGradients(model, optimizer)
    outputs = []
    model.fc1.register_forward_hook(lambda m, a, out: outputs.append(out.detach().clone()))
    with every_step(out_dir, include_regex=["fc1_output"]) as hook:
        hook.register_module(model)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(torch.randn(3, 4)).float().square().sum()
        loss.backward()
        optimizer.step()
    trial = read(out_dir)
    saved = trial.tensor("fc1_output_0").value(0)
    assert saved.dtype.name == "bfloat16"
    np.testing.assert_array_equal(saved.astype(np.float32), outputs[0].float())
    assert_saved(trial, [0], used.steps)


@pytest.mark.parametrize("gradients", ["backward", "final"])
def test_a_sparse_gradient_is_saved_whole(out_dir, gradients):
    model = torch.nn.Sequential(torch.nn.Embedding(10, 3, sparse=True))
    optimizer = torch.optim.SparseAdam(model.parameters(), lr=0.1)
    with every_step(out_dir, gradients=gradients) as hook:
        hook.register_module(model)
        model(torch.tensor([1, 4, 1])).sum().backward()
        expected = model[0].weight.grad.to_dense().numpy()
        optimizer.step()
    saved = read(out_dir).tensor("gradient/Sequential_0.weight").value(0)
    assert saved.shape == (10, 3)
    np.testing.assert_array_equal(saved, expected)
    assert saved[1].tolist() == [2.0] * 3


def test_a_parameter_that_is_unfrozen_joins_the_final_gradients(out_dir):
    model = Net()
    model.fc1.weight.requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with every_step(out_dir) as hook:
        hook.register_module(model)
        for step in range(3):
            if step == 2:
                model.fc1.weight.requires_grad_(True)
            model(torch.randn(2, 4)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    trial = read(out_dir)
    assert trial.tensor("gradient/Net_fc1.weight").steps() == [2]
    assert trial.tensor("gradient/Net_fc1.bias").steps() == [0, 1, 2]


def test_an_optimizer_with_a_closure_brings_each_gradient_once(out_dir):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    last = []

    def closure():
        model.zero_grad()
        loss = model(torch.randn(2, 4)).square().sum()
        loss.backward()
        last.append(model.fc1.weight.grad.clone().numpy())
        return loss

    with every_step(out_dir, step_on="optimizer") as hook:
        hook.register_module(model)
        closure()
        for _ in range(3):
            optimizer.step(closure)
    assert hook.status().tensors == 3 * 4
    gradient = read(out_dir).tensor("gradient/Net_fc1.weight")
    assert gradient.steps() == [0, 1, 2]
    for step in range(3):
        np.testing.assert_array_equal(gradient.value(step), last[step + 1])


def test_a_compiled_optimizer_is_left_alone_and_said_once(out_dir, logged):
    def run(model):
        torch._dynamo.reset()
        optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.1))
        act = torch.compile(optimizer.step, backend="eager")
        for _ in range(5):
            optimizer.zero_grad()
            model(torch.ones(2, 4)).square().sum().backward()
            act()
        return [parameter.detach().numpy().tobytes() for parameter in model.parameters()]

    torch.manual_seed(0)
    plain, watched = Net(), Net()
    watched.load_state_dict(plain.state_dict())
    expected = run(plain)
    wanted = ["gradients", "weights", "optimizer_state", "learning_rate"]
    with every_step(out_dir, include_collections=wanted, step_on="optimizer") as hook:
        hook.register_module(watched)
        assert run(watched) == expected
    assert hook.status().error is None
    assert len([line for line in logged if "inside compiled code" in line]) == 1
    assert read(out_dir).tensor("Net_fc1.weight").steps() == [0, 1, 2, 3, 4]


def test_final_gradients_follow_the_save_interval(out_dir):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    config = smd.SaveConfig(save_interval=3)
    with smd.Hook(
        out_dir, save_config=config, include_collections=["gradients"], gradients="final"
    ) as hook:
        hook.register_module(model)
        for _ in range(7):
            model(torch.randn(2, 4)).sum().backward()
            optimizer.step()
    assert read(out_dir).tensor("gradient/Net_fc1.weight").steps() == [0, 3, 6]


def test_a_failure_of_ours_beside_an_optimizer_stays_out_of_the_training(out_dir, monkeypatch):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = model.fc1.weight.detach().clone()
    with every_step(out_dir) as hook:
        hook.register_module(model)
        monkeypatch.setattr(hook._optimizers, "_put_gradients", lambda *_: 1 / 0)
        for _ in range(2):
            model(torch.randn(2, 4)).sum().backward()
            optimizer.step()
        assert hook.status().state == "failed"
        assert "before an optimizer's step: ZeroDivisionError" in hook.status().error
    assert not torch.equal(model.fc1.weight, before)
