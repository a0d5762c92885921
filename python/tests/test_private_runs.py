"""Runs that only their owner can read, and secrets that run.json does not show."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import textwrap

import pytest

import smdebug.pytorch as smd
from conftest import Net, read, train


def modes_below(folder):
    """The permissions of the folder and of everything in it."""
    paths = [pathlib.Path(folder), *pathlib.Path(folder).rglob("*")]
    return {str(path): (path.is_dir(), path.stat().st_mode & 0o777) for path in paths}


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def record(out_dir, **options):
    hook = smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1), **options)
    model = Net()
    hook.register_module(model)
    train(model, 3)
    hook.close()
    return hook


def check_is_private(folder):
    for path, (is_folder, mode) in modes_below(folder).items():
        assert mode == (0o700 if is_folder else 0o600), path


def test_a_private_run_can_be_read_by_its_owner_alone(out_dir, tmp_path, open_umask):
    record(out_dir, private=True, tensorboard_dir=tmp_path / "tb", rules=["ExplodingTensor"])
    for folder in (out_dir, tmp_path / "tb"):
        check_is_private(folder)
    assert read(out_dir).steps() == [0, 1, 2]


def test_a_private_run_of_the_command_can_be_read_by_its_owner_alone(out_dir, tmp_path, open_umask):
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent(
            """
            import torch
            model = torch.nn.Linear(2, 2)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(3):
                optimizer.zero_grad()
                model(torch.ones(1, 2)).sum().backward()
                optimizer.step()
            """
        )
    )
    smdebug = [sys.executable, "-m", "smdebug"]
    options = ["--out", out_dir, "--private", "--rule", "ExplodingTensor"]
    launched = [*smdebug, "run", *options, "--", sys.executable, script]
    subprocess.run(launched, check=True)
    subprocess.run([*smdebug, "watch", out_dir, "--rule", "ExplodingTensor"], check=True)
    assert pathlib.Path(out_dir, "rules/ExplodingTensor.json").exists()
    check_is_private(out_dir)


def test_without_the_option_the_umask_decides(out_dir, open_umask):
    record(out_dir)
    assert {mode for _, mode in modes_below(out_dir).values()} == {0o777, 0o666}


def test_secrets_in_the_command_line_are_not_in_the_run(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            import torch
            import smdebug.pytorch as smd
            with smd.Hook(sys.argv[1], save_config=smd.SaveConfig(save_interval=1)) as hook:
                model = torch.nn.Linear(2, 2)
                hook.register_module(model)
                model(torch.ones(1, 2)).sum().backward()
            """
        )
    )
    secrets = ["--api-key", "s1", "--token=s2", "AWS_SECRET_ACCESS_KEY=s3", "https://me:s4@host/"]
    command = [sys.executable, script, tmp_path / "run", *secrets, "--lr=0.1"]
    subprocess.run(command, check=True)
    (attempt,) = json.loads((tmp_path / "run/run.json").read_text())["attempts"]
    assert attempt["command"][3:] == [
        *("--api-key", "***", "--token=***", "AWS_SECRET_ACCESS_KEY=***", "https://***@host/"),
        "--lr=0.1",
    ]


def test_a_second_hook_on_a_folder_says_in_its_status_that_it_saves_nothing(out_dir, capfd):
    def hook():
        return smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1))

    def step(hook):
        model = Net()
        hook.register_module(model)
        train(model, 1)

    first, second = hook(), hook()
    step(first)
    step(second)
    assert first.status().error is None
    assert "another hook of this program" in second.status().error
    assert second.status().state == "silent"
    second.close()
    first.close()
    capfd.readouterr()
    (damage,) = read(out_dir).damage()
    lost = "also tried to write this run: its steps were not saved"
    assert lost in str(damage)
    assert lost in capfd.readouterr().err  # the log of create_trial
    for command in ("show", "ls", "check"):
        arguments = [sys.executable, "-m", "smdebug", command, out_dir]
        done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True)
        assert (done.stdout + done.stderr).count(lost) == 1, command


def test_a_hook_in_another_process_says_that_it_saves_nothing(out_dir, tmp_path):
    script = tmp_path / "second.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, torch, smdebug.pytorch as smd
            hook = smd.Hook(sys.argv[1])
            model = torch.nn.Linear(2, 2)
            hook.register_module(model)
            model(torch.ones(1, 2)).sum().backward()
            print(hook.status().error)
            """
        )
    )
    with smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1)) as first:
        model = Net()
        first.register_module(model)
        train(model, 1)
        done = subprocess.run(
            [sys.executable, str(script), str(out_dir)], capture_output=True, text=True, check=True
        )
    assert f"process {os.getpid()} on " in done.stdout
    assert "writes this run: use another folder" in done.stdout
    assert done.stderr.count("nothing will be saved") == 1
    assert first.status().error is None


def test_the_next_attempt_forgets_the_writer_that_the_one_before_refused(out_dir):
    (path := pathlib.Path(out_dir)).mkdir()
    gone = json.dumps({"host": socket.gethostname(), "pid": 2**22 - 1, "start_ticks": 1})
    (path / "claim.smd").write_text(gone)
    (path / "refused.smd").write_text(gone)
    with smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1)) as hook:
        model = Net()
        hook.register_module(model)
        train(model, 1)
    assert read(out_dir).damage() == []
