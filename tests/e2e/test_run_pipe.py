"""`smdebug run` whose output nobody reads to the end, as with `| head -1`."""

import json
import subprocess
import sys

from launched_script import SMDEBUG

from smdebug.trials import create_trial

SCRIPT = """
import pathlib, sys
import torch

torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(200):
    loss = torch.nn.functional.mse_loss(model(torch.randn(16, 8)), torch.zeros(16, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 20:
        sys.stdin.readline()  # until the pipe is closed
pathlib.Path("trained").touch()
"""


def test_a_closed_pipe_ends_neither_the_training_nor_its_judging(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    launched = subprocess.Popen(
        [SMDEBUG, "run", "--out", tmp_path / "run", "--", sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    try:
        assert "recording to" in launched.stderr.readline()
        launched.stderr.close()
        launched.stdin.write("go\n")
        launched.stdin.close()
        assert launched.wait(timeout=120) == 0
    finally:
        launched.kill()
    assert (tmp_path / "trained").exists()
    trial = create_trial(tmp_path / "run")
    assert trial.loaded_all_steps and trial.steps()[-1] == 190
    status = json.loads((tmp_path / "run/rules/ExplodingTensor.json").read_text())
    assert status["status"] == "NoIssuesFound"
