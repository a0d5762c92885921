"""What a PyTorch training's tensors are called, when they are read, and what is in them."""

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import Net, read, train


def every_step(out_dir, **arguments):
    return smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1), **arguments)


PARAMETERS = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]


def test_every_tensor_has_its_documented_name(out_dir):
    model, loss = Net(), torch.nn.CrossEntropyLoss()
    with every_step(out_dir, save_all=True) as hook:
        hook.register_module(model)
        hook.register_loss(loss)
        train(model, 2, loss=loss)
    modules = [f"{m}_{d}_0" for m in ("fc1", "relu", "dropout", "fc2", "Net")
               for d in ("input", "output")]  # fmt: skip
    losses = ["input_0", "input_1", "output_0"]
    assert set(read(out_dir).tensor_names()) == {
        *(f"Net_{path}" for path in PARAMETERS),
        *(f"gradient/Net_{path}" for path in PARAMETERS),
        *modules,
        *(f"CrossEntropyLoss_{name}" for name in losses),
    }


def test_values_are_those_of_torch_at_the_documented_time(out_dir):
    model, loss = Net(), torch.nn.CrossEntropyLoss()
    before, gradients, outputs = [], [], []

    def remember(step):
        before.append({n: p.detach().clone().numpy() for n, p in model.named_parameters()})
        gradients.append({n: p.grad.clone().numpy() for n, p in model.named_parameters()})

    model.fc1.register_forward_hook(
        lambda module, args, output: outputs.append((args[0].clone(), output.detach().clone()))
    )
    with every_step(out_dir, save_all=True) as hook:
        hook.register_module(model)
        hook.register_loss(loss)
        losses = train(model, 3, loss=loss, on_step=remember)
    trial = read(out_dir)
    assert trial.steps() == [0, 1, 2]
    for step in range(3):
        for path in PARAMETERS:
            saved = trial.tensor(f"Net_{path}").value(step)
            np.testing.assert_array_equal(saved, before[step][path])
            saved = trial.tensor(f"gradient/Net_{path}").value(step)
            np.testing.assert_array_equal(saved, gradients[step][path])
        fc1_input, fc1_output = outputs[step]
        np.testing.assert_array_equal(trial.tensor("fc1_input_0").value(step), fc1_input)
        np.testing.assert_array_equal(trial.tensor("fc1_output_0").value(step), fc1_output)
        loss_value = trial.tensor("CrossEntropyLoss_output_0").value(step)
        assert loss_value.item() == losses[step]


def test_only_losses_are_saved_unless_more_is_asked_for(out_dir):
    model, loss = Net(), torch.nn.CrossEntropyLoss()
    with every_step(out_dir) as hook:
        hook.register_module(model)
        hook.register_loss(loss)
        train(model, 2, loss=loss)
    trial = read(out_dir)
    assert trial.tensor_names() == ["CrossEntropyLoss_output_0"]
    assert trial.steps() == [0, 1]


def test_collections_and_patterns_choose_tensors(out_dir):
    model = Net()
    with every_step(out_dir, include_collections=["biases"], include_regex=["relu_out"]) as hook:
        hook.get_collection("mine").include("fc2.*weight$")
        hook.include_collections.append("mine")
        hook.register_module(model)
        train(model, 1)
    names = read(out_dir).tensor_names()
    assert set(names) >= {"Net_fc1.bias", "Net_fc2.bias", "relu_output_0"}
    assert "Net_fc1.weight" not in names


def test_module_tensors_join_a_collection(out_dir):
    model = Net()
    with every_step(out_dir, include_collections=["acts"]) as hook:
        hook.get_collection("acts").add_module_tensors(model.relu, inputs=True)
        hook.register_module(model)
        train(model, 1)
    assert read(out_dir).tensor_names() == ["relu_input_0", "relu_output_0"]


def test_an_inplace_module_is_saved_with_its_true_input(out_dir):
    model = Net(inplace=True)
    seen = []
    model.relu.register_forward_pre_hook(lambda module, args: seen.append(args[0].clone()))
    with every_step(out_dir, include_regex=["relu", "fc1_output"]) as hook:
        hook.register_module(model)
        train(model, 1)
    trial = read(out_dir)
    before = seen[0].detach().numpy()
    assert before.min() < 0
    np.testing.assert_array_equal(trial.tensor("relu_input_0").value(0), before)
    np.testing.assert_array_equal(trial.tensor("fc1_output_0").value(0), before)
    np.testing.assert_array_equal(trial.tensor("relu_output_0").value(0), np.maximum(before, 0))


def test_a_module_that_is_called_twice_numbers_on(out_dir):
    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(4, 4)
            self.relu = torch.nn.ReLU()

        def forward(self, x):
            return self.relu(self.fc(self.relu(self.fc(x))))

    model = Twice()
    with every_step(out_dir, include_regex=["_output_"]) as hook:
        hook.register_module(model)
        for _ in range(2):
            model(torch.randn(2, 4)).sum().backward()
    assert read(out_dir).tensor_names(step=1) == [
        "Twice_output_0",
        "fc_output_0",
        "fc_output_1",
        "relu_output_0",
        "relu_output_1",
    ]


def test_nested_outputs_are_numbered_depth_first(out_dir):
    class Nested(torch.nn.Module):
        def forward(self, x):
            return x, [x + 1, (x + 2,)], "text", None

    model = torch.nn.Sequential()
    model.add_module("nested", Nested())
    with every_step(out_dir, include_regex=["nested_output"]) as hook:
        hook.register_module(model)
        model(torch.zeros(2))
    trial = read(out_dir)
    assert [trial.tensor(f"nested_output_{i}").value(0)[0] for i in range(3)] == [0, 1, 2]
    assert len(trial.tensor_names()) == 3


def test_an_integer_tensor_and_a_nan_are_saved(out_dir):
    class Odd(torch.nn.Module):
        def forward(self, x):
            return torch.arange(5), torch.tensor([1.0, float("nan"), float("inf")])

    config = smd.ReductionConfig(
        reductions=["mean", "std", "max"], norms=["l2"], save_raw_tensor=True
    )
    with every_step(out_dir, save_all=True, reduction_config=config) as hook:
        odd = Odd()
        hook.register_module(odd)
        Odd()(torch.ones(3))  # another one is not recorded
        odd(torch.zeros(2))
    trial = read(out_dir)
    integers = trial.tensor("Odd_output_0")
    assert integers.value(0).dtype == np.int64
    assert integers.value(0).tolist() == [0, 1, 2, 3, 4]
    assert integers.reduction_value(0, "mean") == pytest.approx(2.0)
    assert integers.reduction_value(0, "l2") == pytest.approx(np.sqrt(30), rel=1e-5)
    floats = trial.tensor("Odd_output_1").value(0)
    assert np.isnan(floats[1]) and np.isinf(floats[2])


def test_a_frozen_parameter_has_no_gradient_until_it_is_unfrozen(out_dir):
    model = Net()
    model.fc1.weight.requires_grad_(False)

    def unfreeze(step):
        if step == 1:
            model.fc1.weight.requires_grad_(True)

    with every_step(out_dir, include_collections=["gradients"]) as hook:
        hook.register_module(model)
        train(model, 4, on_step=unfreeze)
    trial = read(out_dir)
    assert trial.tensor("gradient/Net_fc1.weight").steps() == [2, 3]
    assert trial.tensor("gradient/Net_fc1.bias").steps() == [0, 1, 2, 3]


def test_a_replaced_parameter_is_followed(out_dir):
    model = Net()

    def replace(step):
        if step == 1:
            model.fc2.weight = torch.nn.Parameter(torch.full((3, 8), 0.5))

    with every_step(out_dir, include_collections=["gradients", "weights"]) as hook:
        hook.register_module(model)
        train(model, 4, on_step=replace)
    trial = read(out_dir)
    assert trial.tensor("Net_fc2.weight").value(2).flatten().tolist() == [0.5] * 24
    assert trial.tensor("gradient/Net_fc2.weight").steps() == [0, 1, 2, 3]


def test_a_lazy_module_is_recorded_from_its_first_step(out_dir):
    model = torch.nn.Sequential(torch.nn.LazyLinear(3))
    with every_step(out_dir, include_collections=["weights", "gradients"]) as hook:
        hook.register_module(model)
        for _ in range(2):
            model(torch.randn(2, 5)).sum().backward()
    trial = read(out_dir)
    assert trial.tensor("Sequential_0.weight").steps() == [0, 1]
    assert trial.tensor("gradient/Sequential_0.weight").steps() == [0, 1]
    assert trial.tensor("Sequential_0.weight").value(0).shape == (3, 5)
    assert hook.status().skipped == {}


def test_a_shared_parameter_is_saved_once(out_dir):
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    model[1].weight = model[0].weight
    with every_step(out_dir, include_collections=["weights"]) as hook:
        hook.register_module(model)
        model(torch.randn(2, 4)).sum().backward()
    assert read(out_dir).tensor_names() == ["Sequential_0.weight"]


def test_wrappers_do_not_appear_in_names(out_dir):
    model = torch.nn.DataParallel(Net())
    with every_step(out_dir, include_collections=["weights"]) as hook:
        hook.register_module(model)
        train(model, 1)
    assert read(out_dir).tensor_names() == ["Net_fc1.weight", "Net_fc2.weight"]


def test_a_functional_loss_can_be_recorded(out_dir):
    model = Net()
    with every_step(out_dir) as hook:
        hook.register_module(model)
        loss = torch.nn.functional.cross_entropy(model(torch.randn(2, 4)), torch.tensor([0, 1]))
        hook.record_tensor_value("nll_loss", loss)
    assert read(out_dir).tensor("nll_loss_output_0").value(0).item() == loss.item()


def test_a_recomputed_forward_is_not_saved_again(out_dir):
    from torch.utils.checkpoint import checkpoint

    class Checkpointed(Net):
        def forward(self, x):
            return checkpoint(super().forward, x, use_reentrant=False)

    model = Checkpointed()
    with every_step(out_dir, include_regex=["relu_output"]) as hook:
        hook.register_module(model)
        train(model, 2)
    assert read(out_dir).tensor_names() == ["relu_output_0"]
