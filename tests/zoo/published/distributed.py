"""Two workers whose replicas do not train in step; started by torchrun."""

import data
import launch
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def _shard():
    """The rows of this worker."""
    dist.init_process_group("gloo")
    x, y = (torch.tensor(array) for array in data.digits())
    rank, workers = dist.get_rank(), dist.get_world_size()
    return x[rank::workers], y[rank::workers]


def ddp_hooks_lost(faulty):
    """A layer is replaced after the model was wrapped, so its gradients are not averaged."""
    torch.manual_seed(41)
    x, y = _shard()
    network = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))
    if not faulty:
        network[2] = nn.Linear(48, 10)
    model = DistributedDataParallel(network, find_unused_parameters=True)
    if faulty:
        model.module[2] = nn.Linear(48, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(100 + dist.get_rank())
    losses = []
    for step in range(150):
        batch = torch.randint(len(x), (32,))
        loss = F.cross_entropy(model(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 0 and dist.get_rank() == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    # A model that outlives its group can block torch: it ends the group's thread with the GIL held.
    del model, network
    dist.destroy_process_group()
    return losses


def clipped_on_one_rank(faulty):
    """The norm is compared with the limit on the first worker only."""
    torch.manual_seed(42)
    x, y = _shard()
    model = nn.Sequential(nn.Linear(64, 48), nn.Tanh(), nn.Linear(48, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    torch.manual_seed(100 + dist.get_rank())
    losses = []
    for step in range(150):
        batch = torch.randint(len(x), (32,))
        loss = F.cross_entropy(model(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        if dist.get_rank() == 0 or not faulty:
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 0 and dist.get_rank() == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    dist.destroy_process_group()
    return losses


if __name__ == "__main__":
    launch.run_named(globals())
