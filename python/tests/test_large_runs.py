"""Runs as large as real ones become. Marked long: see `make long`."""

import json
import os
import subprocess
import sys

import pytest

STEPS, TENSORS = 2500, 400

# In a program of its own, whose memory nothing else has touched.
READER = """
import json, os, sys
from smdebug.trials import create_trial

def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")

create_trial(sys.argv[2])  # what the first trial of a process needs once
before = resident()
trial = create_trial(sys.argv[1])
after = resident()
tensor = trial.tensor("layer7.weight")
print(json.dumps({
    "bytes": after - before,
    "names": len(trial.tensor_names()),
    "steps": trial.steps() == list(range(%d)) == tensor.steps(),
    "damage": trial.damage(),
}))
"""


def write_run(run, steps):
    """Index files as the original writes them; nobody looks at the event files."""
    entries = [
        {"tensorname": f"layer{i}.weight", "start_idx": 100 * i, "length": 100}
        for i in range(TENSORS)
    ]
    (run / "collections/000000000").mkdir(parents=True)
    (run / "collections/000000000/worker_0_collections.json").write_text(
        json.dumps({"collections": {}, "_meta": {"num_workers": 1}})
    )
    payload = json.dumps(entries)
    for step in range(steps):
        folder = run / f"index/{step // 1000:09}"
        folder.mkdir(parents=True, exist_ok=True)
        event_file = f"events/{step:012}/{step:012}_worker_0.tfevents"
        meta = json.dumps({"mode": "TRAIN", "mode_step": step, "event_file_name": event_file})
        (folder / f"{step:012}_worker_0.json").write_text(
            f'{{"meta": {meta}, "tensor_payload": {payload}}}'
        )
    (run / "training_job_end.ts").touch()


@pytest.mark.long
def test_a_million_index_entries_are_read_in_forty_bytes_each(tmp_path):
    write_run(tmp_path / "run", STEPS)
    write_run(tmp_path / "small", 1)
    done = subprocess.run(
        [sys.executable, "-c", READER % STEPS, str(tmp_path / "run"), str(tmp_path / "small")],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    print(found)
    assert found["names"] == TENSORS
    assert found["steps"]
    assert found["damage"] == []
    # A tenth more than the table takes, for the pages that the allocator holds.
    assert found["bytes"] <= 1.1 * 40 * STEPS * TENSORS
