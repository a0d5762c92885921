"""Arguments of a wrong kind: each message names the mistake and the remedy."""

import json
import subprocess
import sys

import pytest
import torch

import smdebug.pytorch as smd
import smdebug.xgboost
from conftest import Net, train
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError
from smdebug.rules import Rule
from smdebug.rules.judge import load_judge
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
        (
            lambda out: smd.Hook(out).get_collection("mine").add_module_tensors(torch.nn.ReLU),
            r"add_module_tensors takes a torch.nn.Module.*pass an object of it, ReLU\(...\)",
        ),
        (lambda out: smd.Hook.create_from_json_file({}), "the path of a JSON file, found {}"),
        (
            lambda out: smd.Hook(out, max_run_bytes="2GB"),
            "a whole number of bytes, such as 2_000_000_000, found '2GB'",
        ),
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
    record(tmp_path / "run")
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


class ReturnsNone(Rule):
    def invoke_at_step(self, step):
        self.base_trial.tensor_names(step=step)


class ReplacesInvoke(Rule):
    def invoke(self, step):
        return False


def test_a_rule_that_returns_none_is_logged_once(tmp_path, capfd):
    record(tmp_path / "run", rules=[ReturnsNone])
    logged = capfd.readouterr().err
    text = "rule ReturnsNone returned None, expected True or False: it counts as False"
    assert logged.count(text) == 1


def test_a_rule_that_replaces_invoke_is_refused_or_logged(tmp_path, capfd):
    with pytest.raises(SMDebugValueError, match="add one that.*; do not replace invoke"):
        smd.Hook(tmp_path / "run", rules=[ReplacesInvoke])
    ReplacesInvoke(None)
    assert "ReplacesInvoke replaces invoke(step)" in capfd.readouterr().err


def test_a_folder_inside_a_run_is_refused_at_once_with_the_run(tmp_path):
    record(tmp_path / "run")
    for inside in ("events", "index/000000000"):
        with pytest.raises(SMDebugError, match="a folder inside the run '.*run'; pass that one"):
            create_trial(tmp_path / "run" / inside)


def test_a_misspelled_collection_of_a_trial_does_not_become_one(tmp_path, capfd):
    record(tmp_path / "run")
    trial = create_trial(tmp_path / "run")
    assert trial.tensor_names(collection="weigths") == []
    assert "weigths" not in trial.collections()
    trial.collection("outputz")
    assert "'weigths'" not in capfd.readouterr().err.rpartition("'outputz'; ")[2]


def test_a_parameter_without_a_default_takes_a_number_from_the_command_line(tmp_path):
    (tmp_path / "mine.py").write_text(NEEDS_PARAMETERS)
    judge = load_judge(f"{tmp_path}/mine.py:Needs", {"least": "0.5", "name": "fc"}, "run")
    assert judge._parameters == {"least": 0.5, "name": "fc"}


NEEDS_PARAMETERS = """
from smdebug.rules import Rule

class Needs(Rule):
    def __init__(self, base_trial, least, name):
        super().__init__(base_trial)

    def invoke_at_step(self, step):
        return False
"""


@pytest.mark.parametrize("rows", [[[1, 2], [3]], [[1.0], [2.0, 3.0]]])
def test_rows_of_different_lengths_are_refused(tmp_path, rows):
    with pytest.raises(SMDebugTypeError, match="'rows' cannot .*: its rows have different le"):
        smd.Hook(tmp_path / "run").save_tensor("rows", rows)


def test_a_call_of_another_framework_is_refused_with_that_of_this_one(tmp_path):
    with pytest.raises(AttributeError, match="no attribute 'register_block'.*register_module"):
        smd.Hook(tmp_path / "run").register_block(Net())
    with pytest.raises(AttributeError, match="callbacks=.hook."):
        smdebug.xgboost.Hook(tmp_path / "other").register_module(Net())
    assert not hasattr(smd.Hook, "nothing")


def test_a_field_of_a_save_config_in_place_of_a_mode_is_refused_with_the_save_config(tmp_path):
    for field in ("save_interval", "save_intervall"):
        with pytest.raises(SMDebugValueError, match=r"or SaveConfig\(save_interval=...\)"):
            smd.Hook(tmp_path / "run", save_config={field: 5})


def record(out_dir, **arguments):
    every_step = smd.SaveConfig(save_interval=1)
    with smd.Hook(out_dir, save_all=True, save_config=every_step, **arguments) as hook:
        model = Net()
        hook.register_module(model)
        train(model, 2)


def test_an_attribute_that_does_not_exist_is_refused_with_the_nearest_one(tmp_path):
    with smd.Hook(tmp_path / "run") as hook:
        for name, near in (("register_modul", "module"), ("add_to_collection", "")):
            with pytest.raises(AttributeError, match=f"'{name}'; did you mean '.*{near}.*'"):
                getattr(hook, name)
        with pytest.raises(AttributeError, match="has no attribute '_register_module'$"):
            hook._register_module  # noqa: B018
        with pytest.raises(SMDebugTypeError, match="no argument 'nme'; did you mean 'name'"):
            hook.register_module(Net(), nme="x")
        train(Net(), 1)
        hook.save_scalar("loss", 1.0)
    trial = create_trial(tmp_path / "run")
    with pytest.raises(AttributeError, match=r"'tensors'; use tensor_names\(\), and tensor\(name"):
        trial.tensors()
    with pytest.raises(AttributeError, match="did you mean 'tensor_names'"):
        trial.tensornames()
