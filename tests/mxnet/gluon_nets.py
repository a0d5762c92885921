"""A net of Gluon and a step of its training, for the tests of rules and for the zoo."""

from mxnet import autograd
from mxnet.gluon import nn


def stack(activation, depth, width, outputs, prefix=None):
    """`depth` layers of `width` units with an activation ("relu", ...), and an output layer: a
    HybridSequential, not initialized. Without a prefix, Gluon names it."""
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        for _ in range(depth):
            net.add(nn.Dense(width, activation=activation))
        net.add(nn.Dense(outputs))
    return net


def train_step(net, loss, trainer, x, y, *, averages=True):
    """One update on a batch, NDArrays, by the mean of its gradients or by their sum."""
    with autograd.record():
        value = loss(net(x), y)
    value.backward()
    trainer.step(len(x) if averages else 1)
