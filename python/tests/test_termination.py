"""SIGTERM to a training: what had ended is published, and the process dies of the signal."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from conftest import read, run_script
from smdebug import modes

TRAINING = """
import os, signal, sys, torch, smdebug.pytorch as smd
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64))
hook = smd.Hook(sys.argv[1], save_all=True, save_config=smd.SaveConfig(save_interval=1))
hook.register_module(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def step():
    optimizer.zero_grad()
    model(torch.randn(8, 64)).square().mean().backward()
    optimizer.step()
"""


def test_every_step_that_ended_is_readable(tmp_path, out_dir):
    script = tmp_path / "script.py"
    script.write_text(
        TRAINING
        + "count = 0\nwhile True:\n    step()\n    print(count, flush=True)\n    count += 1\n"
    )
    process = subprocess.Popen(
        [sys.executable, str(script), out_dir],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    for _ in range(10):
        assert process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    begun = 10 + len([line for line in process.stdout.read().splitlines() if line])
    process.stdout.close()
    assert process.wait(timeout=60) == -signal.SIGTERM
    trial = read(out_dir)
    steps = trial.steps()
    # The tenth step was open, as far as the hook knows, when the signal was sent. The last one may
    # have all of its tensors before the script has printed its number.
    assert steps == list(range(len(steps)))
    assert 9 <= len(steps) <= begun + 1
    for name in trial.tensor_names():
        for step in trial.tensor(name).steps():
            assert trial.tensor(name).value(step).size > 0
    assert not trial.loaded_all_steps  # it may be started again in this folder


def test_a_step_that_ended_just_now_is_not_lost(tmp_path, out_dir):
    large = TRAINING.replace("256", "4096").replace("64)", "512)").replace("(64", "(512")
    done = run_script(
        tmp_path,
        large
        + """
step()
step()
# The second step ends as the third begins, some megabytes ahead of the write thread.
model[0].register_forward_pre_hook(lambda *_: os.kill(os.getpid(), signal.SIGTERM))
step()
signal.pause()
""",
        arguments=[out_dir],
        check=False,
    )
    assert done.returncode == -signal.SIGTERM, done.stderr
    assert read(out_dir).steps() == [0, 1]


def test_the_step_in_flight_is_published_if_all_of_it_was_captured(tmp_path, out_dir):
    # The third step would end as a fourth begins.
    ending = (
        "for _ in range(3):\n    step()\nos.kill(os.getpid(), signal.SIGTERM)\nsignal.pause()\n"
    )
    done = run_script(tmp_path, TRAINING + ending, arguments=[out_dir], check=False)
    assert done.returncode == -signal.SIGTERM, done.stderr
    trial = read(out_dir)
    assert trial.steps() == [0, 1, 2]
    assert trial.tensor_names(step=2) == trial.tensor_names(step=1)


def test_a_terminated_training_can_go_on_in_its_folder(tmp_path, out_dir):
    script = TRAINING + "for _ in range(4):\n    step()\n"
    end = "os.kill(os.getpid(), signal.SIGTERM)\nsignal.pause()\n"
    assert run_script(tmp_path, script + end, arguments=[out_dir], check=False).returncode == (
        -signal.SIGTERM
    )
    assert read(out_dir).steps() == [0, 1, 2, 3]  # the last one had all of its tensors
    done = run_script(tmp_path, script, arguments=[out_dir])
    assert "taken over" in done.stderr
    assert read(out_dir).steps() == [0, 1, 2, 3]
    assert read(f"{out_dir}/attempts/1").steps() == [0, 1, 2, 3]


def test_a_scripts_own_handler_stays(tmp_path, out_dir):
    own = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
    end = "step()\nstep()\nos.kill(os.getpid(), signal.SIGTERM)\nsignal.pause()\n"
    for name, script in {"a": own + TRAINING + end, "b": TRAINING + own + end}.items():
        script = "import signal, sys\n" + script
        done = run_script(tmp_path, script, arguments=[out_dir + name], check=False)
        assert done.returncode == 7, done.stderr
        assert read(out_dir + name).loaded_all_steps  # it ended as Python programs do


def test_workers_of_a_data_loader_still_die_of_it(tmp_path, out_dir):
    run_script(
        tmp_path,
        TRAINING
        + """
step()
child = os.fork()
if child == 0:
    signal.alarm(60)
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()
_, status = os.waitpid(child, 0)
assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM, status
""",
        arguments=[out_dir],
    )


def test_a_run_stays_below_its_limit(tmp_path, out_dir):
    limit = 2_000_000
    run_script(
        tmp_path,
        TRAINING.replace("save_all=True,", f"save_all=True, max_run_bytes={limit}, keep_every=20,")
        + """
for _ in range(50):
    step()
hook.close()
print(hook.status().removed_steps)
assert hook.status().removed_steps > 20
assert hook.status().first_kept_step == 0
""",
        arguments=[out_dir],
    )
    run = pathlib.Path(out_dir)
    files = [path for path in run.rglob("*") if path.suffix in (".json", ".tfevents")]
    kept = [path for path in files if {"events", "index"} & set(path.parts)]
    assert 0 < sum(path.stat().st_size for path in kept) <= limit
    steps = read(out_dir).steps()
    assert {0, 20, 40, 49} <= set(steps)
    assert len(os.listdir(run / "events")) == len(steps)
    cost = json.loads((run / "run.json").read_text())["attempts"][0]["cost"]
    assert cost["removed_steps"] == 50 - len(steps)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"max_run_bytes": 0}, "max_run_bytes must be 1 or more, found 0"),
        (
            {"max_run_bytes": "1GB"},
            "max_run_bytes must be a whole number of bytes, such as 2_000_000_000, found '1GB'",
        ),
        ({"max_run_bytes": True}, "max_run_bytes must be a whole number"),
        ({"keep_every": -1}, "keep_every must be 0 or more, found -1"),
        ({"keep_every": None}, "keep_every must be a whole number"),
    ],
)
def test_a_limit_that_makes_no_sense_raises(out_dir, arguments, said):
    import smdebug.pytorch as smd

    with pytest.raises(Exception, match=said):
        smd.Hook(out_dir, **arguments)


def test_steps_go_on_where_a_checkpoint_was_taken(tmp_path, out_dir):
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"LocalPath": str(folder)}))
    environment = {"CHECKPOINT_CONFIG_FILE_PATH": str(config)}
    script = (
        TRAINING
        + """
hook.set_mode(smd.modes.TRAIN)
for _ in range(4):
    step()
torch.save(model.state_dict(), sys.argv[2])
step()
os.kill(os.getpid(), signal.SIGTERM)
signal.pause()
"""
    )
    for name in ("a.pt", "b.pt"):
        done = run_script(
            tmp_path,
            script,
            environment=environment,
            arguments=[out_dir, folder / name],
            check=False,
        )
        assert done.returncode == -signal.SIGTERM, done.stderr
    # Four steps, then the checkpoint; the next process repeats the step after it.
    states = json.loads((folder / "metadata.json").read_text())
    assert [state["latest-global-step-seen"] for state in states] == [3, 7]
    assert [state["training-run"] for state in states] == [0, 1]
    trial = read(out_dir)
    assert trial.steps() == trial.steps(mode=modes.TRAIN) == list(range(9))
