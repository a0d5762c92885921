"""Errors of smdebug end at the border of a training."""

import pytest

from smdebug.error_isolation import CallsUntilError, isolate_errors


def test_an_error_is_reported_with_its_place_and_not_raised():
    reported = []
    with isolate_errors(lambda where, error: reported.append((where, str(error))), "after a batch"):
        raise ValueError("planted")
    assert reported == [("after a batch", "planted")]


def test_a_block_without_an_error_reports_nothing():
    reported = []
    with isolate_errors(lambda *given: reported.append(given), "after a batch"):
        pass
    assert reported == []


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, LookupError, KeyError])
def test_interrupts_and_the_classes_that_may_pass_are_raised(raised):
    reported = []
    with pytest.raises(raised):
        with isolate_errors(lambda *given: reported.append(given), "here", passing=LookupError):
            raise raised()
    assert reported == []


def test_after_the_first_error_nothing_is_called():
    reported, called = [], []
    attempt = CallsUntilError(reported.append)
    assert attempt(lambda: 3) == 3
    assert attempt(lambda: [].pop()) is None
    assert attempt(lambda: called.append(1)) is None
    assert called == [] and len(reported) == 1 and "IndexError" in reported[0]
