"""Ctrl-C during a wait: a real SIGINT, to a process that waits in the core."""

import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

from smdebug.trials import create_trial
from smdebug.trials import trial as trial_module

GOLDEN = pathlib.Path(__file__).parents[2] / "tests" / "golden"

WAITS = {
    "for a run": "create_trial(path / 'nothing', timeout=600)",
    "for a step": "create_trial(path).wait_for_steps([1000])",
    "for an event file": "create_trial(path).tensor('MSELoss_output_0').value(2)",
}

SCRIPT = """
import pathlib, signal, sys, threading
from smdebug.trials import create_trial

# A shell starts background jobs with SIGINT ignored, and this may run in one.
signal.signal(signal.SIGINT, signal.default_int_handler)
path = pathlib.Path(sys.argv[1])
# Prints from another thread, which needs the GIL: by then the main thread waits in the core.
threading.Timer(0.3, print, ["waiting"], {"flush": True}).start()
try:
    {wait}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_a_wait(tmp_path, wait):
    run = tmp_path / "run"
    shutil.copytree(GOLDEN / "workers_two_running" / "run", run)
    for step in (2, 4, 6, 8, 10):
        for event_file in run.glob(f"events/*/{step:012d}_*.tfevents"):
            event_file.unlink()
    script = SCRIPT.replace("{wait}", WAITS[wait])
    process = subprocess.Popen(
        [sys.executable, "-c", script, run], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (out, process.returncode) == ("interrupted\n", 0)


def test_a_handler_of_the_script_may_raise_what_it_likes(tmp_path):
    script = """
import signal, sys
from smdebug.trials import create_trial

class Stop(Exception):
    pass

def handle(number, frame):
    raise Stop("enough")

signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    create_trial(sys.argv[1], timeout=600)
except Stop as stop:
    print(stop)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "nothing"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "enough\n", done.stderr


def test_a_handler_that_raises_nothing_does_not_end_the_wait(tmp_path):
    script = """
import signal, sys
from smdebug.trials import create_trial
from smdebug.exceptions import SMDebugError

handled = []
signal.signal(signal.SIGALRM, lambda *_: handled.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    create_trial(sys.argv[1], timeout=0.5)
except SMDebugError as error:
    print(error.code, len(handled))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "nothing"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "not_found 1\n", done.stderr


def test_ctrl_c_while_hooks_are_flushed_before_a_refresh_is_not_lost(tmp_path, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(trial_module, "before_refresh", lambda path: interrupted)
    # A shell starts programs in the background with SIGINT ignored.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            create_trial(str(tmp_path / "nothing"))
            pytest.fail("the interrupt was lost")
    finally:
        signal.signal(signal.SIGINT, handler)
