"""Runs in object stores, on real servers that speak the protocol of S3."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import botocore.exceptions
import moto.server
import numpy as np
import pytest
import torch
from recorded_runs import contents, frame, statistics
from stores import SERVERS, Server, connect, running_server, swift_server
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

import smdebug.pytorch as smd
from conftest import Net, train
from smdebug.exceptions import SMDebugError
from smdebug.trials import S3Trial, create_trial

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden"
STORE_TEST = ROOT / "build/asan/src/store/smdebug_store_test"
KILL_TEST = ROOT / "build/release/tests/fault/smdebug_kill_test"


@pytest.fixture(scope="module", params=SERVERS)
def server(request, tmp_path_factory):
    with running_server(request.param, tmp_path_factory.mktemp(request.param)) as server:
        yield server


@pytest.fixture
def store(server, monkeypatch):
    return connect(server, monkeypatch)


def command_line(*arguments):
    command = [sys.executable, "-m", "smdebug", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def events_of(folder):
    """What TensorBoard reads below a folder, without times: (mode, step, value)."""
    return [
        (path.relative_to(folder).parts[0], event.step, str(value))
        for path in sorted(folder.rglob("events.out.tfevents.*"))
        for event in LegacyEventFileLoader(str(path)).Load()
        for value in event.summary.value
    ]


def files(folder):
    """Path below the folder -> bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in pathlib.Path(folder).rglob("*")
        if path.is_file()
    }


def test_the_storage_keeps_its_contract(server, store):
    if not STORE_TEST.exists():
        pytest.skip("the unit tests are not built: tools/test asan")
    # Without conditional requests, several clients may create an object in the same moment.
    left_out = "" if server.has_conditions else "-*.LetsOneOfManyCreateExclusively/*"
    done = subprocess.run(
        [STORE_TEST, f"--gtest_filter=Server/*{left_out}", "--gtest_brief=1"],
        env={**os.environ, "SMDEBUG_TEST_STORE": store.uri("suite")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"[  PASSED  ] {22 if left_out else 23} tests" in done.stdout


@pytest.mark.parametrize("name", ["pytorch_modes", "keras_fit", "workers_two"])
def test_a_run_of_the_original_is_read_as_from_a_disk(store, name):
    run = GOLDEN / name / "run"
    store.upload(run, f"jobs/{name}")
    on_disk, in_store = create_trial(run), create_trial(store.uri(f"jobs/{name}"))
    assert isinstance(in_store, S3Trial) and in_store.path == store.uri(f"jobs/{name}")
    assert frame(in_store) == frame(on_disk)
    assert contents(in_store) == contents(on_disk)
    assert statistics(in_store) == statistics(on_disk)


@pytest.mark.long
def test_kills_lose_no_step_that_was_published(server, store):
    if not KILL_TEST.exists():
        pytest.skip("the test is not built: tools/test release")
    # Swift takes several times as long as moto.
    kills = 200 if server.has_conditions else 40
    done = subprocess.run(
        [KILL_TEST, "--gtest_brief=1"],
        env={
            **os.environ,
            "SMDEBUG_KILL_STORE": store.uri("killed"),
            "SMDEBUG_KILL_RUNS": str(kills // 20),
        },
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"after {kills} of {kills} deaths" in done.stdout


def test_the_run_of_a_job_is_found_below_its_prefix(store, tmp_path):
    run = GOLDEN / "pytorch_modes/run"
    store.upload(run, "jobs/mine/debug-output")
    store.client.put_object(Bucket=store.bucket, Key="jobs/mine/profiler-output/a", Body=b"")
    expected = contents(create_trial(run))
    for prefix in ("jobs/mine", "jobs/mine/", "jobs/mine/debug-output"):
        trial = create_trial(store.uri(prefix))
        assert contents(trial) == expected
    assert create_trial(store.uri("jobs/mine")).name == "mine"
    shutil.copytree(run, tmp_path / "mine/debug-output")
    assert contents(create_trial(tmp_path / "mine")) == expected
    assert command_line("show", store.uri("jobs/mine")).returncode == 0


def test_a_hook_writes_what_it_writes_to_a_disk(store, tmp_path):
    for out_dir in (tmp_path / "run", store.uri("run")):
        torch.manual_seed(7)
        model = Net()
        options = {"save_all": True, "save_config": smd.SaveConfig(save_interval=2)}
        with smd.Hook(out_dir, **options) as hook:
            hook.register_module(model)
            train(model, 5)
    written = store.objects("run")
    assert written.keys() == files(tmp_path / "run").keys()
    on_disk, in_store = create_trial(tmp_path / "run"), create_trial(store.uri("run"))
    assert frame(in_store) == frame(on_disk)
    assert contents(in_store) == contents(on_disk)
    assert in_store.loaded_all_steps


def test_a_run_has_one_writer(server, store):
    """Also in a store without conditional requests, unless both start in the same moment."""
    store.client.put_object(Bucket=store.bucket, Key="taken", Body=b"")
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        store.client.put_object(Bucket=store.bucket, Key="taken", Body=b"", IfNoneMatch="*")
    status = refused.value.response["ResponseMetadata"]["HTTPStatusCode"]
    assert status == (412 if server.has_conditions else 501)

    def start(hook):
        model = Net()
        hook.register_module(model)
        train(model, 2)

    with smd.Hook(store.uri("run"), save_all=True) as first:
        start(first)
        first.flush()
        with smd.Hook(store.uri("run"), save_all=True) as second:
            start(second)
        assert "another hook of this program" in second.status().error
    assert first.status().state == "closed"
    assert create_trial(store.uri("run")).steps() == [0]


@pytest.mark.parametrize("is_below_run", [True, False])
def test_tensorboard_objects_hold_what_the_files_hold(store, tmp_path, is_below_run):
    """TensorBoard's own reader parses the objects, which `aws s3 cp` would download."""
    events = []
    for place in (str(tmp_path), store.uri("")):
        run = os.path.join(place, "run")
        where = {} if is_below_run else {"tensorboard_dir": os.path.join(place, "board")}
        options = {"export_tensorboard": True, "save_config": smd.SaveConfig(save_interval=1)}
        torch.manual_seed(7)
        model = Net()
        with smd.Hook(run, include_collections=["weights"], **options, **where) as hook:
            hook.register_module(model)
            for mode in (smd.modes.TRAIN, smd.modes.EVAL):
                hook.set_mode(mode)
                train(model, 3, on_step=lambda step: hook.save_scalar("lr", 0.5**step))
        assert hook.status().tensorboard_error is None
        prefix = "run/tensorboard" if is_below_run else "board"
        if place == store.uri(""):
            for key, body in store.objects(prefix).items():
                path = tmp_path / "downloaded" / key
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(body)
            events.append(events_of(tmp_path / "downloaded"))
        else:
            events.append(events_of(tmp_path / prefix))
    on_disk, in_store = events
    assert in_store == on_disk
    assert {mode for mode, *_ in in_store} == {"TRAIN", "EVAL"}
    assert len(in_store) == 2 * 3 * 3  # two weights and a scalar


def test_a_large_tensor_is_written_and_read_in_parts(store):
    values = np.random.default_rng(0).normal(size=6_000_000).astype(np.float32)
    with smd.Hook(store.uri("run"), save_config=smd.SaveConfig(save_interval=1)) as hook:
        hook.set_mode(smd.modes.TRAIN)
        hook.save_tensor("large", values)
    trial = create_trial(store.uri("run"))
    assert (trial.tensor("large").value(0) == values).all()
    assert "Uploads" not in store.client.list_multipart_uploads(Bucket=store.bucket)


def test_a_run_that_does_not_exist_is_told(store):
    with pytest.raises(SMDebugError, match="no run at .*/nothing': it holds no files of a run"):
        create_trial(store.uri("nothing"), timeout=0)
    with pytest.raises(SMDebugError, match="NoSuchBucket.*smdebug creates no bucket"):
        create_trial("s3://no-such-bucket-of-ours/run", timeout=0)


# S3ClientTest has the same answers.
@pytest.mark.long
def test_wrong_credentials_are_told_and_a_wrong_region_is_corrected(tmp_path, monkeypatch):
    """moto checks neither."""
    with swift_server(tmp_path) as server:
        store = connect(server, monkeypatch)
        store.upload(GOLDEN / "pytorch_modes/run", "run")
        monkeypatch.setenv("AWS_REGION", "eu-west-3")
        trial = create_trial(store.uri("run"))
        assert contents(trial) == contents(create_trial(GOLDEN / "pytorch_modes/run"))
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
        with pytest.raises(SMDebugError, match="SignatureDoesNotMatch.*AWS_SECRET_ACCESS_KEY"):
            create_trial(store.uri("run"), timeout=0)
        hook = smd.Hook(store.uri("other"), save_all=True)
        model = Net()
        hook.register_module(model)
        train(model, 2)
        hook.close()
        assert "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY" in hook.status().error


SCRIPT = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(0)
for step in range(150):
    inputs = torch.randn(16, 4)
    loss = torch.nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    # forgotten: optimizer.step()
print("trained to the end", loss.item())
"""


def test_smdebug_run_records_to_a_store_and_finds_a_bug(store, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(SCRIPT))
    uri = store.uri("experiments/a")
    done = command_line("run", "--out", uri, "--", sys.executable, script)
    assert done.returncode == 3, done.stderr
    assert "trained to the end" in done.stdout
    assert "ParametersNotTrained" in done.stderr and uri in done.stderr
    assert "run.json" in store.objects("experiments/a")
    shown = command_line("show", uri)
    assert shown.returncode == 0 and "ParametersNotTrained" in shown.stdout
    judged = command_line("check", uri, "--rule", "ParametersNotTrained")
    assert judged.returncode == 3, judged.stderr
    watched = command_line("watch", uri)
    assert watched.returncode == 3 and "ParametersNotTrained" in watched.stdout
    again = command_line("run", "--out", uri, "--", sys.executable, script)
    assert again.returncode == 2 and "already contains" in again.stderr


def test_runs_below_a_prefix_are_listed_and_removed(store):
    for name in ("a", "b/c"):
        with smd.Hook(store.uri(f"experiments/{name}"), save_all=True) as hook:
            model = Net()
            hook.register_module(model)
            train(model, 2)
    store.upload(GOLDEN / "pytorch_modes/run", "experiments/original")
    store.client.put_object(Bucket=store.bucket, Key="experiments/notes.txt", Body=b"mine")
    store.client.put_object(Bucket=store.bucket, Key="experiments/a/notes.txt", Body=b"mine")
    listed = json.loads(command_line("ls", store.uri("experiments"), "--json").stdout)
    runs = {row["run"]: row for row in listed["runs"]}
    assert set(runs) == {store.uri(f"experiments/{name}") for name in ("a", "b/c", "original")}
    assert runs[store.uri("experiments/a")]["state"] == "ended"
    assert runs[store.uri("experiments/a")]["last_step"] == 0
    shown = command_line("ls", store.uri("experiments"))
    assert shown.returncode == 0 and store.uri("experiments/b/c") in shown.stdout

    refused = command_line("rm", "--yes", store.uri("experiments"))
    assert refused.returncode == 1 and "no run at" in refused.stderr
    removed = command_line("rm", "--yes", store.uri("experiments/a"))
    assert removed.returncode == 0, removed.stderr
    assert store.objects("experiments/a").keys() == {"notes.txt"}
    assert len(store.objects("experiments/b/c")) > 3
    empty = command_line("ls", store.uri("experiments/a"))
    assert "no runs below" in empty.stderr


def test_no_training_starts_without_its_bucket(store, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("print('started')")
    done = command_line(
        "run", "--out", "s3://no-such-bucket-of-ours/a", "--", sys.executable, script
    )
    assert done.returncode == 1
    assert "NoSuchBucket" in done.stderr and "started" not in done.stdout


def test_other_threads_run_while_a_server_is_waited_for(monkeypatch):
    """The server is one of them: it needs the GIL to answer."""
    server = moto.server.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        store = connect(Server(f"http://{host}:{port}"), monkeypatch)
        save_config = smd.SaveConfig(save_interval=1)
        with smd.Hook(store.uri("run"), save_config=save_config) as hook:
            hook.set_mode(smd.modes.TRAIN)
            hook.save_tensor("value", np.arange(3))
        trial = create_trial(store.uri("run"))
        assert trial.steps() == [0]
        assert trial.tensor("value").value(0).tolist() == [0, 1, 2]
    finally:
        server.stop()


def test_threads_share_a_trial(store):
    """Each waits for its turn, while the owner of the turn waits for the server."""
    model = Net()
    with smd.Hook(store.uri("run"), save_all=True) as hook:
        hook.register_module(model)
        train(model, 12)
    alone = create_trial(store.uri("run"))
    expected = contents(alone)
    shared = create_trial(store.uri("run"))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: contents(shared), range(4)):
            assert found == expected


def test_a_store_that_is_down_does_not_harm_the_training(store, monkeypatch):
    torch.manual_seed(7)
    expected = train(Net(), 5)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("SMDEBUG_STORAGE_TIMEOUT", "2")
    torch.manual_seed(7)
    model = Net()
    hook = smd.Hook(store.uri("run"), save_all=True)
    hook.register_module(model)
    assert train(model, 5) == expected
    hook.close()
    assert hook.status().state == "failed"
    with pytest.raises(SMDebugError) as raised:
        create_trial(store.uri("run"), timeout=0)
    assert raised.value.code == "unavailable"
