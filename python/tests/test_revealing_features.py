"""The features of an input that are the targets."""

import numpy as np
import pytest

from smdebug.revealing_features import revealing_features


def features(seed, samples=32, count=6):
    print("seed", seed)
    return np.random.default_rng(seed).normal(size=(samples, count)).astype("float32")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("is_column", [False, True])
def test_a_feature_that_is_the_target_is_found_whatever_its_unit(seed, is_column):
    given = features(seed)
    targets = given[:, 4] * np.float32(-37.5) + np.float32(1000)
    assert revealing_features(given, targets[:, None] if is_column else targets) == {4}


@pytest.mark.parametrize("dtype", ["int64", "float64", "bool"])
def test_class_labels_are_targets_too(dtype):
    given = features(1)
    targets = (np.arange(32) % 2).astype(dtype)
    given[:, 0] = given[:, 5] = (targets.astype(float) - 0.5) / 0.5
    assert revealing_features(given, targets) == {0, 5}


@pytest.mark.parametrize("seed", range(5))
def test_a_feature_with_a_little_noise_is_not_the_target(seed):
    given = features(seed)
    targets = given[:, 2] + 1e-3 * features(seed + 100)[:, 0]
    assert np.corrcoef(given[:, 2], targets)[0, 1] > 0.999
    assert revealing_features(given, targets) == set()


def test_constant_features_tell_nothing():
    given = features(2)
    given[:, 1] = 3.1
    assert revealing_features(given, np.arange(32) % 3) == set()


@pytest.mark.parametrize(
    ("given", "targets"),
    [
        (features(3)[:, :1], features(3)[:, 0]),  # a function of one variable
        (features(3)[:7], features(3)[:7, 0]),
        (features(3), features(3)[:, 0] * 0 + 5.3),
        (features(3), features(3)[:, :2]),
        (features(3), features(3)[:31, 0]),
        (features(3)[0], features(3)[0]),
        (features(3).reshape(8, 4, 6), np.arange(8.0)),
        (np.full((32, 4), np.nan, "float32"), np.arange(32.0)),
        (features(3), np.full(32, np.inf)),
        (np.arange(64).reshape(32, 2), np.arange(32)),  # indices
        (np.float32(3), np.float32(4)),
    ],
)
def test_other_data_tell_nothing(given, targets):
    assert revealing_features(np.asarray(given), np.asarray(targets)) is None


def test_of_many_features_the_first_samples_are_compared():
    given = features(4, samples=100, count=40_000)
    assert revealing_features(given, given[:, 7]) == {7}
