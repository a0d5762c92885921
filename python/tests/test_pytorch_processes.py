"""Other processes beside the training's: data loaders, forks in the middle of a step; and how a
training ends."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest
import torch

import smdebug.pytorch as smd
from conftest import Net, read, run_script, train

TRAINING = """
import os, sys, torch, smdebug.pytorch as smd
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        hook = smd.get_hook()  # a worker's own code may do what it likes with the hook it inherits
        if hook is not None:
            hook.save_scalar("from_a_loader", i)
            hook.flush()
        return torch.full((4,), float(i)), i % 3

def main():
    torch.manual_seed(0)
    model, loss = torch.nn.Linear(4, 3), torch.nn.CrossEntropyLoss()
    hook = smd.Hook(sys.argv[1], save_all=True, save_config=smd.SaveConfig(save_interval=1))
    hook.register_module(model)
    hook.register_loss(loss)
    loader = DataLoader(Numbers(), batch_size=4, num_workers=2, multiprocessing_context=sys.argv[2],
                        persistent_workers=sys.argv[3] == "persistent")
    for epoch in range(2):
        for x, y in loader:
            model.zero_grad()
            loss(model(x), y).backward()
    hook.close()
    print(hook.status().state, hook.status().steps)

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    "context, lifetime", [("fork", "persistent"), ("fork", "one epoch"), ("spawn", "one epoch")]
)
def test_the_workers_of_a_data_loader_write_nothing_and_harm_nothing(
    tmp_path, out_dir, context, lifetime
):
    done = run_script(tmp_path, TRAINING, arguments=[out_dir, context, lifetime])
    assert done.stdout.split() == ["closed", "6"]
    trial = read(out_dir)
    assert trial.workers() == ["worker_0"]
    assert trial.steps() == list(range(6))
    assert "scalar/from_a_loader" not in trial.tensor_names()
    inputs = trial.tensor("Linear_input_0").values()
    assert [int(inputs[step][0, 0]) for step in range(6)] == [0, 4, 8, 0, 4, 8]


def test_a_fork_in_the_middle_of_a_step_leaves_the_step_whole(out_dir):
    model, children = Net(), []

    class Forking(torch.nn.Module):
        def forward(self, x):
            child = os.fork()
            if child == 0:  # goes on with the step that its parent is in
                try:
                    smd.get_hook().save_scalar("child", 1)
                    model.fc2(model.relu(x)).sum().backward()
                    smd.get_hook().close()
                    os._exit(0)
                finally:
                    os._exit(1)
            children.append(child)
            return x

    model.dropout = Forking()
    with smd.Hook(out_dir, save_all=True, save_config=smd.SaveConfig(save_interval=1)) as hook:
        hook.register_module(model)
        train(model, 3)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    trial = read(out_dir)
    assert trial.steps() == [0, 1, 2]
    assert trial.loaded_all_steps
    assert "scalar/child" not in trial.tensor_names()
    for name in ("fc2_output_0", "gradient/Net_fc1.weight"):
        assert trial.tensor(name).steps() == [0, 1, 2]


LOOP = """
import sys, torch, smdebug.pytorch as smd
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
if "compiled" in sys.argv:
    model = torch.compile(model, backend="aot_eager", fullgraph=True)
hook = smd.Hook(sys.argv[1], save_all=True, save_config=smd.SaveConfig(save_interval=1))
hook.register_module(model)
def step():
    model(torch.ones(2, 4)).sum().backward()
"""


def test_ctrl_c_ends_the_script_and_publishes_what_it_saved(tmp_path, out_dir):
    script = tmp_path / "loop.py"
    # A shell has programs that it runs in the background ignore the signal; so would this one.
    answer = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script.write_text(
        answer + textwrap.dedent(LOOP) + "while True:\n    step()\n    print(flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, str(script), out_dir],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(5):
        assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert "KeyboardInterrupt" in said
    assert process.returncode in (1, -signal.SIGINT)
    trial = read(out_dir)
    assert trial.loaded_all_steps
    assert len(trial.steps()) >= 5 and trial.steps() == list(range(len(trial.steps())))


@pytest.mark.parametrize("ending", ["", "sys.exit(3)"])
def test_a_compiled_training_that_ends_without_close_publishes_its_last_step(
    tmp_path, out_dir, ending
):
    script = textwrap.dedent(LOOP) + "for _ in range(3):\n    step()\n" + ending + "\n"
    done = run_script(tmp_path, script, arguments=[out_dir, "compiled"], check=False)
    assert done.returncode == (3 if ending else 0), done.stderr
    trial = read(out_dir)
    assert trial.steps() == [0, 1, 2]
    assert trial.loaded_all_steps
    assert trial.tensor("0_output_0").steps() == [0, 1, 2]
