"""The reports of a hook are values: they cannot change, compare, print and travel to processes."""

import pickle

import pytest

from smdebug.hook_status import HookCost, HookStatus


def a_status(**changes):
    return HookStatus(
        state="failed", error="disk full", error_step=3, steps=7, skipped={"w": "sparse"}
    ).replace(**changes)


def test_a_new_status_is_that_of_a_hook_without_steps():
    status = HookStatus()
    assert status.state == "active" and status.last_step == -1
    assert status.error is status.error_step is status.first_kept_step is None
    assert status.steps == 0 and status.skipped == {}


def test_fields_hold_what_was_given():
    status = a_status()
    assert (status.state, status.error, status.error_step) == ("failed", "disk full", 3)
    assert status.steps == 7 and status.skipped == {"w": "sparse"}
    assert HookCost(wait_seconds=0.5, steps=2).wait_seconds == 0.5


def test_a_field_cannot_be_set():
    with pytest.raises(AttributeError):
        a_status().steps = 8
    with pytest.raises(AttributeError):
        HookCost().steps = 8


def test_equality_is_by_value():
    assert a_status() == a_status() and a_status() != a_status(steps=8)
    assert HookCost(steps=1) == HookCost(steps=1) != HookCost()
    assert HookStatus() != HookCost()


def test_replace_leaves_the_original_as_it_was():
    status = a_status()
    assert status.replace(error=None, state="closed").error is None
    assert status.error == "disk full"


@pytest.mark.parametrize("changes", [{"step": 1}, {"steps": "many"}, {"state": "busy"}])
def test_an_unknown_field_and_a_wrong_value_are_type_errors(changes):
    with pytest.raises(TypeError, match=next(iter(changes))):
        a_status(**changes)


def test_repr_lists_the_fields():
    assert repr(HookCost(steps=2)) == (
        "HookCost(step_thread_seconds=0.0, wait_seconds=0.0, writer_cpu_seconds=0.0, "
        "bytes_captured=0, bytes_written=0, steps=2, run_seconds=0.0)"
    )
    assert repr(a_status()).startswith("HookStatus(state='failed', error='disk full', error_step=3")


def test_reports_can_be_pickled():
    for report in (a_status(), HookCost(run_seconds=1.5)):
        assert pickle.loads(pickle.dumps(report)) == report
