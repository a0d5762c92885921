"""Tests which targets of a loss are padding that counts."""

from __future__ import annotations

import numpy as np
import pytest

from smdebug.counted_padding import counted_padding

PAD = 0


def padded(lengths, places=12, seed=0):
    """Sequences of tokens from 1 to 9 that are filled with PAD."""
    rng = np.random.default_rng(seed)
    tokens = rng.integers(1, 10, (len(lengths), places))
    for sample, length in enumerate(lengths):
        tokens[sample, length:] = PAD
    return tokens


LENGTHS = [12, 6, 9, 3]  # 18 of 48 places are padding


@pytest.mark.parametrize("is_flat", [True, False])
def test_the_share_of_padding_and_its_label_are_told(is_flat):
    tokens = padded(LENGTHS)
    labels = np.where(tokens == PAD, 7, tokens % 3)  # tags, with one for padding
    assert counted_padding([tokens], labels.ravel() if is_flat else labels, None) == (18 / 48, 7)


def test_of_the_next_tokens_those_after_the_first_padding_count():
    tokens = padded(LENGTHS)
    share, label = counted_padding([tokens], tokens[:, 1:], -100)
    # The inputs are the first 11 tokens of each sample; 0, 5, 2 and 8 of them are padding.
    assert (share, label) == (15 / 44, PAD)


def test_padding_that_the_loss_ignores_does_not_count():
    tokens = padded(LENGTHS)
    assert counted_padding([tokens], tokens, PAD) == (0, None)
    masked = np.where(tokens == PAD, -100, tokens)
    assert counted_padding([tokens], masked, -100) == (0, None)


def test_a_share_is_one_of_the_targets_that_count():
    tokens = padded(LENGTHS)
    labels = np.where(tokens == 5, -100, tokens)
    ignored = (tokens == 5).sum()
    assert ignored > 0
    assert counted_padding([tokens], labels, -100) == (18 / (48 - ignored), PAD)


def test_padding_at_the_beginning_of_samples_is_found():
    tokens = padded(LENGTHS)[:, ::-1]
    assert counted_padding([tokens], tokens, None) == (18 / 48, PAD)


def test_samples_may_be_the_second_dimension():
    tokens = padded([12, 6, 9, 3, 12])
    assert counted_padding([tokens.T], tokens.T, None) == (18 / 60, PAD)


@pytest.mark.parametrize("seed", range(20))
def test_sequences_without_padding_have_none(seed):
    rng = np.random.default_rng(seed)
    tokens = rng.integers(0, rng.integers(2, 50), (rng.integers(1, 40), rng.integers(8, 40)))
    assert counted_padding([tokens], tokens, None) == (0, None), seed


def test_a_pause_of_one_length_at_the_end_of_all_samples_is_no_padding():
    tokens = padded([8, 8, 8, 8])
    assert counted_padding([tokens], tokens, None) == (0, None)


def test_a_token_that_occurs_within_samples_is_no_padding():
    tokens = padded(LENGTHS)
    tokens[:, ::3] = PAD
    assert counted_padding([tokens], tokens, None) == (0, None)


def test_labels_that_differ_in_the_padding_are_none_of_padding():
    tokens = padded(LENGTHS)
    labels = np.arange(tokens.size).reshape(tokens.shape)
    assert counted_padding([tokens], labels, None) == (0, None)


def test_the_input_with_a_token_per_target_decides():
    tokens = padded(LENGTHS)
    assert counted_padding([np.zeros((4, 30), int), tokens], tokens, None) == (18 / 48, PAD)
    assert counted_padding([np.zeros((4, 30), int)], tokens, None) is None
    assert counted_padding([], tokens, None) is None
