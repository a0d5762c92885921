"""The start line and the status of `smdebug run` and `watch`, on a terminal and in a log."""

import os
import pty
import re
import subprocess
import sys
import threading

import pytest
from launched_script import SMDEBUG

ERASE = "\r\x1b[K"
# Trains for some seconds, so that there is time for several statuses.
SLOW = """
import time
import torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
end = time.monotonic() + 8
while time.monotonic() < end:
    loss = model(torch.randn(8, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(0.01)
"""
# Writes a step every 50 ms until it is killed.
RECORDER = """
import sys, time
import numpy as np
from smdebug.core.writer import FileWriter
step = 0
while True:
    with FileWriter(sys.argv[1], "worker_0", step=step) as writer:
        writer.write_tensor(tdata=np.ones(10, np.float32), tname="gradient/a")
    step += 1
    time.sleep(0.05)
"""
STATUS = re.compile(r"smdebug: (?:\S+: )?step \d+, .*1 rule")


def on_terminal(command, **environment):
    """What the command prints to a terminal that is its standard error, and its exit code."""
    ours, theirs = pty.openpty()
    said = bytearray()

    def read():
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # all copies of the other end are closed
                return
            if not part:
                return
            said.extend(part)

    inherited = {name: value for name, value in os.environ.items() if name != "CI"}
    process = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
        env={**inherited, "TERM": "xterm", **environment},
    )
    os.close(theirs)
    reader = threading.Thread(target=read)
    reader.start()
    try:
        code = process.wait(timeout=120)
    finally:
        process.kill()
    reader.join()
    os.close(ours)
    return said.decode().replace("\r\n", "\n"), code


def run_command(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SLOW)
    options = ("--out", tmp_path / "run", "--rule", "VanishingGradient")
    return [SMDEBUG, "run", *options, "--", sys.executable, script]


@pytest.fixture
def growing_run(tmp_path):
    recorder = subprocess.Popen([sys.executable, "-c", RECORDER, tmp_path / "run"])
    yield tmp_path / "run"
    recorder.kill()
    recorder.wait()


def watch_command(run):
    # The recorder never ends, so a file ends the watch: see `stop_after`.
    return [SMDEBUG, "watch", run, "--rule", "VanishingGradient"]


def stop_after(seconds, tmp_path):
    """The environment of a watch that receives the signal to stop after so many seconds."""
    signal = tmp_path / "stop"
    threading.Timer(seconds, signal.touch).start()
    return {"SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE": str(signal)}


def check_lines_of_run(said, tmp_path):
    start = f"smdebug: recording to '{tmp_path}/run', 1 rule"
    assert said.count("recording to") == 1
    assert said.splitlines()[0].endswith(start), said
    statuses = [line for line in said.splitlines() if STATUS.search(line)]
    # The first after 5 s, a second one after 25 s.
    assert 1 <= len(statuses) <= 2, said
    assert "loss " in statuses[-1]
    assert said.index(statuses[0]) < said.index("smdebug: nothing found")


def test_run_prints_its_start_line_once_and_whole_statuses_on_a_terminal(tmp_path):
    said, code = on_terminal(run_command(tmp_path))
    assert code == 0, said
    check_lines_of_run(said, tmp_path)
    # A progress bar of the training may be on the line.
    assert re.search(re.escape(ERASE) + "smdebug: step", said)


def test_run_prints_plain_lines_to_a_log(tmp_path):
    done = subprocess.run(run_command(tmp_path), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    check_lines_of_run(done.stderr, tmp_path)
    assert "\x1b" not in done.stderr and "\r" not in done.stderr


def test_run_prints_plain_lines_on_a_terminal_under_ci(tmp_path):
    said, code = on_terminal(run_command(tmp_path), CI="true")
    assert code == 0, said
    check_lines_of_run(said, tmp_path)
    assert "\x1b" not in said and "\r" not in said


# Trains until the file of its first argument exists.
AWAITED = """
import pathlib, sys
import torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
while not pathlib.Path(sys.argv[1]).exists():
    optimizer.zero_grad()
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
"""


def test_run_prints_a_verdict_while_the_training_continues(tmp_path):
    (tmp_path / "train.py").write_text(AWAITED)
    rule = ("--rule", "VanishingGradient", "--set", "threshold=1e9")
    training = (sys.executable, tmp_path / "train.py", tmp_path / "seen")
    command = [SMDEBUG, "run", "--out", tmp_path / "run", *rule, "--", *training]
    process = subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE, text=True)
    limit = threading.Timer(240, process.kill)
    limit.start()
    said = ""
    for line in process.stderr:
        said += line
        if line.startswith("smdebug: VanishingGradient: IssuesFound"):
            (tmp_path / "seen").touch()
    limit.cancel()
    assert process.wait() == 3, said
    assert said.index("VanishingGradient: IssuesFound") < said.index(
        "smdebug: VanishingGradient fired"
    )


def test_watch_rewrites_one_line_on_a_terminal_and_erases_it_at_the_end(growing_run, tmp_path):
    said, code = on_terminal(watch_command(growing_run), **stop_after(5, tmp_path))
    assert code == 0, said
    shown = [part for part in said.split(ERASE) if STATUS.search(part)]
    assert len(shown) > 5
    assert re.search(r"step \d+, [\d.]+ steps/s, 1 rule", shown[-1])
    assert not any("\n" in part for part in shown), "each is written over the one before"
    assert said.rpartition(ERASE)[2].strip() == "", "nothing of it stays"


@pytest.mark.parametrize("environment", [{"CI": "true"}, {"TERM": "dumb"}, {"TERM": ""}])
def test_watch_prints_plain_lines_where_nothing_can_be_rewritten(
    growing_run, tmp_path, environment
):
    said, code = on_terminal(watch_command(growing_run), **stop_after(8, tmp_path), **environment)
    assert code == 0, said
    assert "\x1b" not in said and "\r" not in said
    statuses = [line for line in said.splitlines() if STATUS.search(line)]
    assert 1 <= len(statuses) <= 2, said


@pytest.mark.parametrize("ci", ["0", "false", ""])
def test_a_terminal_that_says_it_is_not_of_ci_is_a_terminal(growing_run, tmp_path, ci):
    said, _ = on_terminal(watch_command(growing_run), **stop_after(3, tmp_path), CI=ci)
    assert ERASE in said
