"""Every public call takes the arguments of the original, by position and by name.

The hooks of MXNet and TensorFlow are compared in their environments: tests/mxnet/test_mxnet_api.py,
tests/tensorflow/test_import_names.py.
"""

import importlib.util

import pytest
import signatures

ELSEWHERE = ("smdebug.mxnet.", "smdebug.tensorflow.")


@pytest.mark.parametrize("call", [c for c in signatures.CALLS if not c.startswith(ELSEWHERE)])
def test_a_call_takes_the_arguments_of_the_original(call):
    if call.startswith("smdebug.xgboost.") and importlib.util.find_spec("xgboost") is None:
        pytest.skip("xgboost is not installed")
    signatures.check(call)


def test_every_difference_names_a_call_and_a_reason():
    for key, reason in signatures.DIFFERENCES.items():
        assert key.partition(" ")[0] in signatures.CALLS
        assert len(reason.split()) > 3


def test_a_difference_is_found(monkeypatch):
    calls = signatures.CALLS
    monkeypatch.setitem(calls, "smdebug.rules.invoke_rule", "rule_obj, end_step=None, x=1, **more")
    found = signatures.differences_of("smdebug.rules.invoke_rule")
    assert found.keys() == {"end_step", "x", "more"}
    monkeypatch.setitem(calls, "smdebug.SaveConfig.get_save_config", "")
    assert signatures.differences_of("smdebug.SaveConfig.get_save_config").keys() == {"mode"}
    monkeypatch.setitem(calls, "smdebug.trials.Trial.steps", "mode=ModeKeys.TRAIN")
    assert "instead of" in signatures.differences_of("smdebug.trials.Trial.steps")["mode"]
