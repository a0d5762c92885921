"""Collections beyond the original's: each saved where it is named, none where it is not."""

import json

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import Net, read, train
from smdebug import modes


def every_step(out_dir, **arguments):
    return smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1), **arguments)


class Normed(torch.nn.Module):
    """A BatchNorm, and buffers whose names look like those of weights and biases."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 3)
        self.norm = torch.nn.BatchNorm1d(3)
        self.register_buffer("class_weight", torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("attention_bias", torch.ones(2, dtype=torch.bool), persistent=False)

    def forward(self, x):
        return self.norm(self.fc(x)) * self.class_weight


BUFFERS = ["class_weight", "attention_bias", "norm.running_mean", "norm.running_var",
           "norm.num_batches_tracked"]  # fmt: skip


def test_buffers_are_those_of_the_beginning_of_a_step(out_dir):
    model = Normed()
    before = []
    with every_step(out_dir, include_collections=["buffers"]) as hook:
        hook.register_module(model)
        for _ in range(3):
            before.append({n: b.detach().clone().numpy() for n, b in model.named_buffers()})
            model(torch.randn(5, 4)).sum().backward()
    trial = read(out_dir)
    assert set(trial.tensor_names(collection="buffers")) == {f"buffer/Normed_{n}" for n in BUFFERS}
    for step in range(3):
        for name in BUFFERS:
            value = trial.tensor(f"buffer/Normed_{name}").value(step)
            np.testing.assert_array_equal(value, before[step][name])
    tracked = trial.tensor("buffer/Normed_norm.num_batches_tracked")
    assert [tracked.value(step).item() for step in range(3)] == [0, 1, 2]


def test_a_buffer_that_appears_or_goes_is_followed(out_dir):
    model = Net()
    with every_step(out_dir, include_collections=["buffers"]) as hook:
        hook.register_module(model)
        for step in range(4):
            if step == 1:
                model.fc1.register_buffer("mask", torch.ones(2))
            if step == 2:
                model.fc1.mask = torch.zeros(3)
            if step == 3:
                del model.fc1.mask
            model(torch.randn(5, 4))
    mask = read(out_dir).tensor("buffer/Net_fc1.mask")
    assert mask.steps() == [1, 2]
    assert mask.value(1).tolist() == [1, 1] and mask.value(2).tolist() == [0, 0, 0]


def test_the_state_of_an_optimizer_is_that_after_its_step(out_dir):
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    after = []
    with every_step(out_dir, include_collections=["optimizer_state"]) as hook:
        hook.register_module(model)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(5, 4)).sum().backward()
            optimizer.step()
            after.append(
                {
                    f"optimizer_state/Net_{path}/{key}": value.clone().numpy()
                    for path, parameter in model.named_parameters()
                    for key, value in optimizer.state[parameter].items()
                }
            )
    trial = read(out_dir)
    assert set(trial.tensor_names(collection="optimizer_state")) == set(after[0])
    assert "optimizer_state/Net_fc1.weight/exp_avg_sq" in after[0]
    for step in range(3):
        for name, expected in after[step].items():
            np.testing.assert_array_equal(trial.tensor(name).value(step), expected, err_msg=name)
    assert trial.tensor("optimizer_state/Net_fc2.bias/step").value(2).item() == 3


def test_a_momentum_that_comes_late_is_saved_when_it_is_there(out_dir):
    model = Net()
    model.fc1.weight.requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    with every_step(out_dir, include_collections=["optimizer_state"]) as hook:
        hook.register_module(model)
        for step in range(3):
            if step == 1:
                model.fc1.weight.requires_grad_(True)
            model(torch.randn(5, 4)).sum().backward()
            optimizer.step()
    trial = read(out_dir)
    assert trial.tensor("optimizer_state/Net_fc1.weight/momentum_buffer").steps() == [1, 2]
    assert trial.tensor("optimizer_state/Net_fc2.weight/momentum_buffer").steps() == [0, 1, 2]


def test_learning_rates_are_saved_per_group_and_follow_their_schedule(out_dir):
    model = Net()
    groups = [{"params": model.fc1.parameters()}, {"params": model.fc2.parameters(), "lr": 0.5}]
    optimizer = torch.optim.SGD(groups, lr=0.1)
    second = torch.optim.SGD([model.fc1.weight], lr=torch.tensor(0.25))
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    with every_step(
        out_dir, include_collections=["learning_rate"], export_tensorboard=True
    ) as hook:
        hook.register_module(model)
        for _ in range(3):
            model(torch.randn(5, 4)).sum().backward()
            optimizer.step()
            second.step()
            schedule.step()
    trial = read(out_dir)
    names = ["learning_rate/SGD/0", "learning_rate/SGD/1", "learning_rate/SGD_1/0"]
    assert trial.tensor_names(collection="learning_rate") == names
    rates = [[trial.tensor(name).value(step).tolist() for step in range(3)] for name in names]
    assert rates[0] == [[0.1], [0.05], [0.025]]
    assert rates[1] == [[0.5], [0.25], [0.125]]
    assert rates[2] == [[0.25]] * 3


def test_inputs_outputs_and_labels_are_found_whatever_the_model_is_called(out_dir):
    model, loss = Net(), torch.nn.CrossEntropyLoss()
    taken = []
    loss.register_forward_pre_hook(lambda m, a: taken.append([t.detach().clone() for t in a]))
    model.register_forward_pre_hook(lambda m, a: taken.append(a[0].clone()))
    with every_step(out_dir, include_collections=["inputs", "outputs", "labels"]) as hook:
        hook.register_module(model)
        hook.register_loss(loss)
        train(model, 2, loss=loss)
    trial = read(out_dir)
    assert trial.tensor_names(collection="inputs") == ["Net_input_0"]
    assert trial.tensor_names(collection="outputs") == ["Net_output_0"]
    assert trial.tensor_names(collection="labels") == ["CrossEntropyLoss_input_1"]
    for step in range(2):
        x, (prediction, label) = taken[2 * step : 2 * step + 2]
        np.testing.assert_array_equal(trial.tensor("Net_input_0").value(step), x)
        np.testing.assert_array_equal(trial.tensor("Net_output_0").value(step), prediction)
        np.testing.assert_array_equal(trial.tensor("CrossEntropyLoss_input_1").value(step), label)
    everything = set(trial.tensor_names())
    assert everything == {"Net_input_0", "Net_output_0", "CrossEntropyLoss_input_1",
                          "CrossEntropyLoss_output_0"}  # fmt: skip


@pytest.mark.parametrize("is_inplace", [False, True])
def test_activation_gradients_are_those_that_torch_computes(out_dir, is_inplace):
    torch.manual_seed(3)
    model = Net(inplace=is_inplace)
    expected = {}

    def watch(name):
        def forward_hook(module, arguments, output):
            output.register_hook(lambda g: expected.setdefault(name, []).append(g.clone()))

        return forward_hook

    for name in ("fc1", "relu", "fc2"):
        model.get_submodule(name).register_forward_hook(watch(f"{name}_output_0"))
    with every_step(out_dir, include_collections=["activation_gradients"]) as hook:
        hook.register_module(model)
        train(model, 3)
    trial = read(out_dir)
    names = trial.tensor_names(collection="activation_gradients")
    assert {f"activation_gradient/{name}" for name in expected} <= set(names)
    assert "activation_gradient/Net_output_0" in names
    for name, gradients in expected.items():
        for step in range(3):
            value = trial.tensor(f"activation_gradient/{name}").value(step)
            np.testing.assert_array_equal(value, gradients[step], err_msg=name)


def test_outputs_that_backward_passes_by_have_no_gradient(out_dir):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.identity = torch.nn.Identity()
            self.fc = torch.nn.Linear(2, 2)
            self.rows = torch.nn.Parameter(torch.ones(2, 2))

        def forward(self, x):
            # a tensor without gradient, a leaf, and two calls of one module
            return self.fc(self.fc(self.identity(x))) + self.identity(self.rows)

    model = Model()
    with every_step(out_dir, include_collections=["activation_gradients"]) as hook:
        hook.register_module(model)
        for _ in range(2):
            model(torch.ones(2, 2)).sum().backward()
            with torch.no_grad():
                model(torch.ones(2, 2))
        assert not model.rows._backward_hooks
    trial = read(out_dir)
    assert trial.tensor_names(collection="activation_gradients") == [
        "activation_gradient/Model_output_0",
        "activation_gradient/fc_output_0",
        "activation_gradient/fc_output_1",
    ]
    assert trial.tensor("activation_gradient/fc_output_1").steps() == [0, 2]
    np.testing.assert_array_equal(
        trial.tensor("activation_gradient/fc_output_0").value(0),
        (torch.ones(2, 2) @ model.fc.weight).detach(),
    )


def test_a_compiled_model_says_once_that_it_has_no_activation_gradients(out_dir, logged):
    torch._dynamo.reset()
    model = torch.compile(Net(), backend="eager")
    with every_step(out_dir, include_collections=["activation_gradients"]) as hook:
        hook.register_module(model)
        train(model, 3)
    assert len([line for line in logged if "activation gradients" in line]) == 1
    assert hook.status().error is None


def test_training_is_bit_identical_with_all_that_can_be_saved(out_dir):
    def run(is_watched):
        torch.manual_seed(3)
        model = torch.nn.Sequential(Net(dropout=0.5, inplace=True), torch.nn.BatchNorm1d(3))
        loss = torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        if is_watched:
            further = ["buffers", "optimizer_state", "learning_rate", "activation_gradients"]
            hook = every_step(
                out_dir,
                save_all=True,
                include_collections=[*further, "inputs", "outputs", "labels"],
                gradients="final",
            )
            hook.register_module(model)
            hook.register_loss(loss)
        losses = []
        for _ in range(12):
            optimizer.zero_grad()
            value = loss(model(torch.randn(6, 4)), torch.randint(0, 3, (6,)))
            value.backward()
            optimizer.step()
            losses.append(value.item())
        if is_watched:
            hook.close()
            assert hook.status().steps_saved == 12 and hook.status().error is None
        return losses, [v.numpy().tobytes() for v in model.state_dict().values()]

    assert run(False) == run(True)


def test_save_all_saves_what_the_original_saves(out_dir):
    model = Normed()
    optimizer = torch.optim.Adam(model.parameters())
    with every_step(out_dir, save_all=True) as hook:
        hook.register_module(model)
        model(torch.randn(5, 4)).sum().backward()
        optimizer.step()
    trial = read(out_dir)
    assert not [name for name in trial.tensor_names() if "/" in name.removeprefix("gradient/")]
    assert {"buffers", "optimizer_state"}.isdisjoint(trial.collections())
    weights = trial.collections()["weights"].include_regex
    assert weights == ["^(?!gradient).*weight"]  # as the original writes it


def test_weights_and_biases_leave_further_tensors_alone(out_dir):
    model = Normed()
    optimizer = torch.optim.Adam(model.parameters())
    wanted = ["weights", "biases", "buffers", "optimizer_state", "activation_gradients"]
    with every_step(out_dir, include_collections=wanted) as hook:
        hook.register_module(model)
        model(torch.randn(5, 4)).sum().backward()
        optimizer.step()
    trial = read(out_dir)
    assert trial.tensor_names(collection="weights") == ["Normed_fc.weight", "Normed_norm.weight"]
    assert trial.tensor_names(collection="biases") == ["Normed_fc.bias", "Normed_norm.bias"]
    assert "buffer/Normed_class_weight" in trial.tensor_names(collection="buffers")
    assert len(trial.tensor_names(collection="optimizer_state")) == 4 * 3


def test_a_further_collection_has_settings_of_its_own(out_dir):
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    with every_step(out_dir, include_collections=["optimizer_state", "weights"]) as hook:
        state = hook.get_collection("optimizer_state")
        assert state.include_regex == ["^optimizer_state/"]
        state.save_config = smd.SaveConfig(save_interval=2)
        state.reduction_config = smd.ReductionConfig(reductions=["mean"])
        hook.register_module(model)
        for _ in range(4):
            model(torch.randn(5, 4)).sum().backward()
            optimizer.step()
    trial = read(out_dir)
    moment = trial.tensor("optimizer_state/Net_fc1.weight/exp_avg")
    assert moment.steps() == [0, 2]
    assert set(moment.reduction_values(2)) == {("mean", False)}
    assert trial.tensor("Net_fc1.weight").steps() == [0, 1, 2, 3]


def test_further_collections_are_asked_for_in_json_too(out_dir, tmp_path):
    path = tmp_path / "hook.json"
    collections = [
        {"CollectionName": "buffers"},
        {"CollectionName": "inputs", "CollectionParameters": {"save_interval": "2"}},
    ]
    path.write_text(
        json.dumps(
            {
                "S3OutputPath": "s3://bucket/run",
                "LocalPath": out_dir,
                "HookParameters": {"save_interval": "1"},
                "CollectionConfigurations": collections,
            }
        )
    )
    model = Normed()
    with smd.Hook.create_from_json_file(str(path)) as hook:
        hook.register_module(model)
        for _ in range(3):
            model(torch.randn(5, 4))
    trial = read(out_dir)
    assert trial.tensor("buffer/Normed_class_weight").steps() == [0, 1, 2]
    assert trial.tensor("Normed_input_0").steps() == [0, 2]


def test_state_and_activation_gradients_belong_to_training(out_dir):
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    wanted = ["optimizer_state", "activation_gradients", "buffers", "weights"]
    with every_step(out_dir, include_collections=wanted) as hook:
        hook.register_module(model)
        for mode in (modes.TRAIN, modes.EVAL):
            hook.set_mode(mode)
            model(torch.randn(5, 4)).sum().backward()
            optimizer.step()
    trial = read(out_dir)
    assert [n for n in trial.tensor_names(mode=modes.EVAL) if "/" in n] == []
    assert len([n for n in trial.tensor_names(mode=modes.TRAIN) if "/" in n]) == 12 + 5
