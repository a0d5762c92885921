"""A script that was killed and is run again in the folder of its first run."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from free_ports import free_port

from smdebug.trials import create_trial

SCRIPT = """
    import os, signal, sys
    import torch
    import smdebug.pytorch as smd

    out_dir, steps, value, is_killed = sys.argv[1], *map(int, sys.argv[2:5])
    torch.manual_seed(value)
    net = torch.nn.Linear(2, 1)
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1), save_all=True)
    hook.register_module(net)
    for step in range(steps):
        output = net(torch.ones(1, 2))
        hook.save_tensor("value", torch.full((2,), float(value)))
        output.sum().backward()
    if is_killed:
        hook.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    hook.close()
"""


DISTRIBUTED = """
    import os, signal, sys
    import torch
    import smdebug.pytorch as smd

    # With is_late, the first worker begins after the other one has written its steps.
    def work(rank, out_dir, port, steps, is_killed, is_late):
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
        net = torch.nn.Linear(2, 1)
        if not is_late:
            net = torch.nn.parallel.DistributedDataParallel(net)
        every_step = smd.SaveConfig(save_interval=1)
        hook = smd.Hook(out_dir, include_workers="all", save_config=every_step, save_all=True)
        hook.register_module(net)
        if is_late and rank == 0:
            torch.distributed.barrier()
        for step in range(steps):
            net(torch.ones(1, 2)).sum().backward()
        hook.flush()
        if not is_late or rank == 1:
            torch.distributed.barrier()
        if is_killed:
            os.kill(os.getpid(), signal.SIGKILL)
        hook.close()

    if __name__ == "__main__":
        numbers = map(int, sys.argv[2:])
        is_killed = int(sys.argv[4])
        try:
            torch.multiprocessing.spawn(work, (sys.argv[1], *numbers), nprocs=2)
        except torch.multiprocessing.ProcessExitedException:
            assert is_killed
"""


def train(out_dir, *, steps, value, is_killed=False):
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), out_dir]
        + [str(int(number)) for number in (steps, value, is_killed)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == (-signal.SIGKILL if is_killed else 0), result.stderr
    return result.stderr


def values(trial):
    tensor = trial.tensor("value")
    return {step: tensor.value(step).tolist() for step in tensor.steps()}


@pytest.fixture
def run(tmp_path):
    return str(tmp_path / "run")


def test_a_script_that_is_run_again_after_it_was_killed_does_not_mix_two_trainings(run):
    train(run, steps=6, value=1, is_killed=True)
    log = train(run, steps=3, value=2)
    trial = create_trial(run)
    assert trial.steps() == [0, 1, 2]
    assert set(map(tuple, values(trial).values())) == {(2.0, 2.0)}
    assert f"are now the run '{run}/attempts/1'" in log


def test_the_earlier_attempt_is_a_run_that_can_be_opened(run):
    train(run, steps=6, value=1, is_killed=True)
    train(run, steps=3, value=2)
    trial = create_trial(run)
    first, second = trial.attempts()
    assert (trial.attempt, first.number, second.number) == (2, 1, 2)
    assert first.started_seconds < second.started_seconds
    assert (second.status, second.location) == ("finished", "")
    earlier = create_trial(first.location)
    assert earlier.loaded_all_steps
    assert len(earlier.steps()) in (5, 6)  # the step in flight may be complete
    assert set(map(tuple, values(earlier).values())) == {(1.0, 1.0)}


def test_show_names_both_attempts(run):
    train(run, steps=6, value=1, is_killed=True)
    train(run, steps=3, value=2)
    shown = subprocess.run(
        [sys.executable, "-m", "smdebug", "show", run], capture_output=True, text=True, check=True
    ).stdout
    assert "3 saved" in shown and ", attempt 2\n" in shown
    (earlier,) = [line for line in shown.splitlines() if line.startswith("attempt 1 ")]
    assert earlier.endswith(f"did not end: smdebug show {run}/attempts/1")


def test_an_open_trial_follows_the_new_attempt(run):
    train(run, steps=6, value=1, is_killed=True)
    trial = create_trial(run)
    tensor = trial.tensor("value")
    assert len(tensor.steps()) >= 4
    train(run, steps=2, value=2)
    assert trial.steps() == [0, 1]
    assert tensor.steps() == [0, 1]
    assert tensor.value(0).tolist() == [2.0, 2.0]
    assert trial.attempt == 2


def test_a_run_that_was_started_once_has_one_attempt(run):
    train(run, steps=2, value=1)
    (only,) = create_trial(run).attempts()
    assert (only.number, only.first_step, only.location) == (1, 0, "")
    assert only.ended_seconds >= only.started_seconds


def train_two_workers(run, tmp_path, *, steps, is_killed=False, is_late=False):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(DISTRIBUTED))
    numbers = [str(int(each)) for each in (free_port(), steps, is_killed, is_late)]
    subprocess.run([sys.executable, script, run, *numbers], check=True, timeout=180)


def test_a_first_worker_that_begins_last_leaves_the_steps_of_the_others(run, tmp_path):
    train_two_workers(run, tmp_path, steps=3, is_late=True)
    trial = create_trial(run)
    assert not os.path.exists(f"{run}/attempts")
    assert trial.steps() == [0, 1, 2]
    for step in trial.steps():
        assert trial.tensor("Linear_weight").workers(step) == ["worker_0", "worker_1"]


def test_the_workers_of_a_new_attempt_leave_no_step_of_the_old_one(run, tmp_path):
    train_two_workers(run, tmp_path, steps=5, is_killed=True)
    train_two_workers(run, tmp_path, steps=3)
    trial = create_trial(run)
    assert trial.steps() == [0, 1, 2]
    assert trial.steps(show_incomplete_steps=True) == [0, 1, 2]
    for step in trial.steps():
        assert trial.tensor("Linear_weight").workers(step) == ["worker_0", "worker_1"]
    earlier = create_trial(trial.attempts()[0].location)
    assert earlier.workers() == ["worker_0", "worker_1"]
    assert len(earlier.steps()) in (4, 5)
