"""MXNet Gluon runs.

This script of our project wrote the golden runs with the original; its queries about them are removed. ../rewrite.py
runs it in the folder that receives the runs, one case per process, in the environment of MXNet.
"""
import sys

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon import nn
from runs import fresh

import smdebug.mxnet as smd

mx.random.seed(4)
np.random.seed(4)


def fit(hook, schedule, each=None):
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(4, activation="relu"), nn.Dense(3))
    net.initialize(mx.init.Xavier())
    loss = gluon.loss.SoftmaxCrossEntropyLoss(prefix="softmaxce_loss0_")
    hook.register_block(net)
    hook.register_block(loss)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    for i, mode in enumerate(schedule):
        hook.set_mode(mode)
        x = mx.nd.array(np.random.rand(6, 5))
        y = mx.nd.array(np.random.randint(0, 3, 6))
        if mode == smd.modes.TRAIN:
            with autograd.record():
                value = loss(net(x), y)
            value.backward()
            trainer.step(6)
        else:
            loss(net(x), y)
        if each:
            each(hook, i)
    hook.close()
    mx.nd.waitall()


T, E = smd.modes.TRAIN, smd.modes.EVAL


def mxnet_modes():
    run = fresh("mxnet_modes")
    hook = smd.Hook(run, include_collections=["weights", "biases", "gradients", "losses"],
                    save_config=smd.SaveConfig({T: smd.SaveConfigMode(save_interval=2),
                                                E: smd.SaveConfigMode(save_interval=1)}))
    fit(hook, [T, T, T, E, E, T, T], lambda h, i: h.save_scalar("lr", 0.1 * i))


def mxnet_reductions():
    run = fresh("mxnet_reductions")
    hook = smd.Hook(run, save_all=True, save_config=smd.SaveConfig(save_interval=2),
                    reduction_config=smd.ReductionConfig(reductions=["min", "max", "mean", "sum", "prod"],
                                                         abs_reductions=["max"], norms=["l1", "l2"]))
    fit(hook, [T, T, T])


if __name__ == "__main__":
    globals()[sys.argv[1]]()
