"""By how many places targets are shifted against the tokens of a model's input."""

import numpy as np
import pytest

from smdebug.token_shift import NO_SHIFT, token_shift

IGNORED = -100


def text(samples=6, places=26, seed=3):
    return np.random.default_rng(seed).integers(0, 30, (samples, places))


@pytest.mark.parametrize("shift", [0, 1, 2])
@pytest.mark.parametrize("is_flat", [False, True])
def test_a_shift_is_found_in_targets_of_any_shape(shift, is_flat):
    tokens, targets = text()[:, :20], text()[:, shift : 20 + shift]
    assert token_shift([tokens], targets.reshape(-1) if is_flat else targets, None) == shift


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_places_may_come_first(shift):
    whole = text().T
    tokens, targets = whole[:20], whole[shift : 20 + shift]
    assert token_shift([tokens], targets.reshape(-1), None) == shift


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_one_sequence_may_have_no_dimension_of_samples(shift):
    stream = text(1, 60)[0]
    assert token_shift([stream[:50]], stream[shift : 50 + shift], None) == shift


def test_the_targets_may_lack_the_last_place():
    tokens = text()
    assert token_shift([tokens], tokens[:, 1:].reshape(-1), IGNORED) == 1
    assert token_shift([tokens[:, :-2]], tokens[:, 2:-1].reshape(-1), IGNORED) == 2
    assert token_shift([tokens], tokens[:, 2:].reshape(-1), IGNORED) == NO_SHIFT


def test_ignored_targets_do_not_count():
    tokens = text()
    targets = np.full_like(tokens, IGNORED)
    targets[:, 10:-1] = tokens[:, 11:]
    assert token_shift([tokens], targets, IGNORED) == 1
    assert token_shift([tokens], targets, None) == NO_SHIFT


def test_masked_tokens_are_not_shifted():
    targets = text(16, 64)
    is_masked = np.random.default_rng(4).random(targets.shape) < 0.15
    tokens = np.where(is_masked, 99, targets)
    assert token_shift([tokens], targets, IGNORED) == NO_SHIFT
    assert token_shift([tokens], np.where(is_masked, targets, IGNORED), IGNORED) == NO_SHIFT


def test_too_few_places_are_no_proof():
    tokens = text(1, 26)
    assert token_shift([tokens], tokens, None) == NO_SHIFT
    assert token_shift([text(7, 7)], text(7, 7), None) == NO_SHIFT


def test_labels_of_samples_and_of_other_sequences_have_no_shift():
    assert token_shift([text()], np.arange(6), None) == NO_SHIFT
    assert token_shift([text()], text(seed=8), None) == NO_SHIFT
    assert token_shift([np.ones((6, 26, 2))], text(), None) == NO_SHIFT


def test_without_tokens_the_shift_is_unknown():
    assert token_shift([], text(), None) is None


def test_constant_tokens_are_those_of_a_model_of_a_language():
    assert token_shift([np.ones((6, 26), int)], np.ones((6, 26), int), None) == 1


def test_the_input_of_a_decoder_decides():
    tokens = text()
    assert token_shift([tokens[:, :-1], text(seed=9)], tokens[:, 1:], None) == 1
    assert token_shift([tokens[:, 1:], tokens[:, :-1]], tokens[:, 1:], None) == 1


def test_a_further_input_may_only_show_that_the_targets_are_the_next_tokens():
    tokens = text()
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    assert token_shift([inputs], targets, None, [targets]) == 1
    assert token_shift([text(6, 25, seed=9)], targets, None, [targets]) == NO_SHIFT
    assert token_shift([targets], targets, None, [inputs]) == 1
