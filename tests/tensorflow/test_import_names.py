"""The names of smdebug.tensorflow that existing scripts import, at every path that they use."""

import importlib

import pytest
import signatures

COMMON = (
    "Collection CollectionKeys SaveConfig SaveConfigMode ReductionConfig modes create_trial "
    "get_hook set_hook del_hook"
)
SURFACE = {
    "smdebug.tensorflow": f"KerasHook SessionHook EstimatorHook {COMMON}",
    "smdebug.tensorflow.keras": "KerasHook",
    "smdebug.tensorflow.session": "SessionHook EstimatorHook",
    "smdebug.tensorflow.collection": "Collection CollectionKeys",
    "smdebug.tensorflow.singleton_utils": "get_hook set_hook del_hook",
}


@pytest.mark.parametrize("module", SURFACE)
def test_a_module_has_the_names_that_scripts_import(module):
    found = importlib.import_module(module)
    package = importlib.import_module("smdebug.tensorflow")
    for name in SURFACE[module].split():
        assert getattr(found, name) is getattr(package, name)


def test_get_hook_makes_one_where_it_is_asked_to(tmp_path, monkeypatch):
    smd = importlib.import_module("smdebug.tensorflow")
    assert smd.get_hook() is None
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "missing.json"))
    assert smd.get_hook("keras", create_if_not_exists=True) is None
    path = tmp_path / "hook.json"
    path.write_text(f'{{"LocalPath": "{tmp_path / "run"}"}}')
    hook = smd.get_hook("keras", str(path), create_if_not_exists=True)
    assert isinstance(hook, smd.KerasHook) and smd.get_hook() is hook
    smd.del_hook()
    assert smd.get_hook() is None


@pytest.mark.parametrize("call", signatures.calls_of("smdebug.tensorflow"))
def test_a_call_takes_the_arguments_of_the_original(call):
    signatures.check(call)
