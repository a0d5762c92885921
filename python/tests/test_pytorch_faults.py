"""Everything that can go wrong beside a training, and must not reach it."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import torch

import smdebug.pytorch as smd
from conftest import Net, read, run_script, train

TRAINING = """
import sys, torch, smdebug.pytorch as smd
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64))
hook = smd.Hook(sys.argv[1], save_all=True, save_config=smd.SaveConfig(save_interval=1))
hook.register_module(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def step():
    optimizer.zero_grad()
    loss = model(torch.randn(8, 64)).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()
"""


def test_an_out_dir_that_cannot_be_written_is_a_status(tmp_path, capfd):
    (tmp_path / "file").write_text("")
    plain, watched = Net(), Net()
    watched.load_state_dict(plain.state_dict())
    hook = smd.Hook(
        str(tmp_path / "file" / "run"),
        save_all=True,
        save_config=smd.SaveConfig(save_interval=1),
    )
    hook.register_module(watched)
    assert train(watched, 5) == train(plain, 5)
    hook.flush()
    status = hook.status()
    hook.close()
    assert status.state == "failed"
    assert "file" in status.error
    assert capfd.readouterr().err.count("error") >= 1


def test_a_full_disk_stops_recording_and_not_the_training(tmp_path, out_dir):
    done = run_script(
        tmp_path,
        f"""
        import resource, signal
        {textwrap.indent(TRAINING, "        ").strip()}
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        losses = [step() for _ in range(30)]
        hook.flush()
        status = hook.status()
        hook.close()
        print(len(losses), status.state, status.error)
        """,
        arguments=[out_dir],
    )
    assert done.stdout.startswith("30 failed")
    assert "File too large" in done.stdout
    assert done.stderr.count("File too large") == 1


def test_a_killed_training_leaves_every_published_step_readable(tmp_path, out_dir):
    script = tmp_path / "script.py"
    script.write_text(TRAINING + "while True:\n    step()\n    print(flush=True)\n")
    process = subprocess.Popen(
        [sys.executable, str(script), out_dir], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    while len(list(pathlib.Path(out_dir).glob("index/*/*.json"))) < 5:
        assert process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    trial = read(out_dir)
    steps = trial.steps()
    assert steps and steps == list(range(len(steps)))
    for name in trial.tensor_names():
        for step in trial.tensor(name).steps():
            assert trial.tensor(name).value(step).size > 0
    assert not trial.loaded_all_steps


def test_a_script_that_raises_publishes_its_last_step(tmp_path, out_dir):
    done = run_script(
        tmp_path,
        TRAINING + "for _ in range(3):\n    step()\nraise RuntimeError('the script failed')\n",
        arguments=[out_dir],
        check=False,
    )
    assert done.returncode == 1
    assert "the script failed" in done.stderr
    trial = read(out_dir)
    assert trial.steps() == [0, 1, 2]
    assert trial.loaded_all_steps


def test_a_mistake_of_ours_is_latched_and_the_training_goes_on(out_dir, monkeypatch):
    model = Net()
    hook = smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1))
    hook.register_module(model)
    train(model, 2)
    monkeypatch.setattr(hook, "_begin_step", lambda: 1 / 0)
    train(model, 2)
    status = hook.status()
    assert status.state == "failed"
    assert "ZeroDivisionError" in status.error
    hook.close()
    assert read(out_dir).steps() == [0, 1]


def test_a_second_process_writes_nothing_and_says_so(tmp_path, out_dir):
    model = Net()
    hook = smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1))
    hook.register_module(model)
    train(model, 1)
    done = run_script(
        tmp_path,
        TRAINING + "step(); step(); print(hook.status().state, hook.status().reason)\n",
        arguments=[out_dir],
    )
    assert done.stdout.startswith("silent")
    assert str(os.getpid()) in done.stdout
    hook.close()
    assert read(out_dir).steps() == [0]


def test_a_forward_that_raises_leaves_the_hook_working(out_dir):
    class Sometimes(Net):
        def forward(self, x):
            if x.shape[0] == 1:
                raise ValueError("a batch of one")
            return super().forward(x)

    model = Sometimes()
    with smd.Hook(
        out_dir, include_regex=["fc1_output"], save_config=smd.SaveConfig(save_interval=1)
    ) as hook:
        hook.register_module(model)
        model(torch.randn(2, 4))
        try:
            model(torch.randn(1, 4))
        except ValueError:
            pass
        model(torch.randn(2, 4))
    assert read(out_dir).tensor("fc1_output_0").steps() == [0, 2]
