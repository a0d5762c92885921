"""Healthy trainings, in two halves that share neither size nor optimizer nor seed.

Parameters are tuned on the half "tune", and their results are reported on the half "report". A
recipe is a function `(half, seed) -> Training`.
"""

import functools

import tasks
import torch
from torch import nn
from training import Training

TUNE, REPORT = "tune", "report"
HALVES = (TUNE, REPORT)


def adam(parameters, lr):
    return torch.optim.Adam(parameters, lr)


def adamw(parameters, lr):
    return torch.optim.AdamW(parameters, lr, weight_decay=0.01)


def rmsprop(parameters, lr):
    return torch.optim.RMSprop(parameters, lr)


def plain_sgd(parameters, lr):
    return torch.optim.SGD(parameters, lr)


def _he(model):
    """He initialization with biases at zero, as the books advise for ReLU."""
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            nn.init.zeros_(module.bias)


def stack(training):
    """`depth` layers, each with its activation, and an output layer."""
    layers, inputs = [], training.task.train_x.shape[1]
    for _ in range(training.depth):
        layers += [nn.Linear(inputs, training.width), training.activation()]
        inputs = training.width
    return nn.Sequential(*layers, nn.Linear(inputs, training.task.outputs))


def _normalized_perceptron(training):
    layers, inputs = [], training.task.train_x.shape[1]
    for _ in range(training.depth):
        layers += [
            nn.Linear(inputs, training.width),
            nn.BatchNorm1d(training.width),
            training.activation(),
        ]
        inputs = training.width
    return nn.Sequential(*layers, nn.Linear(inputs, training.task.outputs))


def _convolutions(training):
    """Convolutions with a bias before each normalization, where its gradient is zero by
    construction; frequent, and harmless."""
    layers, inputs = [], training.task.train_x.shape[1]
    for _ in range(training.depth):
        layers += [
            nn.Conv2d(inputs, training.width, 3, padding=1),
            nn.BatchNorm2d(training.width),
            training.activation(),
        ]
        inputs = training.width
    head = [nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * inputs, training.task.outputs)]
    return nn.Sequential(*layers, *head)


def _plain_convolutions(training):
    layers, inputs = [], training.task.train_x.shape[1]
    for _ in range(training.depth):
        layers += [nn.Conv2d(inputs, training.width, 3, padding=1), training.activation()]
        inputs = training.width
    head = [nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * inputs, training.task.outputs)]
    return nn.Sequential(*layers, *head)


class TextModel(nn.Module):
    """Embedded words, their mean without the padding, and a perceptron. Most words of the
    vocabulary occur in no text, so most of its gradient is zero."""

    def __init__(self, training):
        super().__init__()
        self.embedding = nn.Embedding(2000, training.width, padding_idx=0)
        self.body = nn.Linear(training.width, training.width)
        self.activation = training.activation()
        self.head = nn.Linear(training.width, training.task.outputs)

    def forward(self, words):
        is_word = (words > 0).unsqueeze(-1)
        mean = (self.embedding(words) * is_word).sum(1) / is_word.sum(1).clamp(min=1)
        return self.head(self.activation(self.body(mean)))


class Tagger(nn.Module):
    """A GRU over embedded words, and a score of each class for each word: (batch, classes,
    words)."""

    def __init__(self, training):
        super().__init__()
        self.embedding = nn.Embedding(60, training.width, padding_idx=0)
        self.gru = nn.GRU(training.width, training.width, batch_first=True)
        self.head = nn.Linear(training.width, training.task.outputs)

    def forward(self, words):
        return self.head(self.gru(self.embedding(words))[0]).transpose(1, 2)


class Attention(nn.Module):
    """One head with its own projections. The bias of the keys has no gradient by construction, and
    masked positions are -inf before the softmax."""

    def __init__(self, width):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.weigh = nn.Softmax(-1)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(1, 2) / x.shape[-1] ** 0.5
        later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        weights = self.weigh(scores.masked_fill(later, float("-inf")))
        return self.out(weights @ self.value(x))


class Transformer(nn.Module):
    """Blocks of attention and perceptron with shortcuts, over a sequence of rows."""

    def __init__(self, training):
        super().__init__()
        width = training.width
        rows, size = training.task.train_x.shape[1:]
        self.embed = nn.Linear(size, width)
        self.place = nn.Parameter(0.02 * torch.randn(rows, width))
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm1": nn.LayerNorm(width),
                    "attention": Attention(width),
                    "norm2": nn.LayerNorm(width),
                    "mlp": nn.Sequential(
                        nn.Linear(width, 2 * width),
                        training.activation(),
                        nn.Linear(2 * width, width),
                    ),
                }
            )
            for _ in range(training.depth)
        )
        self.head = nn.Linear(width, training.task.outputs)

    def forward(self, x):
        x = self.embed(x) + self.place
        for block in self.blocks:
            x = x + block["attention"](block["norm1"](x))
            x = x + block["mlp"](block["norm2"](x))
        return self.head(x[:, -1])


class Recurrent(nn.Module):
    """A GRU over the rows."""

    def __init__(self, training):
        super().__init__()
        self.gru = nn.GRU(training.task.train_x.shape[2], training.width, batch_first=True)
        self.head = nn.Linear(training.width, training.task.outputs)

    def forward(self, x):
        return self.head(self.gru(x)[0][:, -1])


def _coder(training):
    return nn.Sequential(
        nn.Linear(64, training.width),
        training.activation(),
        nn.Linear(training.width, training.width // 2),
        training.activation(),
        nn.Linear(training.width // 2, 64),
        nn.Sigmoid(),
    )


def perceptron(half, seed):
    if half == TUNE:
        return Training(tasks.digits(seed), stack, seed, width=32, lr=0.02, goal=0.9)
    return Training(
        tasks.digits(seed), stack, seed, width=96, depth=3, lr=2e-3, batch=64,
        make_optimizer=adam, goal=0.9,
    )  # fmt: skip


def small_table(half, seed):
    if half == TUNE:
        return Training(
            tasks.cancer(seed), stack, seed, width=24, lr=3e-3, make_optimizer=adam, goal=0.9
        )
    return Training(tasks.wine(seed), stack, seed, width=16, lr=0.01, batch=16, goal=0.85)


def tanh_perceptron(half, seed):
    if half == TUNE:
        return Training(
            tasks.digits(seed), stack, seed, activation=nn.Tanh, width=40, lr=0.02, goal=0.9
        )
    return Training(
        tasks.cancer(seed), stack, seed, activation=nn.Tanh, width=24, depth=3, lr=3e-3,
        make_optimizer=adamw, has_schedule=True, goal=0.9,
    )  # fmt: skip


def deep_perceptron(half, seed):
    """Ten and more layers, initialized for their activation."""
    if half == TUNE:
        return Training(
            tasks.digits(seed), stack, seed, width=32, depth=10, lr=1e-3, on_model=[_he],
            make_optimizer=adam, goal=0.75,
        )  # fmt: skip
    return Training(
        tasks.digits(seed), _normalized_perceptron, seed, width=24, depth=12, lr=0.02, batch=48,
        goal=0.75,
    )  # fmt: skip


def convolutions(half, seed):
    if half == TUNE:
        return Training(
            tasks.digit_images(seed), _convolutions, seed, width=8, lr=0.02, goal=0.9, steps=260
        )
    return Training(
        tasks.patches(seed), _convolutions, seed, width=6, depth=3, lr=2e-3, make_optimizer=adam,
        goal=0.8, steps=260,
    )  # fmt: skip


def plain_convolutions(half, seed):
    if half == TUNE:
        return Training(
            tasks.patches(seed), _plain_convolutions, seed, width=6, lr=2e-3, goal=0.8, steps=260,
            make_optimizer=adam,
        )  # fmt: skip
    return Training(
        tasks.digit_images(seed), _plain_convolutions, seed, width=8, lr=0.02, steps=260, goal=0.9
    )


def regression(half, seed):
    if half == TUNE:
        return Training(
            tasks.diabetes(seed), stack, seed, width=16, depth=1, lr=3e-3, goal=0.25,
            make_optimizer=adam, steps=260,
        )  # fmt: skip
    return Training(
        tasks.diabetes(seed), stack, seed, width=8, lr=0.01, goal=0.25, steps=260,
        make_optimizer=plain_sgd,
    )  # fmt: skip


def text(half, seed):
    if half == TUNE:
        return Training(
            tasks.documents(seed), TextModel, seed, width=16, lr=5e-3, make_optimizer=adam
        )
    return Training(
        tasks.documents(seed), TextModel, seed, width=32, lr=3e-3, batch=64, make_optimizer=rmsprop
    )


def tagger(half, seed):
    """Tags the words of padded texts; the loss ignores the padding."""
    task = tasks.tagged_documents(seed)
    ignores_padding = nn.CrossEntropyLoss(ignore_index=0)
    if half == TUNE:
        return Training(
            task, Tagger, seed, width=32, lr=0.01, make_optimizer=adam, loss=ignores_padding,
            goal=0.5,
        )  # fmt: skip
    return Training(
        task, Tagger, seed, width=48, lr=0.01, batch=64, make_optimizer=adamw, steps=250,
        loss=ignores_padding, goal=0.5,
    )  # fmt: skip


def transformer(half, seed):
    if half == TUNE:
        return Training(
            tasks.digit_rows(seed), Transformer, seed, width=32, lr=3e-3, make_optimizer=adamw,
            depth=1,
        )  # fmt: skip
    return Training(
        tasks.digit_rows(seed), Transformer, seed, width=24, depth=2, lr=3e-3, has_schedule=True,
        make_optimizer=adam,
    )  # fmt: skip


def recurrent(half, seed):
    if half == TUNE:
        return Training(
            tasks.digit_rows(seed), Recurrent, seed, width=32, lr=5e-3, make_optimizer=adam
        )
    return Training(
        tasks.digit_rows(seed), Recurrent, seed, width=48, lr=3e-3, batch=64,
        make_optimizer=rmsprop,
    )  # fmt: skip


def autoencoder(half, seed):
    if half == TUNE:
        return Training(
            tasks.digit_copies(seed), _coder, seed, width=48, lr=3e-3, make_optimizer=adam, goal=0.4
        )
    return Training(
        tasks.digit_copies(seed), _coder, seed, width=64, lr=3e-3, make_optimizer=adamw, goal=0.4,
        activation=nn.Tanh, batch=64,
    )  # fmt: skip


def long(half, seed):
    """Continues after it has converged, with the initial learning rate: the loss is only noise
    by then."""
    training = regression(half, seed)
    training.steps = 600 if half == TUNE else 800
    training.lr /= 2
    return training


def slow_start(half, seed):
    """Large batches and plain SGD, as in examples/digits: in the first epochs some classes are
    never predicted."""
    if half == TUNE:
        return Training(
            tasks.digit_pixels(seed), stack, seed, width=256, depth=3, lr=0.1, batch=240,
            make_optimizer=plain_sgd, steps=240,
        )  # fmt: skip
    return Training(
        tasks.digit_pixels(seed), stack, seed, width=128, depth=3, lr=0.15, batch=200,
        make_optimizer=plain_sgd, steps=200,
    )  # fmt: skip


def _per_epoch(optimizer, _):
    return torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.8)


def _warm_up(optimizer, training):
    return torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / training.warm_up)
    )


def decayed(half, seed):
    """The learning rate decays after each epoch."""
    training = perceptron(half, seed)
    training.make_schedule = _per_epoch
    training.schedule_every = training.epoch
    return training


def warmed_up(half, seed):
    """The learning rate rises in the first steps."""
    training = transformer(half, seed)
    training.make_schedule = _warm_up
    training.warm_up = 30 if half == TUNE else 60
    return training


def _stack_with_dropout(training):
    layers, inputs = [], training.task.train_x.shape[1]
    for _ in range(training.depth):
        layers += [nn.Linear(inputs, training.width), training.activation(), nn.Dropout(0.2)]
        inputs = training.width
    return nn.Sequential(*layers, nn.Linear(inputs, training.task.outputs))


def dropout(half, seed):
    training = perceptron(half, seed)
    training.make_model = _stack_with_dropout
    return training


def autocast(half, seed):
    """In bfloat16, which needs no gradient scaler."""
    training = perceptron(half, seed) if half == TUNE else transformer(half, seed)
    training.autocast = torch.bfloat16
    return training


def _in_float16(training, clips_to):
    training.autocast = torch.float16
    training.has_scaler = True
    training.clips_to = clips_to
    return training


def scaled(half, seed):
    """In float16 with a gradient scaler; the gradients are clipped after they are unscaled."""
    return _in_float16(perceptron(half, seed), 1.0 if half == TUNE else 0.5)


def scaled_convolutions(half, seed):
    return _in_float16(plain_convolutions(half, seed), 2.0 if half == TUNE else 1.0)


RECIPES = {
    recipe.__name__: recipe
    for recipe in (
        perceptron,
        small_table,
        tanh_perceptron,
        deep_perceptron,
        convolutions,
        plain_convolutions,
        regression,
        text,
        tagger,
        transformer,
        recurrent,
        autoencoder,
        long,
        slow_start,
        decayed,
        warmed_up,
        dropout,
        autocast,
        scaled,
        scaled_convolutions,
    )
}


@functools.cache
def seeds(half, count):
    """Even seeds tune, odd seeds report."""
    return tuple(range(0 if half == TUNE else 1, 2 * count, 2))
