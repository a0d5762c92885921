"""`smdebug ls` and `smdebug rm` on a training while it runs, after its end, and after SIGKILL."""

import json
import subprocess
import sys
import textwrap
import time

import pytest

TRAINING = """
    import sys
    import torch
    import smdebug.pytorch as smd

    torch.manual_seed(0)
    net, loss = torch.nn.Linear(4, 3), torch.nn.CrossEntropyLoss()
    hook = smd.Hook(sys.argv[1], save_config=smd.SaveConfig(save_interval=1), save_all=True)
    hook.register_module(net)
    hook.register_loss(loss)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(5):
        optimizer.zero_grad()
        value = loss(net(torch.randn(6, 4)), torch.randint(0, 3, (6,)))
        value.backward()
        optimizer.step()
    hook.flush()
    print(value.item(), flush=True)
    sys.stdin.readline()
    hook.close()
"""


def smdebug(*words):
    return subprocess.run(
        [sys.executable, "-m", "smdebug", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def rows(folder):
    """The rows of `smdebug ls`, by the name of the run."""
    done = smdebug("ls", str(folder), "--json")
    assert done.returncode == 0, done.stderr
    return {row["run"].rsplit("/", 1)[-1]: row for row in json.loads(done.stdout)["runs"]}


@pytest.fixture
def training(tmp_path):
    """A training that has saved five steps and waits for a line; its run is `runs/a`."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(TRAINING))
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "runs" / "a")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    process.loss = float(process.stdout.readline())
    yield process
    process.kill()
    process.communicate()


def test_a_training_is_listed_while_it_runs_and_after_its_end(tmp_path, training):
    row = rows(tmp_path / "runs")["a"]
    assert row["state"] == "running"
    assert row["framework"] == "pytorch"
    assert row["steps"] >= 1
    assert abs(row["started"] - time.time()) < 600

    training.communicate("go on\n", timeout=60)
    row = rows(tmp_path / "runs")["a"]
    assert row["state"] == "ended"
    assert row["steps"] == 5
    assert row["last_step"] == 4
    assert row["loss"]["value"] == pytest.approx(training.loss, rel=1e-6)
    assert row["problem"] == ""
    files = [path for path in (tmp_path / "runs" / "a").rglob("*") if path.is_file()]
    assert row["bytes"] == pytest.approx(sum(path.stat().st_size for path in files), rel=0.2)


def test_a_training_that_was_killed_is_listed_as_killed(tmp_path, training):
    training.kill()
    training.wait(timeout=60)
    row = rows(tmp_path / "runs")["a"]
    assert row["state"] == "killed"
    assert row["steps"] >= 1


def test_a_run_without_its_progress_has_the_same_row(tmp_path, training):
    training.communicate("go on\n", timeout=60)
    before = rows(tmp_path / "runs")["a"]
    (tmp_path / "runs" / "a" / "progress.json").unlink()
    after = rows(tmp_path / "runs")["a"]
    for key in ("state", "framework", "attempt", "workers", "steps", "last_step"):
        assert after[key] == before[key], key
    assert after["loss"]["value"] == pytest.approx(before["loss"]["value"])
    assert after["loss"]["tensor"] == before["loss"]["tensor"]


def test_a_run_is_removed_only_after_its_training(tmp_path, training):
    run = tmp_path / "runs" / "a"
    refused = smdebug("rm", str(run), "--yes")
    assert refused.returncode == 2
    assert "is being written" in refused.stderr
    training.communicate("go on\n", timeout=60)
    unasked = smdebug("rm", str(run))
    assert unasked.returncode == 2
    assert "add --yes" in unasked.stderr
    assert (run / "run.json").exists()
    assert smdebug("rm", str(run), "--yes").returncode == 0
    assert not run.exists()
    assert rows(tmp_path / "runs") == {}
