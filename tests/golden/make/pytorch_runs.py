"""PyTorch runs: modes, reductions and shapes, custom scalars and tensors, TensorBoard export.

This script of our project wrote the golden runs with the original; its queries about them are removed. ../rewrite.py
runs it in the folder that receives the runs, one case per process.
"""
import sys

import numpy as np
import torch
import torch.nn as nn
from runs import fresh

import smdebug.pytorch as smd


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.relu = nn.ReLU()
        self.fc = nn.Linear(2 * 4 * 4, 3)

    def forward(self, x):
        x = self.relu(self.conv(x))
        return self.fc(x.flatten(1))


def train(hook, schedule, each=None):
    """schedule: list of TRAIN / EVAL; one batch per entry."""
    torch.manual_seed(11)
    net, loss = Net(), nn.CrossEntropyLoss()
    hook.register_module(net)
    hook.register_loss(loss)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for i, mode in enumerate(schedule):
        if mode is not None:
            hook.set_mode(mode)
        x, y = torch.rand(4, 1, 6, 6), torch.randint(0, 3, (4,))
        if mode == smd.modes.EVAL:
            net.eval()
            with torch.no_grad():
                loss(net(x), y)
        else:
            net.train()
            opt.zero_grad()
            value = loss(net(x), y)
            value.backward()
            opt.step()
        if each:
            each(hook, i)
    hook.close()


T, E = smd.modes.TRAIN, smd.modes.EVAL


def pytorch_modes():
    run = fresh("pytorch_modes")
    hook = smd.Hook(
        run, include_collections=["weights", "biases", "gradients", "losses"],
        save_config=smd.SaveConfig({
            T: smd.SaveConfigMode(save_interval=3, end_step=7),
            E: smd.SaveConfigMode(save_interval=2, save_steps=[1]),
        }))
    hook.get_collection("losses").save_config = smd.SaveConfig(save_interval=1)
    train(hook, [T, T, T, T, E, E, T, T, T, T, E, E, E])


def pytorch_global_default():
    run = fresh("pytorch_global_default")
    train(smd.Hook(run, save_config=smd.SaveConfig(save_interval=2)), [None] * 5)


def pytorch_save_all():
    run = fresh("pytorch_save_all")
    train(smd.Hook(run, save_all=True, save_config=smd.SaveConfig(save_steps=[0, 2])), [None] * 4)


def pytorch_reductions():
    run = fresh("pytorch_reductions")
    hook = smd.Hook(
        run, include_collections=["weights", "biases", "gradients", "losses"],
        save_config=smd.SaveConfig(save_interval=2),
        reduction_config=smd.ReductionConfig(
            reductions=["min", "max", "mean", "std", "variance", "sum", "prod"],
            abs_reductions=["min", "max", "mean", "std", "variance", "sum", "prod"],
            norms=["l1", "l2"], abs_norms=["l1", "l2"]))
    train(hook, [T, T, T])


def pytorch_raw_and_shape():
    run = fresh("pytorch_raw_and_shape")
    hook = smd.Hook(
        run, include_collections=["weights", "gradients", "biases", "losses"],
        save_config=smd.SaveConfig(save_interval=2))
    hook.get_collection("weights").reduction_config = smd.ReductionConfig(
        save_raw_tensor=True, save_shape=True, reductions=["mean"])
    hook.get_collection("biases").reduction_config = smd.ReductionConfig(save_shape=True)
    hook.get_collection("gradients").reduction_config = smd.ReductionConfig(norms=["l2"], save_raw_tensor=True)
    train(hook, [T, T, T])


def pytorch_custom():
    run = fresh("pytorch_custom")
    hook = smd.Hook(run, include_collections=["losses", "mine", "fc_io"], save_config=smd.SaveConfig(save_interval=3),
                    include_regex="relu_output")
    hook.get_collection("mine").include("mine_.*")
    hook.get_collection("fc_io").include("fc_(in|out)put")

    def each(hook, i):
        hook.save_scalar("lr", 0.1 / (i + 1), timestamp=1600000000.0 + i)
        hook.save_scalar("count", i)
        hook.save_tensor("mine_vector", np.arange(3, dtype="float32") + i, collections_to_write="mine")
        hook.save_tensor("mine_torch", torch.full((2, 2), float(i), dtype=torch.float64), collections_to_write=["mine"])

    train(hook, [T, T, T, T, T, E, E, T], each)


def pytorch_tensorboard():
    run = fresh("pytorch_tensorboard")
    hook = smd.Hook(run, include_collections=["weights", "gradients", "losses"], export_tensorboard=True,
                    save_config=smd.SaveConfig(save_interval=2))
    train(hook, [T, T, T, T, E, E], lambda h, i: h.save_scalar("lr", 0.5 ** i))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
