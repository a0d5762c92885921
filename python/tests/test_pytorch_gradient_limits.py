"""Tests which limits of clipping all updates of a training have in common."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from smdebug.pytorch.gradient_limits import GradientLimits  # noqa: E402


@pytest.fixture
def limits():
    return GradientLimits()


@pytest.fixture
def optimizer():
    parameters = [torch.nn.Parameter(torch.zeros(2)) for _ in range(3)]
    return torch.optim.SGD([{"params": parameters[:1]}, {"params": parameters[1:]}], lr=0.1)


def told(limits):
    return limits.norm, limits.value


def test_limits_are_unknown_before_an_update(limits):
    limits.note_clipping(True, 3, 0.5)
    assert told(limits) == (None, None)


def test_limits_are_told_once(limits, optimizer):
    changes = []
    for _ in range(3):
        limits.note_clipping(True, 3, 0.5)
        limits.note_clipping(False, 3, 2)
        changes.append(limits.note_update(optimizer))
    assert told(limits) == (0.5, 2)
    assert changes == [True, False, False]


def test_updates_without_clipping_have_no_limits(limits, optimizer):
    assert [limits.note_update(optimizer) for _ in range(3)] == [False] * 3
    assert told(limits) == (None, None)


def change(limits):
    limits.note_clipping(True, 3, 0.25)


def twice(limits):
    limits.note_clipping(True, 3, 0.5)
    limits.note_clipping(True, 3, 0.5)


def part(limits):
    limits.note_clipping(True, 2, 0.5)


def tensor(limits):
    limits.note_clipping(True, 3, torch.tensor(0.5))


def nothing(limits):
    pass


@pytest.mark.parametrize("other", [change, twice, part, tensor, nothing])
def test_limits_are_unknown_once_an_update_has_others(limits, optimizer, other):
    limits.note_clipping(True, 3, 0.5)
    limits.note_update(optimizer)
    other(limits)
    assert limits.note_update(optimizer)
    for _ in range(2):
        limits.note_clipping(True, 3, 0.5)
        assert not limits.note_update(optimizer)
    assert told(limits) == (None, None)


@pytest.mark.parametrize("other", [twice, part, tensor])
def test_limits_that_the_first_update_does_not_have_are_unknown(limits, optimizer, other):
    other(limits)
    assert not limits.note_update(optimizer)
    limits.note_clipping(True, 3, 0.5)
    limits.note_update(optimizer)
    assert told(limits) == (None, None)


def test_a_clipping_that_starts_later_is_unknown(limits, optimizer):
    limits.note_update(optimizer)
    limits.note_clipping(True, 3, 0.5)
    limits.note_update(optimizer)
    assert told(limits) == (None, None)


def test_an_infinite_limit_measures_the_norm_and_clips_nothing(limits, optimizer):
    for _ in range(2):
        limits.note_clipping(True, 3, math.inf)
        assert not limits.note_update(optimizer)
    assert told(limits) == (None, None)


def test_given_up_limits_are_news_only_if_they_were_known(limits, optimizer):
    limits.note_clipping(False, 3, 0.5)
    limits.note_update(optimizer)
    assert limits.give_up()
    assert not limits.give_up()
    assert told(limits) == (None, None)
