"""Power failures: with `durability="step"`, none loses a published step, at any call.

A preloaded library records the calls of a training. A model of a disk replays them, and loses at
each of them what was not synced.
"""

import errno
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hanging_process import compile_library
from power_failure import Disk, all_names, nothing_more, read_calls, some_of_it, write_files

from smdebug.trials import create_trial

PROGRAM = """
    import os, sys
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
            self._session.scalar("loss").note(value)
            self.save_tensor("a", np.full(ELEMENTS, value, np.float32))

    ELEMENTS = int(os.environ.get("ELEMENTS", 2000))
    run, durability, attempt, limit, end, steps = sys.argv[1:]
    hook = Hook(
        run,
        save_config=SaveConfig(save_interval=1),
        durability=durability,
        max_run_bytes=int(limit) or None,
        tensorboard_dir=os.path.dirname(run) + "-tensorboard",
    )
    for step in range(int(steps)):
        hook.step(100 * int(attempt) + step)
    hook.flush()
    if end == "killed":
        os._exit(0)
    hook.close()
    print("error:", hook.status().error)
    print("published:", hook.status().steps_published)
"""
STEPS = 6

INDEX = re.compile(r"index/\d{9}/(\d{12})_worker_0\.json")


@pytest.fixture(scope="session")
def recording_library(tmp_path_factory):
    source = pathlib.Path(__file__).with_name("recorded_files.c")
    return compile_library(source, tmp_path_factory.mktemp("record") / "record.so")


class Recording:
    """Trainings below `disk`, and the calls that they made."""

    def __init__(self, library, tmp_path):
        self.library = library
        self.folder = tmp_path
        self.disk = tmp_path / "disk"
        self.disk.mkdir()
        self.run = self.disk / "runs" / "a"
        self.log, self.bytes = tmp_path / "log", tmp_path / "bytes"
        self.bytes.touch()

    def train(
        self, durability="step", *, attempt=0, limit=0, end="close", steps=STEPS, environment=()
    ):
        program = self.folder / "program.py"
        program.write_text(textwrap.dedent(PROGRAM))
        words = [sys.executable, program, self.run, durability, attempt, limit, end, steps]
        done = subprocess.run(
            [str(word) for word in words],
            env={
                "LD_PRELOAD": str(self.library),
                "RECORD_BELOW": str(self.disk),
                "RECORD_LOG": str(self.log),
                "RECORD_BYTES": str(self.bytes),
                **dict(environment),
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done

    def calls(self):
        return list(read_calls(self.log, self.bytes, self.disk))


@pytest.fixture
def recording(recording_library, tmp_path):
    return Recording(recording_library, tmp_path)


def named(path):
    """The step of an index file in place; None for other files."""
    found = INDEX.fullmatch(os.path.relpath(path, "runs/a"))
    return int(found[1]) if found else None


def test_by_default_nothing_is_synced(recording):
    assert "error: None" in recording.train("process").stdout
    calls = recording.calls()
    assert sum(named(path) is not None for call in calls for path in call.paths) == STEPS
    assert not [call for call in calls if "sync" in call.name]


def test_a_step_is_synced_before_its_index_file_has_its_name_and_its_folder_after(recording):
    recording.train()
    calls = recording.calls()
    renames = {named(call.paths[1]): at for at, call in enumerate(calls) if call.name == "rename"}
    renames.pop(None)
    assert sorted(renames) == list(range(STEPS))

    def synced_at(path, start=0):
        return next(
            at
            for at, call in enumerate(calls[start:], start)
            if call.name == "sync" and call.paths[0] == path
        )

    def made_at(folder):
        return next(
            at for at, call in enumerate(calls) if call.name == "mkdir" and call.paths[0] == folder
        )

    for step, named_at in renames.items():
        index, folder = calls[named_at].paths[0], f"runs/a/events/{step:012}"
        event = f"{folder}/{step:012}_worker_0.tfevents"
        event_named_at = next(at for at, call in enumerate(calls) if call.paths[-1] == event)
        assert synced_at(event + ".tmp") < event_named_at < synced_at(folder) < named_at
        assert synced_at(index) < named_at < synced_at(os.path.dirname(index), named_at)
        for name in ("runs", "runs/a", "runs/a/events", folder, "runs/a/index"):
            above = os.path.dirname(name) or "."
            assert made_at(name) < synced_at(above, made_at(name)) < named_at, name


def test_the_training_thread_syncs_nothing_and_neither_does_anything_for_tensorboard(recording):
    recording.train()
    calls = recording.calls()
    assert any("tensorboard" in call.paths[0] for call in calls)
    syncs = [call for call in calls if call.name == "sync"]
    assert not [call for call in syncs if "tensorboard" in call.paths[0]]
    # One thread writes all steps, another one each bounded call of the start and the end.
    writer = {call.thread for call in syncs if "/index/" in call.paths[0]}
    assert len(writer) == 1
    others = {call.paths[0] for call in syncs if {call.thread} != writer}
    ends = ("/claim.smd", "/run.json", "/progress.json", "/training_job_end.ts")
    assert all(
        path in (".", "runs", "runs/a") or path.startswith(tuple(f"runs/a{end}" for end in ends))
        for path in others
    ), others


def test_a_large_event_file_is_synced_in_parts(recording):
    recording.train(environment={"ELEMENTS": str(24 << 20)}, steps=1)
    written = unsynced = 0
    for call in recording.calls():
        if call.paths[0].endswith(".tfevents.tmp"):
            written += len(call.written)
            unsynced = unsynced + len(call.written) if call.name == "write" else 0
            assert unsynced < 80 << 20
    assert written > 96 << 20


def published(calls):
    """Returns per call the index files that a power failure after it must keep: their paths, and
    the content of them and of their event files."""
    disk = Disk()
    named_now, promised = {}, {}
    for call in calls:
        disk.apply(call)
        if call.name == "rename" and named(call.paths[1]) is not None:
            files = disk.after_failure(lambda kind: True)
            step = named(call.paths[1])
            event = f"runs/a/events/{step:012}/{step:012}_worker_0.tfevents"
            named_now[call.paths[1]] = (files[call.paths[1]], files[event])
        elif call.name in ("rename", "unlink"):
            promised.pop(call.paths[0], None)
        elif call.name == "sync":
            for path in [path for path in named_now if os.path.dirname(path) == call.paths[0]]:
                promised[path] = named_now.pop(path)
        yield call, disk, dict(promised)


def steps_that_read_whole(run, attempt):
    trial = create_trial(run, timeout=0)
    assert trial.damage() == []
    for step in trial.steps():
        value = trial.tensor("a").value(step)
        np.testing.assert_array_equal(value, np.full(2000, 100 * attempt + step, np.float32))
    return trial.steps()


@pytest.mark.parametrize("limit", [0, 50_000])
def test_no_power_failure_loses_or_damages_a_published_step(recording, tmp_path, limit):
    assert "error: None" in recording.train(limit=limit).stdout
    calls = recording.calls()
    removed = [call for call in calls if call.name == "unlink" and "/events/" in call.paths[0]]
    assert bool(removed) == bool(limit)
    most = 0
    for at, (call, disk, promised) in enumerate(published(calls)):
        most = max(most, len(promised))
        for keeps in (nothing_more, all_names, some_of_it(at)):
            files = disk.after_failure(keeps)
            where = f"a power failure after call {at} of {len(calls)}, {call.name} {call.paths}"
            assert promised.keys() <= files.keys(), where
            folder = tmp_path / "after"
            if call.name == "write" or not any(named(path) is not None for path in files):
                continue
            write_files(files, folder)
            steps = {named(path) for path in promised}
            assert steps <= set(steps_that_read_whole(folder / "runs/a", 0)), where
            shutil.rmtree(folder)
    assert most == STEPS if not limit else 0 < most < STEPS


@pytest.mark.parametrize("keeps", [nothing_more, all_names])
def test_no_power_failure_in_a_second_attempt_loses_a_step_of_the_first(recording, keeps):
    recording.train(attempt=0, end="killed")
    killed_after = len(recording.calls())
    recording.train(attempt=1)
    calls = recording.calls()
    of_first = {}
    for at, (call, disk, promised) in enumerate(published(calls)):
        if at == killed_after - 1:
            of_first = dict(promised)
            assert len(of_first) == STEPS - 1  # the last one was open
        files = disk.after_failure(keeps)
        where = f"a power failure after call {at} of {len(calls)}, {call.name} {call.paths}"
        contents = set(files.values())
        for index, event in [*promised.values(), *of_first.values()]:
            assert index in contents and event in contents, where
        # Those that were moved aside get their event files later; a start that is cut off is
        # finished by the next.
        for step in [named(path) for path in files if named(path) is not None]:
            event = f"runs/a/events/{step:012}/{step:012}_worker_0.tfevents"
            assert event in files, where


SYNCS = {
    "the content of an event file": ("000000000002_worker_0.tfevents.tmp", 2),
    "the folder of an event file": ("/events/000000000002", 2),
    "the folder of that folder": ("/events", 0),
    "the content of an index file": ("000000000002_worker_0.json.tmp", 2),
    "the folder of an index file": ("/index/000000000", 0),
}
ADVICE = {
    errno.EIO: "",
    errno.ENOSPC: "free space, or write to another disk",
    errno.EINVAL: "this file system cannot make files durable",
}


@pytest.mark.parametrize(
    "what, reason",
    [
        *((what, errno.EIO) for what in SYNCS),
        ("the content of an event file", errno.ENOSPC),
        ("the folder of an index file", errno.EINVAL),
    ],
)
def test_a_sync_that_fails_publishes_no_step_and_is_logged_once(recording, what, reason):
    path, step = SYNCS[what]
    failing = {"FAIL_PATH": path, "FAIL_ERROR": str(reason)}
    done = recording.train(environment=failing)
    assert f"published: {step}" in done.stdout
    assert re.search(
        rf"error: .*cannot sync '.*': {os.strerror(reason)}.*{ADVICE[reason]}", done.stdout
    )
    assert done.stderr.count("cannot sync") == 1
    failed = [call.paths[0] for call in recording.calls() if call.name == "failed sync"]
    assert len(failed) == 1, "a sync that failed is not tried again"
    files = [str(each) for each in recording.run.rglob("*") if each.is_file()]
    assert sorted(int(INDEX.search(each)[1]) for each in files if INDEX.search(each)) == list(
        range(step)
    )
    assert not [each for each in files if each.endswith(".tmp")]
