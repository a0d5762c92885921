"""The Hook API as the user's document lists it, each row used as it says."""

import json

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import Net, read, run_script, train
from smdebug import modes


def every_step(out_dir, **arguments):
    return smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1), **arguments)


def test_the_constructor_takes_its_arguments_in_the_documented_order(out_dir, tmp_path):
    hook = smd.Hook(
        out_dir,
        True,
        str(tmp_path / "tensorboard"),
        False,
        smd.ReductionConfig(reductions=["mean"]),
        smd.SaveConfig(save_interval=2),
        ["relu_output"],
        ["weights"],
        False,
        "all",
    )
    model = Net()
    hook.register_module(model)
    train(model, 3)
    hook.close()
    trial = read(out_dir)
    assert trial.tensor_names() == ["Net_fc1.weight", "Net_fc2.weight", "relu_output_0"]
    assert trial.steps() == [0, 2]
    assert trial.tensor("relu_output_0").reduction_values(0).keys() == {("mean", False)}
    assert list((tmp_path / "tensorboard").rglob("*tfevents*"))


def test_add_collection_get_collection_and_get_collections(out_dir):
    model = Net()
    with every_step(out_dir, include_collections=["mine", "relu"]) as hook:
        mine = smd.Collection("mine", include_regex=["fc1.weight"])
        hook.add_collection(mine)
        assert hook.get_collection("mine") is mine
        assert hook.get_collections()["mine"] is mine
        hook.get_collection("relu").add_module_tensors(model.relu, inputs=True, outputs=False)
        hook.register_module(model)
        train(model, 1)
    trial = read(out_dir)
    assert trial.tensor_names(collection="mine") == ["Net_fc1.weight", "gradient/Net_fc1.weight"]
    assert trial.tensor_names(collection="relu") == ["relu_input_0"]


def test_module_tensors_of_a_second_model_are_found_by_its_own_path(out_dir):
    one, two = Net(), Net()
    with every_step(out_dir, include_collections=["acts"]) as hook:
        hook.get_collection("acts").add_module_tensors(two.relu)
        hook.register_module(one)
        hook.register_module(two)
        one(torch.randn(2, 4))
        two(torch.randn(2, 4))
    trial = read(out_dir)
    assert trial.tensor_names() == ["Net_1.relu_output_0"]
    assert trial.steps() == [1]


def test_set_mode_takes_each_of_the_modes(out_dir):
    model = Net()
    with every_step(out_dir, include_collections=["weights"]) as hook:
        hook.register_module(model)
        for mode in (smd.modes.TRAIN, smd.modes.EVAL, smd.modes.PREDICT, smd.modes.GLOBAL):
            hook.set_mode(mode)
            model(torch.randn(2, 4))
    trial = read(out_dir)
    assert trial.steps() == [0, 1, 2, 3]
    for mode in (modes.TRAIN, modes.EVAL, modes.PREDICT):
        assert trial.steps(mode=mode) == [0]


HOOK_PARAMETERS = {
    "save_all": "false",
    "include_workers": "one",
    "include_regex": "relu_output,fc1_output",
    "reductions": "min,abs_mean,l2",
    "save_raw_tensor": "true",
    "save_shape": "true",
    "save_steps": "1",
    "start_step": "1",
    "train.save_interval": "2",
    "eval.save_interval": "1",
}


def test_a_hook_from_a_json_file_does_what_the_file_says(out_dir, tmp_path, monkeypatch):
    path = tmp_path / "hook.json"
    path.write_text(
        json.dumps(
            {
                "LocalPath": out_dir,
                "HookParameters": HOOK_PARAMETERS,
                "CollectionConfigurations": [
                    {"CollectionName": "weights", "CollectionParameters": {"save_steps": "3"}}
                ],
            }
        )
    )
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(path))
    model = Net()
    seen = []
    model.relu.register_forward_hook(lambda m, a, out: seen.append(out.detach().numpy().copy()))
    with smd.Hook.create_from_json_file() as hook:
        assert smd.get_hook() is hook
        hook.register_module(model)
        hook.set_mode(modes.TRAIN)
        train(model, 5)
        hook.set_mode(modes.EVAL)
        model(torch.randn(3, 4))
        model(torch.randn(3, 4))
    trial = read(out_dir)
    assert 3 in trial.tensor("Net_fc1.weight").steps(mode=modes.TRAIN)
    relu = trial.tensor("relu_output_0")
    assert relu.steps(mode=modes.TRAIN) == [1, 2, 4]
    assert relu.steps(mode=modes.EVAL) == [1]
    for step in (1, 2, 4):
        np.testing.assert_array_equal(relu.value(step, mode=modes.TRAIN), seen[step])
        assert relu.shape(step, mode=modes.TRAIN) == seen[step].shape
        expected = {("min", False): seen[step].min(), ("mean", True): np.abs(seen[step]).mean(),
                    ("l2", False): np.linalg.norm(seen[step])}  # fmt: skip
        assert relu.reduction_values(step, mode=modes.TRAIN) == pytest.approx(expected, rel=1e-5)


def test_a_json_file_says_what_a_step_and_a_gradient_is(out_dir, tmp_path):
    path = tmp_path / "hook.json"
    parameters = {"save_interval": "1", "step_on": "optimizer", "gradients": "final"}
    collections = [{"CollectionName": "gradients"}]
    path.write_text(
        json.dumps(
            {
                "LocalPath": out_dir,
                "HookParameters": parameters,
                "CollectionConfigurations": collections,
            }
        )
    )
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with smd.Hook.create_from_json_file(str(path)) as hook:
        hook.register_module(model)
        for batch in range(4):
            model(torch.randn(2, 4)).sum().backward()
            if batch % 2:
                whole = model.fc1.weight.grad.clone()
                optimizer.step()
                optimizer.zero_grad()
    gradient = read(out_dir).tensor("gradient/Net_fc1.weight")
    assert gradient.steps() == [0, 1]
    np.testing.assert_array_equal(gradient.value(1), whole)


def test_get_hook_makes_one_where_it_is_asked_to(out_dir, tmp_path):
    path = tmp_path / "hook.json"
    path.write_text(json.dumps({"LocalPath": out_dir}))
    assert smd.get_hook() is None
    hook = smd.get_hook(json_config_path=str(path), create_if_not_exists=True)
    assert hook.out_dir == out_dir and smd.get_hook() is hook
    smd.del_hook()
    assert smd.get_hook() is None
    smd.set_hook(hook)
    assert smd.get_hook() is hook


def test_a_recorded_value_is_a_loss_of_its_name_numbered_over_the_step(out_dir):
    model = Net()
    with every_step(out_dir) as hook:
        hook.register_module(model)
        for step in range(2):
            model(torch.randn(2, 4))
            hook.record_tensor_value("nll_loss", torch.tensor(float(step)))
            hook.record_tensor_value(tensor_name="nll_loss", tensor_value=torch.tensor(10.0 + step))
    trial = read(out_dir)
    names = ["nll_loss_output_0", "nll_loss_output_1"]
    assert trial.tensor_names(collection="losses") == names
    values = [[trial.tensor(n).value(step).item() for step in (0, 1)] for n in names]
    assert values == [[0, 1], [10, 11]]


def test_save_scalar_and_save_tensor_go_into_the_present_step(out_dir):
    model = Net()
    with every_step(out_dir, save_all=True, step_on="optimizer") as hook:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        hook.register_module(model)
        for step in range(2):
            model(torch.randn(2, 4)).sum().backward()
            optimizer.step()
            hook.save_scalar("accuracy", step / 2, sm_metric=True)
            hook.save_tensor("confusion", np.eye(2) * step, collections_to_write=["metrics"])
    trial = read(out_dir)
    for step in range(2):
        assert trial.tensor("scalar/accuracy").value(step).item() == step / 2
        np.testing.assert_array_equal(trial.tensor("confusion").value(step), np.eye(2) * step)
    assert trial.tensor_names(collection="metrics") == ["confusion"]


def test_a_paused_hook_saves_nothing_of_an_optimizer(out_dir):
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    wanted = ["gradients", "optimizer_state", "learning_rate", "activation_gradients"]
    with every_step(
        out_dir, include_collections=wanted, gradients="final", step_on="optimizer"
    ) as hook:
        hook.register_module(model)
        for step in range(5):
            if step == 1:
                hook.pause()
            if step == 3:
                hook.resume()
            model(torch.randn(2, 4)).sum().backward()
            optimizer.step()
        assert hook.status().steps == 5
    trial = read(out_dir)
    assert trial.steps() == [0, 3, 4]
    for name in trial.tensor_names():
        assert trial.tensor(name).steps() == [0, 3, 4], name


def test_dry_run_writes_nothing_of_an_optimizer_either(out_dir, tmp_path):
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    wanted = ["buffers", "optimizer_state", "learning_rate"]
    with every_step(
        out_dir, save_all=True, include_collections=wanted, dry_run=True, gradients="final"
    ) as hook:
        hook.register_module(model)
        model(torch.randn(2, 4)).sum().backward()
        optimizer.step()
    assert list(tmp_path.iterdir()) == []
    assert hook.status().tensors == 4 + 4 + 10 + 4 * 3 + 1


def test_one_worker_writes_or_all_of_them(tmp_path):
    script = """
    import sys, torch, torch.distributed as dist, smdebug.pytorch as smd
    rank, workers, out_dir = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    import atexit, os
    atexit.register(os._exit, 0)
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1), include_workers=workers,
                    include_collections=["gradients"], gradients="final")
    dist.init_process_group("gloo", f"file://{out_dir}.ranks", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    hook.register_module(parallel)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        parallel(torch.full((1, 2), float(rank + step))).sum().backward()
        optimizer.step()
    hook.close()
    dist.destroy_process_group()
    """
    import subprocess
    import sys
    import textwrap

    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    for workers in ("one", "all"):
        out_dir = str(tmp_path / workers)
        ranks = [
            subprocess.Popen([sys.executable, str(path), str(rank), workers, out_dir])
            for rank in range(2)
        ]
        assert [rank.wait(timeout=120) for rank in ranks] == [0, 0]
        trial = read(out_dir)
        expected = ["worker_0"] if workers == "one" else ["worker_0", "worker_1"]
        assert trial.workers() == expected
        gradient = trial.tensor("gradient/Linear_weight")
        for worker in expected:
            # The mean over the ranks, whose inputs are `step` and `step + 1`.
            for step in range(2):
                value = gradient.value(step, worker=worker)
                np.testing.assert_allclose(value, np.full((1, 2), step + 0.5))


def test_a_hook_that_is_given_to_nothing_leaves_no_trace(tmp_path, out_dir):
    done = run_script(
        tmp_path,
        """
        import os, sys, smdebug.pytorch as smd
        hook = smd.Hook(sys.argv[1], step_on="optimizer", gradients="final")
        hook.close()
        print(os.path.exists(sys.argv[1] + "/events"))
        """,
        arguments=[out_dir],
    )
    assert done.stdout.strip() == "False"
