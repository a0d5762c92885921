"""Shared by the tests of the Python package: small models, and functions that read runs."""

import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch")

from smdebug import _core  # noqa: E402
from smdebug.trials import create_trial  # noqa: E402

_core.set_leak_warnings(True)
torch.set_num_threads(1)


class Net(torch.nn.Module):
    """Two linear layers with a ReLU between them."""

    def __init__(self, dropout=0.0, inplace=False):
        super().__init__()
        self.fc1 = torch.nn.Linear(4, 8)
        self.relu = torch.nn.ReLU(inplace=inplace)
        self.dropout = torch.nn.Dropout(dropout)
        self.fc2 = torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.fc2(self.dropout(self.relu(self.fc1(x))))


class Given(torch.nn.Module):
    """Returns the tensors that it was created with."""

    def __init__(self, *tensors):
        super().__init__()
        self.tensors = tensors

    def forward(self):
        return self.tensors


@pytest.fixture
def nothing_is_compiled():
    """Resets torch.compile: if an earlier test compiled code, hooks stay installed in models."""
    from torch._dynamo.utils import counters

    torch.compiler.reset()
    counters.clear()


def read(out_dir):
    """Opens the run at `out_dir`, which must exist."""
    return create_trial(out_dir, timeout=5)


def train(model, steps, *, seed=0, loss=None, batch=6, on_step=None):
    """Trains on random data; returns the losses."""
    torch.manual_seed(seed)
    loss = loss or torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        value = loss(model(torch.randn(batch, 4)), torch.randint(0, 3, (batch,)))
        value.backward()
        if on_step:
            on_step(step)
        optimizer.step()
        losses.append(value.item())
    return losses


@pytest.fixture
def hook(tmp_path):
    """A hook for PyTorch that saves every step below `tmp_path / "run"`."""
    import smdebug.pytorch as smd

    with smd.Hook(tmp_path / "run", save_config=smd.SaveConfig(save_interval=1)) as hook:
        yield hook


def record_two_steps(out_dir, **arguments):
    """Records two steps of a training by a hook with these arguments; returns the verdicts."""
    import smdebug.pytorch as smd

    every_step = smd.SaveConfig(save_interval=1)
    hook = smd.Hook(out_dir, save_all=True, save_config=every_step, **arguments)
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    return hook.verdicts()


# Fires at the first saved step.
FIRES = ("VanishingGradient", {"threshold": 1e9})


def check_end_is_that_of_watch(logged, out_dir, only_rule=FIRES):
    """Asserts that the log of a trainer's callback with one rule ends as `smdebug watch` of the
    same run, except for how the training ended and what recording took."""
    (said,) = [line for line in logged if "the training has ended: " in line]
    rule, parameters = only_rule
    fires = only_rule == FIRES
    words = [f"--set={name}={value}" for name, value in parameters.items()]
    command = [sys.executable, "-m", "smdebug", "watch", out_dir, "--rule", rule, *words]
    watched = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert watched.returncode == (3 if fires else 0), watched.stderr

    def rows(text):
        left_out = ("  training  ", "  cost  ")
        return [line for line in text.splitlines() if not line.startswith(left_out)]

    ours = said.partition("the training has ended: ")[2]
    assert rows(ours) == rows(watched.stdout.removeprefix("smdebug: "))
    assert ours.startswith(f"{rule} fired\n" if fires else "nothing found\n")
    assert ("\n  found " in ours) == fires
    assert len(ours.splitlines()) <= (12 if fires else 10)


@pytest.fixture(scope="session")
def hanging_library(tmp_path_factory):
    """The library that hanging_process.py preloads."""
    from hanging_process import make_library

    return make_library(tmp_path_factory.mktemp("hang"))


def run_script(tmp_path, script, *, environment=None, arguments=(), check=True):
    """Runs a Python script in a separate process."""
    import os

    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    done = subprocess.run(
        [sys.executable, str(path), *map(str, arguments)],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=120,
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done


# The beginning of a rank's script: joins a process group over gloo, and defines an immediate exit.
# At interpreter exit a thread of torch that waits for the GIL is unwound and aborts the process,
# with or without smdebug, in about one of five runs.
RANK = """
import os, sys
import torch, torch.distributed as dist
import smdebug.pytorch as smd
out_dir = sys.argv[1]
torch.set_num_threads(1)
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", init_method="file://" + os.environ["MEETING_PLACE"],
                        rank=rank, world_size=ranks)

def leave(hook=None):
    if hook is not None:
        hook.close()
    dist.barrier()
    sys.stdout.flush(), sys.stderr.flush()
    os._exit(0)
"""


def run_ranks(tmp_path, script, out_dir, *, ranks=2):
    """Runs a script, which begins with RANK, in `ranks` processes; returns the output of each."""
    import os

    path = tmp_path / "rank.py"
    path.write_text(RANK + textwrap.dedent(script))
    meeting_place = tmp_path / "meeting_place"
    meeting_place.unlink(missing_ok=True)
    environment = {**os.environ, "WORLD_SIZE": str(ranks), "MEETING_PLACE": str(meeting_place)}
    processes = [
        subprocess.Popen(
            [sys.executable, str(path), str(out_dir)],
            env={**environment, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]
    said = [process.communicate(timeout=180) for process in processes]
    codes = [process.returncode for process in processes]
    assert codes == [0] * ranks, "\n".join(error[-3000:] for _, error in said)
    return [out for out, _ in said]
