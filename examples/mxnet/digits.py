"""Trains a small network on scikit-learn's handwritten digits.

An ordinary Gluon script that does not use smdebug. With --planted-fault the network is a deep stack
of sigmoids, in which the gradient vanishes on its way back to the first layers.
"""

import argparse

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon import nn
from sklearn.datasets import load_digits


def net_of(activation, depth, width=128):
    net = nn.HybridSequential(prefix="digits_")
    with net.name_scope():
        for _ in range(depth):
            net.add(nn.Dense(width, activation=activation))
        net.add(nn.Dense(10))
    return net


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--planted-fault", action="store_true")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=240)
    options = parser.parse_args()

    mx.random.seed(7)
    np.random.seed(7)
    pixels, labels = load_digits(return_X_y=True)
    data = gluon.data.ArrayDataset((pixels / 16).astype("float32"), labels.astype("float32"))
    batches = gluon.data.DataLoader(data, options.batch_size, shuffle=True)
    net = net_of("sigmoid", depth=14) if options.planted_fault else net_of("relu", depth=2)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})

    for epoch in range(options.epochs):
        total = 0.0
        for x, y in batches:
            with autograd.record():
                value = loss(net(x), y)
            value.backward()
            trainer.step(len(x))
            total += value.mean().asscalar()
        print(f"epoch {epoch}: loss {total / len(batches):.3f}", flush=True)


if __name__ == "__main__":
    main()
