"""Objects of several parts in object stores behind a network and a store with faults."""

import numpy as np
import pytest
import torch
from stores import FAULTS, SERVERS, connect, making, running_server

import smdebug.pytorch as smd
from smdebug.trials import create_trial


@pytest.fixture(scope="module", params=SERVERS)
def server(request, tmp_path_factory):
    with running_server(request.param, tmp_path_factory.mktemp(request.param)) as server:
        yield server


# S3Storage.UploadsALongObjectInPartsAndReadsItBack does so without faults.
@pytest.mark.long
@FAULTS
def test_large_tensors_are_written_and_read_in_parts(server, fault, monkeypatch):
    store = connect(server, monkeypatch)
    values = np.random.default_rng(0).normal(size=(3, 5_000_000)).astype(np.float32)
    with making(fault, server, monkeypatch):
        with smd.Hook(store.uri("run"), save_config=smd.SaveConfig(save_interval=1)) as hook:
            model = torch.nn.Linear(1, 1)
            hook.register_module(model)
            for step in range(3):
                model(torch.ones(1, 1)).backward()
                hook.save_tensor("large", values[step])
        assert hook.status().state == "closed"
        large = create_trial(store.uri("run")).tensor("large")
        for step in range(3):
            assert (large.value(step) == values[step]).all()
