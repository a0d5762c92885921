"""Arguments of a wrong kind: each message names the mistake and the remedy."""

import json
import subprocess
import sys

import pytest
import torch

import smdebug.pytorch as smd
from conftest import Net, train
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.rules import Rule
from smdebug.trials import create_trial


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda out: smd.Hook(Net()), "out_dir must be a path.*register a model with the hook"),
        (
            lambda out: smd.Hook(out, include_collections={"weights": True}),
            r"include_collections must be a list of names.*include_collections=\['weights'\]\?",
        ),
        (
            lambda out: smd.Hook(out, include_collections={smd.modes.TRAIN: 5}),
            "include_collections must be a list of names.*did you mean save_config=",
        ),
        (
            lambda out: smd.Hook(out).register_loss(torch.nn.CrossEntropyLoss),
            r"pass an object of it, CrossEntropyLoss\(...\)",
        ),
        (lambda out: smd.Hook.create_from_json_file({}), "the path of a JSON file, found {}"),
    ],
)
def test_a_value_of_a_wrong_kind_is_refused_with_the_right_one(tmp_path, make, text):
    with pytest.raises(SMDebugTypeError, match=text):
        make(tmp_path / "run")


def test_a_save_config_in_place_of_that_of_a_mode_is_refused_in_one_line(tmp_path):
    given = {smd.modes.EVAL: smd.SaveConfig(save_interval=7)}
    with pytest.raises(SMDebugValueError) as refused:
        smd.Hook(tmp_path / "run", save_config=given)
    text = str(refused.value)
    assert "found a SaveConfig; did you mean SaveConfigMode(save_interval=7" in text
    assert len(text) < 250


def test_a_variable_of_the_shell_in_a_path_is_logged(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RUNS", "elsewhere")
    smd.Hook("$RUNS/1").close()
    text = "'$RUNS/1': variables are not replaced; pass os.path.expandvars"
    assert text in capfd.readouterr().err
    smd.Hook("$UNKNOWN/1").close()
    assert "variables" not in capfd.readouterr().err


@pytest.mark.parametrize("save", ["save_scalar", "save_tensor"])
def test_values_that_replace_each_other_without_a_step_are_logged(tmp_path, capfd, save):
    hook = smd.Hook(tmp_path / "run")
    for number in range(3):
        getattr(hook, save)("accuracy", number)
    hook.close()
    logged = capfd.readouterr().err
    assert f"of the values of {save}('accuracy'), only the last one is saved" in logged
    assert "register_module" in logged


def test_a_value_of_each_step_is_not_logged(tmp_path, capfd):
    hook = smd.Hook(tmp_path / "run")
    model = Net()
    hook.register_module(model)
    for number in range(3):
        hook.save_scalar("accuracy", number)
        train(model, 1)
    hook.close()
    assert "only the last one" not in capfd.readouterr().err


def test_a_rule_about_the_time_between_steps_is_refused_in_a_hook(tmp_path):
    with pytest.raises(SMDebugValueError, match="use 'smdebug watch RUN --rule Stalled"):
        smd.Hook(tmp_path / "run", rules=["StalledTrainingRule"])


class WithoutStep(Rule):
    def invoke_at_step(self):
        return False


def test_a_method_of_a_rule_without_the_step_is_refused_at_once(tmp_path):
    with pytest.raises(SMDebugValueError, match=r"takes \(self\): make it 'def invoke_at_step"):
        smd.Hook(tmp_path / "run", rules=[WithoutStep])


PRINTING = """
from smdebug.rules import Rule

class Printing(Rule):
    def invoke_at_step(self, step):
        print("step", step)
        return False
"""


def test_what_a_rule_prints_is_not_in_the_json(tmp_path):
    every_step = smd.SaveConfig(save_interval=1)
    hook = smd.Hook(tmp_path / "run", save_all=True, save_config=every_step)
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    (tmp_path / "mine.py").write_text(PRINTING)
    words = ["check", tmp_path / "run", "--rule", f"{tmp_path}/mine.py:Printing", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "smdebug", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert json.loads(done.stdout)[0]["verdicts"][0]["rule"] == "Printing"
    assert "step 1" in done.stderr


def test_the_wait_for_a_run_is_logged_soon(tmp_path, capfd):
    with pytest.raises(Exception, match="no run at"):
        create_trial(tmp_path, timeout=2.5)
    assert "still waiting for a run" in capfd.readouterr().err
