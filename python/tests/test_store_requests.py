"""The number of requests that reading a run in an object store takes (docs/storage.md)."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest
from stores import VectorHook, connect, fault_proxy, moto_server, requests_made

from smdebug.save_config import SaveConfig
from smdebug.trials import create_trial

SMDEBUG = pathlib.Path(sys.executable).parent / "smdebug"
STEPS = 1100  # more than a page of a listing, and than a statistics file


def vector_of(step):
    return np.full(4, step, np.float32)


def record(path, steps=STEPS):
    hook = VectorHook(
        path, save_config=SaveConfig(save_interval=1), include_collections=["gradients"]
    )
    for step in range(steps):
        hook.step(vector_of(step))
    hook.close()


class Requests:
    """The requests since the last call, in a store behind a proxy."""

    def __init__(self, proxy):
        self._proxy = proxy
        self._seen = 0

    def __call__(self):
        requests = requests_made(self._proxy)
        new = requests[self._seen :]
        self._seen = len(requests)
        return new


# Checks every value of the run in the argument, and counts them.
READING = """
import sys
import numpy as np
from smdebug.trials import create_trial
values = create_trial(sys.argv[1]).tensor("gradient/a").values()
assert all((value == np.full(4, step)).all() for step, value in enumerate(values))
print(len(values))
"""


def start_reading(store):
    command = [sys.executable, "-c", READING, store.uri("run")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish_reading(process):
    """What the process has written to standard error."""
    numbers, messages = process.communicate(timeout=120)
    assert (process.returncode, numbers.strip()) == (0, str(STEPS)), messages
    return messages


def listings(requests):
    return [each for each in requests if "list-type=2" in each]


def reads_of(requests, folder):
    return [each for each in requests if f"/{folder}/" in each.partition("?")[0]]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A bucket with a run, the requests to it, and the run on a disk."""
    folder = tmp_path_factory.mktemp("requests") / "run"
    record(str(folder))
    patch = pytest.MonkeyPatch()
    with moto_server() as server, fault_proxy(server) as proxy, patch.context() as patched:
        store = connect(server, patched)
        store.upload(folder, "run")
        patched.setenv("AWS_ENDPOINT_URL", proxy)
        yield store, Requests(proxy), folder


def test_a_run_is_opened_with_its_statistics_files(stored):
    store, requests, folder = stored
    packed = [path.name for path in (folder / "statistics").rglob("*.arrow")]
    requests()
    assert len(create_trial(store.uri("run")).steps()) == STEPS
    made = requests()
    assert len(packed) == len(reads_of(made, "statistics")) == 2
    assert all(name in "".join(made) for name in packed)
    assert not reads_of(made, "index") and not reads_of(made, "events")
    assert len(listings(made)) <= 2 + 6  # two pages of `index/`, one of each other folder
    assert len(made) <= 30


def test_a_value_is_one_request(stored):
    store, requests, _ = stored
    trial = create_trial(store.uri("run"))
    tensor = trial.tensor("gradient/a")
    requests()
    np.testing.assert_array_equal(tensor.value(700), vector_of(700))
    made = requests()
    assert len(reads_of(made, "events")) == 1 and not listings(made) and len(made) == 1


def test_values_of_many_steps_are_a_request_for_each_object(stored):
    store, requests, _ = stored
    trial = create_trial(store.uri("run"))
    tensor = trial.tensor("gradient/a")
    requests()
    for step, value in enumerate(tensor.values()):
        np.testing.assert_array_equal(value, vector_of(step))
    made = requests()
    assert len(reads_of(made, "events")) == len(made) == STEPS


def test_another_look_at_a_run_that_grows_is_a_listing_for_each_folder(stored):
    store, requests, _ = stored
    for key in store.objects("run"):
        if key != "training_job_end.ts":
            source = {"Bucket": store.bucket, "Key": f"run/{key}"}
            store.client.copy_object(Bucket=store.bucket, Key=f"growing/{key}", CopySource=source)
    trial = create_trial(store.uri("growing"))
    trial.steps()
    requests()
    assert len(trial.steps()) == STEPS
    made = requests()
    collections, index = sorted(listings(made))
    assert "prefix=growing%2Fcollections%2F" in collections
    assert "prefix=growing%2Findex%2F&start-after=growing%2Findex%2F" in index
    # The other two find out whether the run has ended or begun again.
    assert len(made) == 4 and "HEAD" in made[0] and "run.json" in made[1]


def test_a_query_reads_the_statistics_files(stored):
    store, requests, _ = stored
    requests()
    query = "select count(*), max(l2) from statistics"
    command = [SMDEBUG, "sql", query, store.uri("run"), "--csv"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    largest = np.linalg.norm(vector_of(STEPS - 1))
    assert done.stdout.splitlines()[1] == f"{STEPS},{largest:g}"
    made = requests()
    assert len(reads_of(made, "statistics")) == 2
    # Two pages of `index/` and one of `statistics/`, after the search for runs.
    assert len(listings(made)) == len(made) - 2 <= 5


def test_pack_makes_the_next_start_quick(stored):
    store, requests, folder = stored
    for key in store.objects("run"):
        if key.startswith("statistics/"):
            store.client.delete_object(Bucket=store.bucket, Key=f"run/{key}")
    requests()
    assert len(create_trial(store.uri("run")).steps()) == STEPS
    assert len(reads_of(requests(), "index")) == STEPS
    subprocess.run([SMDEBUG, "pack", store.uri("run")], check=True)
    requests()
    trial = create_trial(store.uri("run"))
    assert len(trial.steps()) == STEPS
    made = requests()
    assert len(reads_of(made, "index")) == 0 and len(reads_of(made, "statistics")) == 2
    assert not trial.damage()


def test_another_process_requests_no_file_that_is_in_the_cache(stored, tmp_path, monkeypatch):
    store, requests, _ = stored
    monkeypatch.setenv("SMDEBUG_CACHE_DIR", str(tmp_path / "cache"))
    requests()
    assert not finish_reading(start_reading(store))
    made = requests()
    assert len(reads_of(made, "events")) == STEPS
    pages = len(listings(made))
    assert not finish_reading(start_reading(store))
    made = requests()
    assert not reads_of(made, "events") and not reads_of(made, "statistics")
    assert len(listings(made)) == pages <= 2 + 2 + 6  # `index/` and `events/` have two pages each
    assert len(made) <= 30


def test_two_processes_fill_one_cache(stored, tmp_path, monkeypatch):
    store, requests, _ = stored
    monkeypatch.setenv("SMDEBUG_CACHE_DIR", str(tmp_path / "cache"))
    for process in [start_reading(store), start_reading(store)]:
        assert not finish_reading(process)
    requests()
    assert not finish_reading(start_reading(store))
    assert not reads_of(requests(), "events")


def test_a_cache_that_cannot_be_written_is_one_warning(stored, tmp_path, monkeypatch):
    store, requests, _ = stored
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("SMDEBUG_CACHE_DIR", str(tmp_path / "file"))
    requests()
    messages = finish_reading(start_reading(store))
    assert messages.count("\n") == 1 and "warning: SMDEBUG_CACHE_DIR: " in messages
    assert len(reads_of(requests(), "events")) == STEPS


def test_a_cache_of_no_bytes_is_none(stored, tmp_path, monkeypatch):
    store, _, _ = stored
    monkeypatch.setenv("SMDEBUG_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("SMDEBUG_CACHE_MIB", "0")
    np.testing.assert_array_equal(
        create_trial(store.uri("run")).tensor("gradient/a").value(700), vector_of(700)
    )
    assert not (tmp_path / "cache").exists()
