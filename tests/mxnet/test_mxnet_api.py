"""The public face for MXNet: imports, `get_hook`, JSON, and the examples."""

import importlib
import json
import pathlib

import pytest
import signatures

from conftest import Training, run_script, smd
from smdebug.exceptions import SMDebugTypeError

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/mxnet"
NAMES = (
    "Hook Collection CollectionKeys SaveConfig SaveConfigMode ReductionConfig modes create_trial "
    "get_hook set_hook del_hook"
)


@pytest.mark.parametrize("name", NAMES.split())
def test_the_package_has_every_name_of_the_import_surface(name):
    assert hasattr(importlib.import_module("smdebug.mxnet"), name)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("hook", "Hook"),
        ("collection", "Collection"),
        ("collection", "CollectionKeys"),
        ("singleton_utils", "get_hook"),
        ("singleton_utils", "set_hook"),
        ("singleton_utils", "del_hook"),
    ],
)
def test_the_submodules_have_the_names_too(module, name):
    submodule = importlib.import_module(f"smdebug.mxnet.{module}")
    assert getattr(submodule, name) is getattr(smd, name)


def configuration(tmp_path, **parameters):
    path = tmp_path / "hook.json"
    path.write_text(json.dumps({"LocalPath": str(tmp_path / "run"), **parameters}))
    return path


def test_get_hook_makes_a_hook_from_json_and_returns_it_from_then_on(tmp_path):
    path = configuration(
        tmp_path,
        CollectionConfigurations=[
            {"CollectionName": "weights", "CollectionParameters": {"save_interval": "2"}}
        ],
    )
    hook = smd.get_hook(json_config_path=str(path))
    assert isinstance(hook, smd.Hook) and smd.get_hook() is hook
    Training(hook).steps(3)
    hook.close()
    assert smd.create_trial(hook.out_dir).tensor("net_dense0_weight").steps() == [0, 2]
    smd.del_hook()
    assert smd.get_hook(json_config_path=str(tmp_path / "missing.json")) is None


def test_set_hook_takes_a_hook_of_mxnet_alone(out_dir):
    with pytest.raises(SMDebugTypeError, match="a hook of smdebug.mxnet"):
        smd.set_hook("hook")
    hook = smd.Hook(out_dir)
    smd.del_hook()
    smd.set_hook(hook)
    assert smd.get_hook() is hook


def test_the_hook_example_prints_what_it_recorded(tmp_path):
    lines = run_script(EXAMPLES / "hook.py", tmp_path / "run").stdout.splitlines()
    # A scalar is saved in every step, whatever else is due.
    assert lines[0] == f"TRAIN {list(range(60))}"
    assert lines[1] == "EVAL [0]"
    assert lines[2] == ("['l2loss0_output_0'] ['net_dense0_input_0', 'net_dense0_output_0']")
    assert float(lines[3].split(":")[1].strip(" []")) != 0


def test_the_json_example_saves_what_the_file_says(tmp_path):
    path = configuration(tmp_path, HookParameters={"save_interval": "2", "include_regex": ".*bias"})
    lines = run_script(EXAMPLES / "from_json.py", path).stdout.splitlines()
    assert lines == ["['net_bias'] [0, 2, 4]"]


@pytest.mark.parametrize("call", signatures.calls_of("smdebug.mxnet"))
def test_a_call_takes_the_arguments_of_the_original(call):
    signatures.check(call)
