"""Several workers, and long runs.

This script of our project wrote the golden runs with the original; its queries about them are removed. ../rewrite.py
runs it in the folder that receives the runs, one case per process.
"""
import json
import os
import subprocess
import sys
import tempfile

import torch
import torch.nn as nn
from runs import fresh

import smdebug.pytorch as smd


def rank_main(run, rank, size, rendezvous, steps_of_rank, die):
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=size)
    hook = smd.Hook(run, include_workers="all", include_collections=["weights", "losses", "gradients"],
                    save_config=smd.SaveConfig(save_interval=1000, save_steps=steps_of_rank[rank], start_step=1000))
    torch.manual_seed(3 + rank)
    net, loss = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1)), nn.MSELoss()
    hook.register_module(net)
    hook.register_loss(loss)
    hook.set_mode(smd.modes.TRAIN)
    for _ in range(9):
        net.zero_grad()
        loss(net(torch.rand(4, 3)), torch.rand(4, 1)).backward()
        dist.barrier()
    if die:
        if rank == 0:
            net(torch.rand(4, 3))  # the next forward call publishes step 8 of this worker
        hook.flush()
        dist.barrier()
        os._exit(0)  # killed: no cleanup
    hook.close()
    dist.barrier()
    os._exit(0)  # before torch's threads can abort the process


def launch(name, steps_of_rank, die):
    run = fresh(name)
    with tempfile.TemporaryDirectory() as d:
        ps = [subprocess.Popen([sys.executable, sys.argv[0], "rank", json.dumps(
            [run, r, 2, d + "/rendezvous", steps_of_rank, die])]) for r in range(2)]
        for p in ps:
            assert p.wait(120) == 0


def workers_two():
    launch("workers_two", [[0, 2, 4, 6, 8], [0, 4, 6]], False)


def workers_two_running():
    launch("workers_two_running", [[0, 2, 4, 6, 8], [0, 4, 6, 8]], True)


def unfinished():
    run = fresh("unfinished")
    hook = smd.Hook(run, include_collections=["weights", "losses"], save_config=smd.SaveConfig(save_interval=1))
    torch.manual_seed(1)
    net, loss = nn.Linear(3, 2), nn.MSELoss()
    hook.register_module(net)
    hook.register_loss(loss)
    for _ in range(5):
        value = loss(net(torch.rand(4, 3)), torch.rand(4, 2))
        value.backward()
    hook.flush()
    os._exit(0)


def many_steps():
    run = fresh("many_steps")
    hook = smd.Hook(run, save_config=smd.SaveConfig(save_interval=1))
    torch.manual_seed(2)
    net, loss = nn.Linear(2, 1), nn.MSELoss()
    hook.register_module(net)
    hook.register_loss(loss)
    hook.set_mode(smd.modes.TRAIN)
    for i in range(1012):
        loss(net(torch.full((1, 2), float(i % 7))), torch.zeros(1, 1))
    hook.close()


if __name__ == "__main__":
    if sys.argv[1] == "rank":
        rank_main(*json.loads(sys.argv[2]))
    else:
        globals()[sys.argv[1]]()
