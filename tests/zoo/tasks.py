"""The tasks of the zoo's trainings: data sets of scikit-learn, split by a seed.

Each function returns a `Task`. Inputs are standardized, as a careful user would do; a fault
that corrupts them does so later.
"""

import dataclasses
import functools

import numpy as np
import torch
from sklearn import datasets
from torch import nn


@dataclasses.dataclass
class Task:
    """Inputs and targets of both sets: float32 or int64 inputs, int64 labels (or float32 targets
    if `classes` is 0; `outputs` is then the number of values to predict)."""

    train_x: torch.Tensor
    train_y: torch.Tensor
    test_x: torch.Tensor
    test_y: torch.Tensor
    classes: int
    outputs: int = 0

    def __post_init__(self):
        self.outputs = self.classes or self.outputs


def digits(seed):
    """Handwritten digits, 64 numbers, ten classes."""
    x, y = _loaded("digits")
    return _split(_standardized(x), y, seed)


def digit_pixels(seed):
    """The same, between 0 and 1."""
    x, y = _loaded("digits")
    return _split(x / 16, y, seed)


def digit_images(seed):
    """Handwritten digits as images of one channel, 8 by 8, about 0."""
    x, y = _loaded("digits")
    return _split((x - x.mean()).reshape(-1, 1, 8, 8) / x.std(), y, seed)


def digit_rows(seed):
    """The same as sequences of eight rows."""
    x, y = _loaded("digits")
    return _split(_standardized(x).reshape(-1, 8, 8), y, seed)


def digit_copies(seed):
    """The same as inputs and targets of an autoencoder, between 0 and 1."""
    x, _ = _loaded("digits")
    x = x / 16
    return _split(x, x, seed, outputs=64)


def cancer(seed):
    """Breast cancer: 30 numbers, two classes."""
    x, y = _loaded("breast_cancer")
    return _split(_standardized(x), y, seed)


def wine(seed):
    """Wine: 13 numbers, three classes."""
    x, y = _loaded("wine")
    return _split(_standardized(x), y, seed)


def diabetes(seed):
    """Diabetes: ten numbers, one standardized target."""
    x, y = _loaded("diabetes")
    return _split(_standardized(x), _standardized(y[:, None]), seed, outputs=1)


def patches(seed):
    """Pieces of two photographs, three channels, 8 by 8: which photograph is it?"""
    x, y = _patches()
    mean, std = x.mean((0, 2, 3), keepdims=True), x.std((0, 2, 3), keepdims=True)
    return _split((x - mean) / std, y, seed)


def documents(seed):
    """Texts of 8 to 24 words out of 60 on one of four subjects; shorter texts are padded with 0."""
    random = np.random.default_rng(1000 + seed)
    words = random.dirichlet(np.full(59, 0.15), size=4)
    subjects = random.integers(0, 4, 1200)
    texts = np.zeros((1200, 24), np.int64)
    for text, subject in zip(texts, subjects, strict=True):
        length = random.integers(8, 25)
        text[:length] = 1 + random.choice(59, length, p=words[subject])
    return _split(texts, subjects, seed)


def tagged_documents(seed):
    """The same texts with a tag for each word, 1 to 4, which depends on it and on the word before
    it; the tag of padding is 0."""
    task = documents(seed)
    for part in ("train", "test"):
        words = getattr(task, f"{part}_x")
        before = nn.functional.pad(words, (1, 0))[:, :-1]
        setattr(task, f"{part}_y", (1 + (words + before) % 4) * (words > 0))
    task.classes = task.outputs = 5
    return task


@functools.cache
def _loaded(name):
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return x.astype(np.float32), y


@functools.cache
def _patches():
    random = np.random.default_rng(0)
    pieces, labels = [], []
    for label, image in enumerate(datasets.load_sample_images().images):
        for _ in range(700):
            top, left = (
                random.integers(0, image.shape[0] - 8),
                random.integers(0, image.shape[1] - 8),
            )
            pieces.append(image[top : top + 8, left : left + 8].transpose(2, 0, 1))
            labels.append(label)
    return np.stack(pieces).astype(np.float32) / 255, np.array(labels)


def _standardized(x):
    return (x - x.mean(0)) / np.maximum(x.std(0), 1e-3)


def _split(x, y, seed, outputs=0):
    order = np.random.default_rng(seed).permutation(len(x))
    test, train = order[: len(x) // 4], order[len(x) // 4 :]
    x = torch.from_numpy(np.ascontiguousarray(x))
    x = x if x.dtype == torch.int64 else x.float()
    y = torch.from_numpy(np.ascontiguousarray(y))
    y = y.float() if outputs else y.long()
    classes = 0 if outputs else int(y.max()) + 1
    return Task(x[train], y[train], x[test], y[test], classes, outputs)
