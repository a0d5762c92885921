"""The original's reader, from PyPI, reads the runs that we write."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from smdebug import _core
from smdebug.core.writer import FileWriter

HERE = pathlib.Path(__file__).resolve().parent
ORIGINAL = HERE.parents[1] / ".venv/original/bin/python"


def read_with_original(run):
    if not ORIGINAL.exists():
        pytest.fail(f"{ORIGINAL} is not there: run tools/venv original")
    # From a folder of its own, so that `import smdebug` finds the PyPI package.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    result = subprocess.run(
        [ORIGINAL, HERE / "read_with_original.py", run],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout[result.stdout.index("{") :])


def as_array(answer):
    flat = np.frombuffer(bytes.fromhex(answer["hex"]), answer["dtype"])
    return flat.reshape(answer["shape"])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(4, 6)
        self.relu = torch.nn.ReLU(inplace=True)
        self.fc2 = torch.nn.Linear(6, 3)

    def forward(self, x):
        return self.fc2(self.relu(self.fc1(x)))


def train(hook, steps=4):
    """Trains with modes and returns the weights of fc1 before each step."""
    torch.manual_seed(0)
    net, criterion = Net(), torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    hook.register_module(net)
    hook.register_loss(criterion)
    weights = []
    for step in range(steps):
        is_training = step % 2 == 0
        hook.set_mode(smd.modes.TRAIN if is_training else smd.modes.EVAL)
        net.train(is_training)
        weights.append(net.fc1.weight.detach().numpy().copy())
        loss = criterion(net(torch.randn(5, 4)), torch.randint(3, (5,)))
        if is_training:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    hook.save_scalar("accuracy", 0.75)
    hook.close()
    return weights


def test_the_original_reads_names_steps_modes_and_values_of_our_run(tmp_path):
    every_step = smd.SaveConfig(save_interval=1)
    weights = train(smd.Hook(tmp_path / "run", save_all=True, save_config=every_step))
    assert list((tmp_path / "run/facts").iterdir())  # which the original does not know
    answers = read_with_original(tmp_path / "run")

    assert answers["steps"] == {
        "TRAIN": [0, 1],
        "EVAL": [0, 1],
        "PREDICT": [],
        "GLOBAL": [0, 1, 2, 3],
    }
    assert answers["workers"] == ["worker_0"]
    ours = smd.create_trial(str(tmp_path / "run"))
    assert sorted(answers["tensors"]) == ours.tensor_names()
    for step in range(4):
        weight = as_array(answers["tensors"]["Net_fc1.weight"]["GLOBAL"][str(step)]["value"])
        np.testing.assert_array_equal(weight, weights[step])
    for name, modes in answers["tensors"].items():
        for step, answer in modes["GLOBAL"].items():
            assert "raises" not in answer, f"{name} at step {step}: {answer}"
            value = as_array(answer["value"])
            np.testing.assert_array_equal(ours.tensor(name).value(int(step)), value)


def test_the_original_reads_a_run_with_scalar_series_as_one_without(tmp_path):
    config = _core.HookConfig(
        str(tmp_path / "run"),
        include_regex=["."],
        include_collections=[],
        save_all=True,
        dry_run=False,
        all_workers=False,
        collections=[],
    )
    session = _core.Session.create(config, _core.pytorch_framework(), [], {}, {})
    loss, weight = session.scalar("loss"), session.tensor("weight")
    for step in range(600):
        session.begin_step()
        loss.note(step)
        weight.put(np.full(3, step, np.float32))
    session.close()
    assert list((tmp_path / "run/series").iterdir())
    answers = read_with_original(tmp_path / "run")
    assert list(answers["tensors"]) == ["weight"]
    assert answers["steps"]["GLOBAL"] == [0, 500]
    assert answers["workers"] == ["worker_0"]


def test_the_original_reads_a_run_on_which_a_rule_fired_as_one_without(tmp_path):
    every_step = smd.SaveConfig(save_interval=1)
    rules = {"judged": [("VanishingGradient", {"threshold": 1e9})], "plain": []}
    answers = {}
    for name, judges in rules.items():
        train(smd.Hook(tmp_path / name, save_all=True, save_config=every_step, rules=judges))
        answers[name] = read_with_original(tmp_path / name)
    assert [path.name for path in (tmp_path / "judged/rules/fired").iterdir()] == [
        "000000000000_VanishingGradient.json"
    ]
    assert answers["judged"]["steps"] == answers["plain"]["steps"]
    assert answers["judged"]["tensors"] == answers["plain"]["tensors"]


def test_the_original_sees_one_training_in_a_folder_that_was_used_again(tmp_path):
    run = tmp_path / "run"
    every_step = smd.SaveConfig(save_interval=1)
    train(smd.Hook(run, save_all=True, save_config=every_step), steps=8)
    (run / "training_job_end.ts").unlink()  # as if the process had been killed
    weights = train(smd.Hook(run, save_all=True, save_config=every_step), steps=4)

    for trial, steps in ((run, 4), (run / "attempts/1", 8)):
        answers = read_with_original(trial)
        assert answers["steps"]["GLOBAL"] == list(range(steps))
        weight = answers["tensors"]["Net_fc1.weight"]["GLOBAL"]
        for step in range(4):
            np.testing.assert_array_equal(as_array(weight[str(step)]["value"]), weights[step])


def test_the_original_sees_each_step_of_a_resumed_run_once(tmp_path, monkeypatch):
    run = tmp_path / "run"
    every_step = smd.SaveConfig(save_interval=1)
    old = train(smd.Hook(run, save_all=True, save_config=every_step), steps=8)
    (run / "training_job_end.ts").unlink()  # as if the process had been killed
    checkpoint = {"training-run": 0, "latest-global-step-seen": 3}
    checkpoint["latest-mode-step"] = {"TRAIN": 1, "EVAL": 1, "GLOBAL": 3}
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints/metadata.json").write_text(json.dumps([checkpoint]))
    config = tmp_path / "checkpointconfig.json"
    config.write_text(json.dumps({"LocalPath": str(tmp_path / "checkpoints")}))
    monkeypatch.setenv("CHECKPOINT_CONFIG_FILE_PATH", str(config))
    new = train(smd.Hook(run, save_all=True, save_config=every_step), steps=6)

    expected = {run: old[:4] + new, run / "attempts/1": [None] * 4 + old[4:]}
    for trial, weights in expected.items():
        answers = read_with_original(trial)
        steps = [step for step, weight in enumerate(weights) if weight is not None]
        assert answers["steps"]["GLOBAL"] == steps
        weight = answers["tensors"]["Net_fc1.weight"]["GLOBAL"]
        for step in steps:
            np.testing.assert_array_equal(as_array(weight[str(step)]["value"]), weights[step])


def test_the_original_reads_our_reductions(tmp_path):
    config = smd.ReductionConfig(
        reductions=["min", "max", "mean", "std", "variance", "sum", "prod"],
        abs_reductions=["mean", "max"],
        norms=["l1", "l2"],
    )
    weights = train(
        smd.Hook(
            tmp_path / "run",
            include_collections=["weights"],
            save_config=smd.SaveConfig(save_interval=1),
            reduction_config=config,
        )
    )
    answers = read_with_original(tmp_path / "run")
    for step in range(4):
        answer = answers["tensors"]["Net_fc1.weight"]["GLOBAL"][str(step)]
        assert answer["raises"] == "TensorUnavailableForStep"  # only reductions were kept
        weight = weights[step].astype(np.float64)
        expected = {
            "min": weight.min(),
            "max": weight.max(),
            "mean": weight.mean(),
            "std": weight.std(ddof=1),
            "variance": weight.var(ddof=1),
            "sum": weight.sum(),
            "prod": weight.prod(),
            "abs_mean": np.abs(weight).mean(),
            "abs_max": np.abs(weight).max(),
            "l1": np.abs(weight).sum(),
            "l2": np.sqrt((weight**2).sum()),
        }
        assert answer["reductions"].keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_allclose(answer["reductions"][name], value, rtol=1e-6, err_msg=name)


def test_the_original_reads_what_file_writer_wrote(tmp_path):
    given = {
        "float": np.arange(6, dtype=np.float32).reshape(2, 3),
        "strided": np.arange(12.0)[::-3],
        "scalar": np.array(2, dtype=np.int64),
        "bool": np.array([True, False]),
        "complex": np.array([1 + 2j]),
    }
    modes = [smd.modes.TRAIN, smd.modes.EVAL]
    for step, mode in enumerate(modes):
        with FileWriter(tmp_path / "run", "worker_0", step=step) as writer:
            for name, value in given.items():
                writer.write_tensor(value, name, mode=mode, mode_step=0)
    (tmp_path / "run/collections/000000000").mkdir(parents=True)
    collections = {"default": {"name": "default", "include_regex": [], "tensor_names": []}}
    (tmp_path / "run/collections/000000000/worker_0_collections.json").write_text(
        json.dumps({"collections": collections, "_meta": {"num_workers": 1}})
    )
    (tmp_path / "run/training_job_end.ts").touch()
    answers = read_with_original(tmp_path / "run")
    assert answers["steps"] == {"TRAIN": [0], "EVAL": [0], "PREDICT": [], "GLOBAL": [0, 1]}
    assert answers["tensors"].keys() == given.keys()
    for name, value in given.items():
        for step in ("0", "1"):
            read = as_array(answers["tensors"][name]["GLOBAL"][step]["value"])
            np.testing.assert_array_equal(read, value, strict=True)


def test_the_original_opens_a_run_that_holds_statistics_alone(tmp_path):
    train(
        smd.Hook(
            tmp_path / "run",
            include_collections=["gradients"],
            save_config=smd.SaveConfig(save_interval=1),
            reduction_config=smd.ReductionConfig(summary=True),
        )
    )
    answers = read_with_original(tmp_path / "run")
    assert answers["steps"]["GLOBAL"] == [0, 1, 2, 3]
    assert "CrossEntropyLoss_output_0" in answers["tensors"]
