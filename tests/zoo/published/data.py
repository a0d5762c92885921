"""The data of the published faults: data sets of scikit-learn, which only PyTorch's environment
has, and generated numbers and text.

Everything is a numpy array, float32 or int64, and the same in each run.
"""

import numpy as np

SENTENCES = (
    "the quick brown fox jumps over the lazy dog while the small cat sleeps near the old stove. "
    "a ship sails from the quiet harbor to the green island, and the crew sings about the sea. "
    "every morning the baker lights the oven, weighs the flour, and waits for the bread to rise. "
    "when the rain stops the children run to the river and count the boats that pass the bridge. "
)


def digits():
    """1797 images as rows of 64 standardized pixels, and their labels."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return _floats((x - x.mean()) / x.std()), y.astype(np.int64)


def digit_images():
    """The same as images of one channel, 8 by 8."""
    x, y = digits()
    return x.reshape(-1, 1, 8, 8), y


def glyphs():
    """1600 generated images of 8 by 8 pixels from 0 to 255: ten random drawings, moved by up to
    one pixel, with noise; and their labels."""
    random = np.random.default_rng(11)
    drawings = 200.0 * (random.random((10, 8, 8)) < 0.3)
    labels = random.integers(0, 10, 1600)
    moved = [np.roll(drawings[label], random.integers(-1, 2, 2), (0, 1)) for label in labels]
    images = np.stack(moved) + random.normal(20, 25, (1600, 8, 8))
    return _floats(np.clip(images, 0, 255)), labels


def moons(count=1200):
    """Two half circles, one class each, that no straight line separates."""
    random = np.random.default_rng(3)
    y = random.integers(0, 2, count)
    angle = random.uniform(0, np.pi, count)
    across = np.where(y, 1 - np.cos(angle), np.cos(angle))
    up = np.where(y, 0.5 - np.sin(angle), np.sin(angle))
    return _floats(np.stack([across, up], 1) + random.normal(0, 0.15, (count, 2))), y


def blobs(classes=3, count=900):
    """Standardized rows of eight features in clusters, one for each class."""
    random = np.random.default_rng(5)
    centers = random.uniform(-3, 3, (classes, 8))
    y = random.integers(0, classes, count)
    x = centers[y] + random.normal(0, 2.0, (count, 8))
    return _floats((x - x.mean(0)) / x.std(0)), y


def measurements():
    """442 rows of ten features of about one, and a target of mean 0 and variance 1."""
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True)
    return _floats(x / x.std(0)), _floats((y - y.mean()) / y.std())


def samples():
    """480 rows of six measurements in units of their own, from hundredths to thousands, and three
    classes."""
    x, y = blobs(classes=3, count=480)
    return x[:, :6] * _floats([0.02, 300, 1, 15, 0.5, 4]) + _floats([0.3, 900, 2, 100, 1, 9]), y


def houses(count=1000):
    """Area, rooms, age and distance, standardized, and a price in thousands."""
    random = np.random.default_rng(8)
    x = random.normal(size=(count, 4))
    price = 250 + x @ np.array([80.0, 25.0, -15.0, -30.0]) + 10 * random.normal(size=count)
    return _floats(x), _floats(price)


def letters():
    """A short text as numbers, and the size of its alphabet."""
    alphabet = sorted(set(SENTENCES))
    return np.array([alphabet.index(letter) for letter in SENTENCES * 4]), len(alphabet)


def windows(length, count=1500, seed=4):
    """Pieces of that text that begin at random places, one row each."""
    text, size = letters()
    starts = np.random.default_rng(seed).integers(0, len(text) - length, count)
    return np.stack([text[start : start + length] for start in starts]), size


def _floats(values):
    return np.asarray(values, dtype=np.float32)
