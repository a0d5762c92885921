"""Shared by the tests of the MXNet adapter: small nets, and functions that read runs."""

import os
import subprocess
import sys
import textwrap

import pytest

mx = pytest.importorskip("mxnet")

import numpy as np  # noqa: E402
from mxnet import autograd, gluon  # noqa: E402
from mxnet.gluon import nn  # noqa: E402

import smdebug.mxnet as smd  # noqa: E402
from smdebug import _core  # noqa: E402

_core.set_leak_warnings(True)

EVERY_STEP = smd.SaveConfig(save_interval=1)


def make_net(prefix="net_", dropout=0.0):
    """Dense(8, relu), Dropout, Dense(3) under the names net_dense0_, net_dropout0_, net_dense1_."""
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(nn.Dense(8, activation="relu"), nn.Dropout(dropout), nn.Dense(3))
    return net


class Training:
    """Trains a net on random data, the same for each seed, one step at a time."""

    def __init__(self, hook=None, net=None, seed=1, context=None, kvstore="device", **trainer):
        mx.random.seed(seed)
        self.random = np.random.RandomState(seed)
        self.contexts = context or [mx.cpu(0)]
        self.net = net or make_net()
        self.net.initialize(mx.init.Xavier(), ctx=self.contexts)
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss(prefix="softmaxce_loss0_")
        if hook:
            hook.register_block(self.net)
            hook.register_block(self.loss)
        self.trainer = gluon.Trainer(
            self.net.collect_params(),
            "sgd",
            {"learning_rate": 0.1, "momentum": 0.9},
            kvstore=kvstore,
            **trainer,
        )

    def batch(self, size=6):
        x = self.random.rand(size, 4).astype(np.float32)
        y = self.random.randint(0, 3, size).astype(np.float32)
        return x, y

    def backward(self, x, y):
        losses = []
        parts = len(self.contexts)
        with autograd.record():
            for context, a, b in zip(
                self.contexts, np.split(x, parts), np.split(y, parts), strict=True
            ):
                inputs, labels = mx.nd.array(a, ctx=context), mx.nd.array(b, ctx=context)
                losses.append(self.loss(self.net(inputs), labels))
        autograd.backward(losses)
        return losses

    def step(self):
        x, y = self.batch()
        self.backward(x, y)
        self.trainer.step(len(x))
        return x, y

    def steps(self, count):
        for _ in range(count):
            self.step()
        return self

    def evaluate(self):
        x, y = self.batch()
        return self.loss(self.net(mx.nd.array(x)), mx.nd.array(y))

    def weights(self):
        """Parameter name -> its value on the first device, as numpy's."""
        parameters = self.net.collect_params().items()
        return {name: each.list_data()[0].asnumpy() for name, each in parameters}

    def gradients(self):
        """Parameter name -> its gradient, summed over the devices."""
        parameters = self.net.collect_params().items()
        return {name: sum(g.asnumpy() for g in each.list_grad()) for name, each in parameters}


@pytest.fixture
def read(out_dir):
    """Opens the run that the test wrote."""
    return lambda: smd.create_trial(out_dir)


def values_at(trial, step):
    """Name -> value of each tensor saved at a global step."""
    return {name: trial.tensor(name).value(step) for name in trial.tensor_names(step=step)}


def run_script(path, *arguments, environment=None, check=True):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(path), *map(str, arguments)],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=120,
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done


def run_text(tmp_path, script, *arguments, **options):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    return run_script(path, *arguments, **options)
