"""The trainings of the zoo with Gluon, in a separate interpreter (mxnet_cases.py, elsewhere.py)."""

import os
import pathlib
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("SMDEBUG_LOG_LEVEL", "error")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "mxnet"))

import elsewhere  # noqa: E402
import mxnet as mx  # noqa: E402
import numpy as np  # noqa: E402
import recording  # noqa: E402
from gluon_nets import stack, train_step  # noqa: E402
from mxnet import gluon  # noqa: E402
from mxnet.gluon import nn  # noqa: E402

EVALUATION_BATCH = 128


def train(case, arrays):
    """The quality of the model on the test set."""
    data = {name: array.astype(np.float32) for name, array in arrays.items()}
    mx.random.seed(case["seed"])
    np.random.seed(case["seed"])  # initializers draw from it
    net = MODELS[case["model"]](case)
    net.infer_shape(mx.nd.array(data["train_x"][:2]))
    # Uniform between -1 and 1 over the root of the number of inputs, as PyTorch has it.
    net.initialize(mx.init.Xavier(factor_type="in", magnitude=1))
    _spoil(net, case)
    _fit(net, case, data)
    recording.end()
    return _quality(net, case, data)


# --- the model ---


def _stack(case):
    return stack(case["activation"], case["depth"], case["width"], case["outputs"])


def _normalized_perceptron(case):
    net = nn.HybridSequential()
    with net.name_scope():
        for _ in range(case["depth"]):
            net.add(nn.Dense(case["width"]), nn.BatchNorm(), nn.Activation(case["activation"]))
        net.add(nn.Dense(case["outputs"]))
    return net


def _plain_convolutions(case):
    net = nn.HybridSequential()
    with net.name_scope():
        for _ in range(case["depth"]):
            net.add(nn.Conv2D(case["width"], 3, padding=1, activation=case["activation"]))
        net.add(nn.MaxPool2D(), nn.Flatten(), nn.Dense(case["outputs"]))
    return net


MODELS = {
    "stack": _stack,
    "normalized_perceptron": _normalized_perceptron,
    "plain_convolutions": _plain_convolutions,
}


# --- the faults of models ---


def _spoil(net, case):
    weighted = [layer for layer in net if isinstance(layer, (nn.Dense, nn.Conv2D))]
    if "scale" in case:
        for layer in weighted:
            layer.weight.set_data(case["scale"] * layer.weight.data())
    if "bury" in case:
        hidden = weighted[:-1]
        bias = hidden[len(hidden) // 2].bias
        bias.set_data(mx.nd.full(bias.shape, case["bury"]))
    if case.get("freeze"):
        for parameter in weighted[0].collect_params().values():
            parameter.grad_req = "null"
    if case.get("softmax"):
        with net.name_scope():
            net.add(nn.HybridLambda("softmax"))


# --- the training ---


def _trainer(net, case):
    options = {"learning_rate": case["lr"]}
    if case["has_schedule"]:
        options["lr_scheduler"] = mx.lr_scheduler.CosineScheduler(
            case["steps"], base_lr=case["lr"], final_lr=0
        )
    name, more = {
        "momentum": ("sgd", {"momentum": 0.9}),
        "plain_sgd": ("sgd", {}),
        "adam": ("adam", {}),
        "adamw": ("adam", {}),  # Gluon has no AdamW
    }[case["optimizer"]]
    return gluon.Trainer(_learned(net, case), name, options | more)


def _learned(net, case):
    """The parameters that the trainer gets: without those of a layer in the middle if it forgets
    them."""
    parameters = list(net.collect_params().values())
    if case.get("forgets"):
        weights = [each for each in parameters if len(each.shape) > 1]
        forgotten = weights[len(weights) // 2].name.rpartition("_")[0]
        parameters = [each for each in parameters if each.name.rpartition("_")[0] != forgotten]
    return parameters


def _fit(net, case, data):
    # L2Loss alone is half of the mean square.
    loss = gluon.loss.SoftmaxCrossEntropyLoss() if case["classes"] else gluon.loss.L2Loss(2)
    trainer = _trainer(net, case)
    for step, rows in enumerate(_batches(case, len(data["train_x"]))):
        x, y = (mx.nd.array(data[name][rows]) for name in ("train_x", "train_y"))
        train_step(net, loss, trainer, x, y, averages=case.get("averages", True))
        if (step + 1) % case["evaluate_every"] == 0:
            _evaluate(net, loss, data)


def _evaluate(net, loss, data):
    for first in range(0, len(data["test_x"]), EVALUATION_BATCH):
        x, y = (
            mx.nd.array(data[name][first : first + EVALUATION_BATCH])
            for name in ("test_x", "test_y")
        )
        loss(net(x), y)


def _batches(case, count):
    """Yields the indexes of each whole batch, in a new order for each epoch."""
    random = np.random.RandomState(case["seed"])
    order = np.empty(0, int)
    for _ in range(case["steps"]):
        if len(order) < case["batch"]:
            order = random.permutation(count)
        yield order[: case["batch"]]
        order = order[case["batch"] :]


def _quality(net, case, data):
    """The share of correct predictions, or of explained variance."""
    answers, wanted = net(mx.nd.array(data["test_x"])).asnumpy(), data["test_y"]
    if case["classes"]:
        return float((answers.argmax(1) == wanted).mean())
    return float(1 - np.square(answers - wanted).mean() / np.square(wanted - wanted.mean(0)).mean())


if __name__ == "__main__":
    elsewhere.serve(train)
