"""A file system that stops responding, at each system call: the training goes on and ends.

A preloaded library makes the call block forever, so each case is a process of its own.
"""

import contextlib
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest

SOURCE = pathlib.Path(__file__).with_name("hanging_files.c")
COMPILER = shutil.which("cc") or shutil.which("gcc")
DEADLINE = 120  # seconds; what hangs would never end

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

    run, switch, moment, end = sys.argv[1:]
    if moment == "before":
        pathlib.Path(switch).touch()
    hook = Hook(run, save_config=SaveConfig(save_interval=1), tensorboard_dir=run + "/tb")
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


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("needs a C compiler")
    path = tmp_path_factory.mktemp("hang") / "hang.so"
    subprocess.run(
        [COMPILER, "-shared", "-fPIC", SOURCE, "-o", path, "-ldl"],
        check=True,
    )
    return path


def start(library, tmp_path, call, moment, end="close", *, timeout=1):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    run = tmp_path / "hanging" / "run"
    return subprocess.Popen(
        [sys.executable, program, run, tmp_path / "switch", moment, end],
        env={
            "LD_PRELOAD": str(library),
            "HANG_CALL": call,
            "HANG_PATH": "/hanging/run",
            "HANG_SWITCH": str(tmp_path / "switch"),
            "SMDEBUG_STORAGE_TIMEOUT": str(timeout),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background ignores Ctrl-C, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def finished(process):
    try:
        out, err = process.communicate(timeout=DEADLINE)
    finally:
        process.kill()
    return process.returncode, out, err


@pytest.mark.parametrize("moment", ["before", "during"])
@pytest.mark.parametrize("call", CALLS)
def test_a_training_ends_although_its_storage_does_not_respond(library, tmp_path, call, moment):
    code, out, err = finished(start(library, tmp_path, call, moment))
    assert code == 0, err
    assert "end of the script" in out
    if "hangs" in out:
        assert "not responded for 1 s" in err
        assert "error: " in out and "error: None" not in out
    else:
        assert "error: None" in out, out + err


@pytest.mark.parametrize("call", ["writev", "rename"])
def test_the_interpreter_ends_although_a_write_never_returns(library, tmp_path, call):
    code, out, err = finished(start(library, tmp_path, call, "during", "exit"))
    assert code == 0, err
    assert "hangs" in out
    assert "not responded for 1 s" in err


@pytest.mark.parametrize("moment", ["before", "during"])
def test_ctrl_c_ends_a_wait_for_a_storage_that_does_not_respond(library, tmp_path, moment):
    process = start(
        library, tmp_path, "rename" if moment == "during" else "link", moment, timeout=100_000
    )
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
