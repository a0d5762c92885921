"""A file system that stops responding, at each system call: the training goes on and ends.

A preloaded library makes the call block forever, so each case is a process of its own.
"""

import contextlib
import re
import signal
import subprocess
import sys
import textwrap

import pytest
from hanging_process import DEADLINE, finished, start_hanging

CALLS = ["open", "writev", "close", "rename", "link", "unlink", "mkdir", "lstat"]

PROGRAM = """
    import os, pathlib, sys
    import numpy as np
    from smdebug import _core
    from smdebug.hook import BaseHook
    from smdebug.save_config import SaveConfig

    class Hook(BaseHook):
        @classmethod
        def make_framework(cls):
            return _core.pytorch_framework()

        def step(self):
            self._begin_step()
            self.save_tensor("a", np.ones(100_000, np.float32))

    run, switch, moment, end, durability = sys.argv[1:]
    if moment == "before":
        pathlib.Path(switch).touch()
    every_step = SaveConfig(save_interval=1)
    hook = Hook(run, save_config=every_step, tensorboard_dir=run + "/tb", durability=durability)
    if moment == "during":
        hook.step()
        hook.step()
        hook.flush()
        pathlib.Path(switch).touch()
    for step in range(20):
        hook.step()
    print("trained", flush=True)
    if end == "close":
        hook.close()
        print("error:", hook.status().error)
    print("end of the script", flush=True)
"""


def start(library, tmp_path, call, moment, end="close", *, timeout=1, durability="process"):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    run = tmp_path / "hanging" / "run"
    command = [sys.executable, program, run, tmp_path / "switch", moment, end, durability]
    return start_hanging(library, tmp_path, call, command, timeout=timeout)


@pytest.mark.parametrize("moment", ["before", "during"])
@pytest.mark.parametrize("call", CALLS)
def test_a_training_ends_although_its_storage_does_not_respond(
    hanging_library, tmp_path, call, moment
):
    code, out, err = finished(start(hanging_library, tmp_path, call, moment))
    assert code == 0, err
    assert "end of the script" in out
    if "hangs" in out:
        assert re.search(
            r"cannot [a-z ]+('.*')? in '.*/run': the storage has not responded", err
        ), err
        assert "error: " in out and "error: None" not in out
    else:
        assert "error: None" in out, out + err


@pytest.mark.parametrize("moment", ["before", "during"])
@pytest.mark.parametrize("call", ["fsync", "fdatasync"])
def test_a_training_ends_although_a_sync_does_not_return(hanging_library, tmp_path, call, moment):
    process = start(hanging_library, tmp_path, call, moment, durability="step")
    code, out, err = finished(process)
    assert code == 0, err
    assert "hangs" in out and "end of the script" in out
    assert re.search(r"cannot [a-z ]+('.*')? in '.*/run': the storage has not responded", err), err
    assert "error: None" not in out


@pytest.mark.parametrize("call", ["writev", "rename"])
def test_the_interpreter_ends_although_a_write_never_returns(hanging_library, tmp_path, call):
    code, out, err = finished(start(hanging_library, tmp_path, call, "during", "exit"))
    assert code == 0, err
    assert "hangs" in out
    assert "not responded for 1 s" in err


@pytest.mark.parametrize("moment", ["before", "during"])
def test_ctrl_c_ends_a_wait_for_a_storage_that_does_not_respond(hanging_library, tmp_path, moment):
    call = "rename" if moment == "during" else "link"
    process = start(hanging_library, tmp_path, call, moment, timeout=100_000)
    awaited = {"hangs", "trained"} if moment == "during" else {"hangs"}
    while awaited:  # in any order
        line = process.stdout.readline()
        assert line, process.communicate()
        awaited.discard(line.strip())
    # The first signal may end the script before `close` begins: the wait at the end of the
    # interpreter then needs one, too.
    for _ in range(DEADLINE):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1)
            break
    code, out, err = finished(process)
    assert code == -signal.SIGINT or code == 1 or code == 130, (code, out, err)
    assert "KeyboardInterrupt" in err
    assert "interrupted" in err
