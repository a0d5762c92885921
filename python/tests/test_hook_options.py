"""The constructors of hooks: the parameters that they show, and the options that they get."""

import inspect

import pytest

import smdebug.pytorch
import smdebug.xgboost
from smdebug.exceptions import SMDebugValueError
from smdebug.hook_options import HookOptions, takes_options

ORIGINAL = {
    "out_dir": None,
    "export_tensorboard": False,
    "tensorboard_dir": None,
    "dry_run": False,
    "reduction_config": None,
    "save_config": None,
    "include_regex": None,
    "include_collections": None,
    "save_all": False,
    "include_workers": "one",
}
XGBOOST = {"hyperparameters": None, "train_data": None, "validation_data": None}


@pytest.mark.parametrize(
    "hook, added", [(smdebug.pytorch.Hook, {}), (smdebug.xgboost.Hook, XGBOOST)]
)
def test_a_hook_shows_the_parameters_of_the_original_in_their_order(hook, added):
    parameters = inspect.signature(hook).parameters.values()
    positional = {p.name: p.default for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD}
    assert list(positional.items()) == list((ORIGINAL | added).items())


def test_the_parameters_that_smdebug_added_are_keywords():
    parameters = inspect.signature(smdebug.pytorch.Hook).parameters.values()
    assert {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} == {
        *("checksum", "max_run_bytes", "keep_every", "private", "durability", "rules", "on_fire"),
        *("step_on", "gradients"),
    }


def test_a_constructor_gets_its_options_whole():
    class Recorder:
        @takes_options(HookOptions)
        def __init__(self, options):
            self.options = options

    recorder = Recorder("run", True, keep_every=3)
    assert recorder.options == HookOptions("run", export_tensorboard=True, keep_every=3)
    assert list(inspect.signature(Recorder).parameters)[0] == "out_dir"
    with pytest.raises(TypeError, match="keep_evry"):
        Recorder("run", keep_evry=3)


@pytest.mark.parametrize(
    "option", ["include_workers", "checksum", "durability", "step_on", "gradients", "on_fire"]
)
def test_an_unknown_choice_is_an_error_that_names_the_option(tmp_path, option):
    rules = {"rules": ["VanishingGradient"]} if option == "on_fire" else {}
    with pytest.raises(SMDebugValueError, match=option):
        smdebug.pytorch.Hook(tmp_path / "run", **{option: "sometimes"}, **rules)
