"""`smdebug run`, `show` and `ls` on a disk that becomes full: the training ends as it would alone,
and each command names the reason."""

import os
import re
import subprocess
import sys

import pytest
from launched_script import SMDEBUG

SCRIPT = """
import torch
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for _ in range(1000):
    loss = model(torch.randn(8, 64)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained to the end")
"""
# A disk of 300 kB, which the kernel removes with the shell.
ON_SMALL_DISK = 'mount -t tmpfs -o size=300k none "$0" && cd "$0" && exec sh -c "$1"'


def on_small_disk(folder, commands):
    folder.mkdir()
    return subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", ON_SMALL_DISK]
        + [folder, commands],
        env=os.environ | {"SMDEBUG": str(SMDEBUG), "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=240,
    )


def test_a_full_disk_is_named_by_each_command_and_leaves_the_training_alone(tmp_path):
    if on_small_disk(tmp_path / "probe", "true").returncode != 0:
        pytest.skip("needs user namespaces, to mount a small disk")
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    run = f'"$SMDEBUG" run --out run -- "$PYTHON" {script}; echo "exit code $?"'
    done = on_small_disk(
        tmp_path / "disk", f'{run}; echo "[show]"; "$SMDEBUG" show run; echo "[ls]"; "$SMDEBUG" ls'
    )
    printed, shown = done.stdout.split("[show]")
    shown, listed = shown.split("[ls]")
    assert "trained to the end\nexit code 0" in printed, done.stderr
    errors = [line for line in done.stderr.splitlines() if "smdebug: error: " in line]
    assert len(errors) == 1
    assert "nothing more will be saved" in errors[0]
    assert "No space left on device; free space, or write to another disk" in errors[0]
    assert "the recording failed, so later steps are missing" in done.stderr
    assert "ended, but not all of it was recorded" in shown
    free = (
        r"(no space is|only [0-9.]+ kB are) free on its disk: free space, or write to another disk"
    )
    assert re.search(free, shown)
    assert "saved, TRAIN" in shown
    assert "run  ended" in listed
    assert "recording failed: " in listed
