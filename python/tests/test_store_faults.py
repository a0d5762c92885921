"""Runs in object stores behind a network and a store with faults."""

import contextlib
import signal
import subprocess
import sys

import pytest
import torch
from recorded_runs import contents, frame
from stores import FAULTS, SERVERS, connect, fault_proxy, faults_made, making, running_server

import smdebug.pytorch as smd
from conftest import Net, train
from smdebug.exceptions import SMDebugError
from smdebug.trials import create_trial

SCHEMES = pytest.mark.parametrize("scheme", ["s3", pytest.param("gs", marks=pytest.mark.long)])


@pytest.fixture(scope="module", params=SERVERS)
def server(request, tmp_path_factory):
    with running_server(request.param, tmp_path_factory.mktemp(request.param)) as server:
        yield server


@contextlib.contextmanager
def recording(out_dir):
    """A function that trains and returns the losses; the run is complete afterwards, and then
    ends."""
    torch.manual_seed(7)
    model = Net()
    save_config = smd.SaveConfig(save_interval=2)
    with smd.Hook(out_dir, save_all=True, save_config=save_config) as hook:
        hook.register_module(model)

        def train_to_end():
            losses = train(model, 6)
            hook.flush()
            return losses

        yield train_to_end
    assert hook.status().state == "closed"


def record(out_dir):
    with recording(out_dir) as train_to_end:
        return train_to_end()


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory):
    run = tmp_path_factory.mktemp("disk") / "run"
    losses = record(run)
    trial = create_trial(run)
    return losses, frame(trial), contents(trial)


@SCHEMES
@FAULTS
def test_a_run_is_written_and_read_as_on_a_disk(server, on_disk, fault, scheme, monkeypatch):
    store = connect(server, monkeypatch, scheme)
    with making(fault, server, monkeypatch) as proxy:
        losses = record(store.uri("run"))
        trial = create_trial(store.uri("run"))
        assert (losses, frame(trial), contents(trial)) == on_disk
        assert faults_made(proxy)[fault] > 0


@SCHEMES
def test_an_old_listing_hides_steps_only_until_the_next_one(server, on_disk, scheme, monkeypatch):
    store = connect(server, monkeypatch, scheme)
    with fault_proxy(server, "stale:0.5") as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy)
        with pytest.raises(SMDebugError, match="no run at"):
            create_trial(store.uri("run"), timeout=0)
        with recording(store.uri("run")) as train_to_end:
            train_to_end()
            trial = create_trial(store.uri("run"), timeout=60)
            trial.wait_for_steps([0, 2, 4], timeout=60)
            assert contents(trial) == on_disk[2]
        assert faults_made(proxy)["stale"] > 0


def test_a_store_that_goes_down_costs_the_steps_that_follow(server, monkeypatch):
    store = connect(server, monkeypatch)
    monkeypatch.setenv("SMDEBUG_STORAGE_TIMEOUT", "2")
    torch.manual_seed(7)
    bare = Net()
    expected = train(bare, 6) + train(bare, 6, seed=1)
    torch.manual_seed(7)
    model = Net()
    with fault_proxy(server) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy)
        save_config = smd.SaveConfig(save_interval=2)
        hook = smd.Hook(store.uri("run"), save_all=True, save_config=save_config)
        hook.register_module(model)
        losses = train(model, 6)
        hook.flush()
    losses += train(model, 6, seed=1)
    hook.close()
    assert losses == expected
    status = hook.status()
    assert status.state == "failed" and "cannot" in status.error
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.address)
    trial = create_trial(store.uri("run"))
    assert trial.steps() == [0, 2, 4]
    assert contents(trial)


TERMINATED = """
import os, signal, sys
import torch
import smdebug.pytorch as smd

model = torch.nn.Linear(1, 1)
hook = smd.Hook(sys.argv[1], save_config=smd.SaveConfig(save_interval=1))
hook.register_module(model)
for step in range(20):
    model(torch.ones(1, 1)).backward()
    hook.save_tensor("value", torch.full((100,), step))
os.kill(os.getpid(), signal.SIGTERM)
"""


def test_sigterm_waits_for_the_uploads(server, monkeypatch):
    store = connect(server, monkeypatch)
    with fault_proxy(server, latency=0.05) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy)
        command = [sys.executable, "-c", TERMINATED, store.uri("run")]
        assert subprocess.run(command, timeout=120).returncode == -signal.SIGTERM
        trial = create_trial(store.uri("run"))
        for step in range(19):
            assert (trial.tensor("value").value(step) == step).all()
