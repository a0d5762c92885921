"""A file system that stops responding under `smdebug run` and `smdebug watch`: the training is not
held up, both commands end, and they name the call and the file.

A preloaded library makes the system call block forever, as in test_hanging_storage.py.
"""

import contextlib
import pathlib
import re
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hanging_process import DEADLINE, finished, start_hanging

from smdebug.core.writer import FileWriter

SMDEBUG = pathlib.Path(sys.executable).parent / "smdebug"
RULE = ("--rule", "VanishingGradient")
WRITING = ["writev", "close", "rename", "link", "unlink", "mkdir"]
READING = ["open", "lstat", "stat", "readdir", "pread"]

# Waits for the command to judge the first steps, lets the storage hang, and trains on.
TRAINER = """
    import json, os, pathlib, sys, time
    import numpy as np
    from smdebug import _core
    from smdebug.hook import BaseHook
    from smdebug.save_config import SaveConfig

    class Hook(BaseHook):
        @classmethod
        def make_framework(cls):
            return _core.pytorch_framework()

        def step(self, value):
            self._begin_step()
            gradient = np.full(10, value, np.float32)
            self.save_tensor("gradient/a", gradient, collections_to_write="gradients")

    run = pathlib.Path(json.loads(os.environ["SMDEBUG_RUN"])["out_dir"])
    every_step = SaveConfig(save_interval=1)
    hook = Hook(str(run), save_config=every_step, include_collections=["gradients"])
    for step in range(3):
        hook.step(1)
    hook.flush()
    while not list(run.glob("rules/*.json")):
        time.sleep(0.01)
    pathlib.Path(sys.argv[1]).touch()
    print("hanging from now on", flush=True)
    for step in range(20):
        hook.step(1)
    print("trained", flush=True)
    if sys.argv[2] == "forever":
        while True:
            time.sleep(0.01)
    hook.close()
    print("end of the script", flush=True)
    sys.exit(7)
"""

# Judges a run in the way of the trainers' callbacks.
JUDGING_PROGRAM = """
    import pathlib, sys
    from smdebug.rules.run_monitor import RunMonitor

    pathlib.Path(sys.argv[2]).touch()
    monitor = RunMonitor(["VanishingGradient"], sys.argv[1])
    for judge in (monitor.poll, monitor.finish):
        try:
            judge()
        except Exception as error:
            print(error)
    print("end of the script", flush=True)
"""


def start_run(library, tmp_path, call, *options, ending="close", timeout=1, prefix=()):
    trainer = tmp_path / "trainer.py"
    trainer.write_text(textwrap.dedent(TRAINER))
    command = [SMDEBUG, "run", "--out", tmp_path / "hanging/run", *options, "--"]
    command += [*prefix, sys.executable, trainer, tmp_path / "switch", ending]
    return start_hanging(library, tmp_path, call, command, timeout=timeout)


def write_steps(run, steps):
    for step in range(steps):
        with FileWriter(str(run), "worker_0", step=step) as writer:
            writer.write_tensor(tdata=np.ones(10, np.float32), tname="gradient/a")


def interrupt_until_the_end(process):
    for _ in range(DEADLINE):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1)
            return


def wait_for(stream, text):
    for line in stream:
        if text in line:
            return
    raise AssertionError(f"no line with {text!r}")


@pytest.mark.parametrize("call", WRITING + READING)
def test_a_training_under_run_ends_as_without_smdebug(hanging_library, tmp_path, call):
    code, out, err = finished(start_run(hanging_library, tmp_path, call, *RULE))
    assert "trained" in out and "end of the script" in out, out + err
    assert code == 7, err
    assert "exit code 7" in err
    if "hangs" in out:
        assert "not responded for 1 s" in err
    if call in ("lstat", "stat", "readdir", "pread"):  # of the command, too
        assert re.search(rf"cannot .* in '{tmp_path}/hanging/run': the storage has", err), err


@pytest.mark.parametrize("call", ["mkdir", "open", "readdir"])
def test_run_ends_if_the_storage_does_not_respond_at_its_start(hanging_library, tmp_path, call):
    (tmp_path / "switch").touch()
    (tmp_path / "hanging/run").mkdir(parents=True)
    if call == "mkdir":
        (tmp_path / "hanging/run").rmdir()
    code, out, err = finished(start_run(hanging_library, tmp_path, call, *RULE))
    assert "hangs" in out and "trained" not in out
    assert code == 1, err
    assert "not responded for 1 s" in err


def test_ctrl_c_reaches_the_training_although_its_storage_hangs(hanging_library, tmp_path):
    # Only the command hangs, in its next look at the run.
    process = start_run(
        *(hanging_library, tmp_path, "lstat", *RULE),
        ending="forever",
        timeout=100_000,
        prefix=["env", "-u", "LD_PRELOAD"],
    )
    awaited = {"hangs", "trained"}
    while awaited:  # in any order
        line = process.stdout.readline()
        assert line, process.communicate()
        awaited.discard(line.strip())
    process.send_signal(signal.SIGINT)
    wait_for(process.stderr, "KeyboardInterrupt")  # of the training
    interrupt_until_the_end(process)
    code, _, err = finished(process)
    assert code in (1, 130, -signal.SIGINT), (code, err)


@pytest.mark.parametrize("call", READING)
def test_a_run_to_compare_with_that_hangs_does_not_hold_up_the_training(
    hanging_library, tmp_path, call
):
    (tmp_path / "switch").touch()
    other = tmp_path / "hanging/run"
    write_steps(other, 3)
    rule = ["--rule", "SimilarAcrossRuns", "--set", f"other_trials={other}"]
    command = [SMDEBUG, "run", "--out", tmp_path / "run", *rule, "--", "echo", "trained"]
    code, out, err = finished(start_hanging(hanging_library, tmp_path, call, command))
    assert code == 1, out + err
    assert "hangs" in out or call == "stat"
    if call in ("open", "lstat", "readdir"):
        assert "not responded for 1 s" in err


@pytest.mark.parametrize("call", WRITING + READING)
def test_watch_ends_although_the_storage_does_not_respond(hanging_library, tmp_path, call):
    run = tmp_path / "hanging/run"
    write_steps(run, 3)
    command = [SMDEBUG, "watch", run, *RULE, "--timeout", "8"]
    process = start_hanging(hanging_library, tmp_path, call, command)
    wait_for(process.stderr, "step 2")  # the first status
    (tmp_path / "switch").touch()
    code, out, err = finished(process)
    assert code == 1, out + err
    if "hangs" in out:
        assert "not responded for 1 s" in err
    assert "hangs" in out or call in (*WRITING, "pread")


@pytest.mark.parametrize("call", ["open", "readdir", "pread"])
def test_watch_ends_if_the_storage_does_not_respond_at_its_start(hanging_library, tmp_path, call):
    run = tmp_path / "hanging/run"
    write_steps(run, 3)
    (tmp_path / "switch").touch()
    command = [SMDEBUG, "watch", run, *RULE, "--timeout", "4"]
    code, out, err = finished(start_hanging(hanging_library, tmp_path, call, command))
    assert "hangs" in out
    assert code == 1, out + err
    assert "not responded for 1 s" in err


def test_ctrl_c_ends_a_watch_of_a_storage_that_does_not_respond(hanging_library, tmp_path):
    run = tmp_path / "hanging/run"
    write_steps(run, 3)
    command = [SMDEBUG, "watch", run, *RULE]
    process = start_hanging(hanging_library, tmp_path, "lstat", command, timeout=100_000)
    wait_for(process.stderr, "step 2")
    (tmp_path / "switch").touch()
    wait_for(process.stdout, "hangs")
    interrupt_until_the_end(process)
    code, _, err = finished(process)
    assert code in (1, -signal.SIGINT), err
    assert "interrupted" in err


@pytest.mark.parametrize(
    "words",
    [
        ["show"],
        ["check"],
        ["tensor", "gradient/a"],
        ["explain", "gradient/a"],
        ["ls"],
        ["report"],
        ["rm", "--force", "--yes"],
    ],
)
def test_a_program_that_is_no_part_of_a_training_waits_until_ctrl_c(
    hanging_library, tmp_path, words
):
    run = tmp_path / "hanging/run"
    write_steps(run, 3)
    (tmp_path / "switch").touch()
    command = [SMDEBUG, words[0], run, *words[1:]]
    process = start_hanging(hanging_library, tmp_path, "readdir", command, timeout=1)
    wait_for(process.stdout, "hangs")
    with pytest.raises(subprocess.TimeoutExpired):  # much longer than a training would wait
        process.wait(timeout=3)
    interrupt_until_the_end(process)
    code, _, _ = finished(process)
    assert code in (1, 130, -signal.SIGINT)


@pytest.mark.parametrize("call", READING)
def test_rules_inside_a_training_do_not_block_it(hanging_library, tmp_path, call):
    run = tmp_path / "hanging/run"
    write_steps(run, 3)
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(JUDGING_PROGRAM))
    command = [sys.executable, program, run, tmp_path / "switch"]
    code, out, err = finished(start_hanging(hanging_library, tmp_path, call, command))
    assert code == 0, err
    assert "end of the script" in out
    assert "hangs" in out or call == "stat"
    if call in ("open", "lstat", "readdir"):
        assert "not responded for 1 s" in out
