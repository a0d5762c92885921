"""Several workers: which one a process is, and one run of all of them."""

import os
import subprocess
import sys
import types

import pytest
from free_ports import free_port

from conftest import EVERY_STEP, Training, mx, smd
from smdebug.mxnet import workers

# A scheduler, a server and the workers are the same program, told apart by DMLC_ROLE.
SCRIPT = """
import os, sys
import mxnet as mx
if os.environ["DMLC_ROLE"] != "worker":
    import mxnet.kvstore_server  # serves, and ends the program
    sys.exit()
from mxnet import autograd, gluon
import smdebug.mxnet as smd
store = mx.kv.create("dist_sync")
net = gluon.nn.Dense(2, prefix="net_", in_units=3)
net.initialize(mx.init.One())
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.25}, kvstore=store)
hook = smd.Hook(
    sys.argv[1],
    include_workers="all",
    include_collections=["weights", "gradients"],
    save_config=smd.SaveConfig(save_interval=1),
)
hook.register_block(net)
for _ in range(2):
    with autograd.record():
        loss = net(mx.nd.ones((1, 3)) * (store.rank + 1)).sum()
    loss.backward()
    trainer.step(1)
hook.close()
"""


class Store(mx.kvstore.KVStoreBase):
    """What a kvstore says of its workers."""

    def __init__(self, rank, num_workers):
        self._place = rank, num_workers

    @property
    def type(self):
        return "dist_stand_in"

    @property
    def rank(self):
        return self._place[0]

    @property
    def num_workers(self):
        return self._place[1]


@pytest.fixture
def worker_of_two(monkeypatch):
    monkeypatch.setenv("DMLC_ROLE", "worker")
    monkeypatch.setenv("DMLC_NUM_WORKER", "2")


def test_a_process_that_trains_alone_is_worker_0_whatever_kvstores_it_has():
    store = Store(3, 8)
    assert workers.rank_and_size() == (0, 1)
    assert store.num_workers == 8


def test_a_worker_is_the_one_that_its_kvstore_says(worker_of_two):
    of_one_machine, store = Store(0, 1), Store(1, 2)
    assert workers.rank_and_size() == (1, 2)
    assert of_one_machine.num_workers < store.num_workers


def test_a_worker_without_a_kvstore_is_told_what_to_do(worker_of_two, logged):
    assert workers.rank_and_size() == (0, 1)
    [said] = logged
    assert "2 workers" in said and "mxnet.kv.create" in said and "out_dir" in said


def test_horovod_says_which_worker_it_is(monkeypatch):
    stand_in = types.SimpleNamespace(rank=lambda: 2, size=lambda: 4)
    monkeypatch.setitem(sys.modules, "horovod.mxnet", stand_in)
    assert workers.rank_and_size() == (2, 4)


def test_the_run_of_a_worker_is_named_after_its_rank(worker_of_two, out_dir):
    store = Store(1, 2)
    hook = smd.Hook(out_dir, save_config=EVERY_STEP, include_workers="all")
    Training(hook).steps(2)
    hook.close()
    names = {path.split("_", 1)[1] for _, _, files in os.walk(out_dir + "/index") for path in files}
    assert names == {"worker_1.json"}
    assert store.rank == 1


def test_all_but_worker_0_are_silent_unless_all_are_asked_for(worker_of_two, out_dir):
    store = Store(1, 2)
    hook = smd.Hook(out_dir, save_config=EVERY_STEP)
    Training(hook).steps(2)
    status = hook.status()
    hook.close()
    assert status.state == "silent" and "worker_1" in status.reason
    assert not os.path.exists(out_dir) and store.rank == 1


def test_two_workers_of_a_real_kvstore_write_one_run(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    environment = os.environ | {
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(free_port()),
        "DMLC_NODE_HOST": "127.0.0.1",
        "DMLC_NUM_SERVER": "1",
        "DMLC_NUM_WORKER": "2",
        "OMP_NUM_THREADS": "1",
    }
    programs = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", script, tmp_path / "run"],
            env=environment | {"DMLC_ROLE": role},
            stderr=subprocess.PIPE,
            text=True,
        )
        for role in ("scheduler", "server", "worker", "worker")
    ]
    try:
        for program in programs:
            _, said = program.communicate(timeout=240)
            assert program.returncode == 0, said
    finally:
        for program in programs:
            program.kill()
    trial = smd.create_trial(str(tmp_path / "run"), timeout=5)
    assert trial.workers() == ["worker_0", "worker_1"]
    # The gradient of a worker is its input, the update the sum over workers.
    for rank, worker in enumerate(trial.workers()):
        gradient = trial.tensor("gradient/net_weight").value(0, worker=worker)
        assert gradient.tolist() == [[rank + 1.0] * 3] * 2
        weight = trial.tensor("net_weight").value(0, worker=worker)
        assert weight.tolist() == [[1 - 0.25 * (1 + 2)] * 3] * 2
