"""Mistakes in calls from Python: each message names the mistake and the remedy."""

import gc
import json
import os
import pickle
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
import smdebug.xgboost
from conftest import Net, read, run_script, train
from smdebug.analysis.utils import no_refresh, refresh
from smdebug.exceptions import (
    SMDebugError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)
from smdebug.rules import Rule, builtin, invoke_rule
from smdebug.rules.judge import load_judge
from smdebug.trials import create_trial
from smdebug.valid_configuration import valid_configuration


@pytest.fixture
def hook(tmp_path):
    with smd.Hook(tmp_path / "run", save_config=smd.SaveConfig(save_interval=1)) as hook:
        yield hook


def record(out_dir, **arguments):
    """Records two steps and returns the verdicts."""
    every_step = smd.SaveConfig(save_interval=1)
    hook = smd.Hook(out_dir, save_all=True, save_config=every_step, **arguments)
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    return hook.verdicts()


@pytest.mark.parametrize(
    "hook_class, given, hint",
    [
        (smd.Hook, "outdir", "did you mean 'out_dir'?"),
        (smd.Hook, "step_one", "did you mean 'step_on'"),
        (smd.Hook, "qqq", "it takes out_dir, export_tensorboard"),
        (smdebug.xgboost.Hook, "save_al", "did you mean 'save_all'"),
    ],
)
def test_an_unknown_argument_of_a_hook_is_refused_with_the_nearest_name(hook_class, given, hint):
    with pytest.raises(SMDebugTypeError) as refused:
        hook_class(**{given: "x"})
    assert str(refused.value).startswith(f"Hook has no argument '{given}'; {hint}")


@pytest.mark.parametrize(
    "take", [lambda path: builtin("vanishing_gradient", path), Rule, no_refresh, refresh]
)
def test_the_path_of_a_run_in_place_of_a_trial_is_refused(tmp_path, take):
    def use(path):
        taken = take(path)
        if hasattr(taken, "__enter__"):
            with taken:
                pass

    for path in ("runs/amp", tmp_path):
        with pytest.raises(SMDebugTypeError, match=r"takes a trial.*use create_trial\('"):
            use(path)
    with pytest.raises(SMDebugTypeError, match="other_trials of rule Rule takes a trial"):
        Rule(None, other_trials="runs/amp")


def test_the_name_of_a_rule_in_place_of_a_rule_is_refused():
    with pytest.raises(SMDebugTypeError, match="found 'x'; make one with builtin"):
        invoke_rule("x")


def test_a_large_wrong_object_is_shown_as_its_type_on_one_line(hook):
    optimizer = torch.optim.SGD(Net().parameters(), 0.1)
    calls = [
        lambda: hook.register_loss(Net()),
        lambda: hook.add_collection(optimizer),
        lambda: hook.record_tensor_value("loss", Net()),
        lambda: hook.save_tensor("loss", Net()),
        lambda: hook.save_scalar("loss", Net()),
        lambda: hook.get_collection("a").add_module_tensors(optimizer),
    ]
    for call in calls:
        with pytest.raises(SMDebugTypeError, match=r"found an object of type \S+$") as refused:
            call()
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "given, remedy",
    [
        (lambda: torch.optim.SGD(Net().parameters(), 0.1), "SGD: register the model; its optim"),
        (lambda: torch.nn.Linear, "'torch.nn.modules.linear.Linear'>: register an object of it"),
        (lambda: Net().parameters(), ": register the model itself"),
        (lambda: "model", "found 'model': register the model itself"),
    ],
)
def test_what_is_no_module_is_refused_with_what_to_register(hook, given, remedy):
    with pytest.raises(SMDebugTypeError) as refused:
        hook.register_module(given())
    assert remedy in str(refused.value) and "\n" not in str(refused.value)


def test_a_registered_model_that_is_never_called_is_named(tmp_path, capfd):
    hook = smd.Hook(tmp_path / "run")
    hook.register_module(Net())
    train(Net(), 1)
    hook.close()
    logged = capfd.readouterr().err
    assert "no registered model ('Net') was called: register the model that you train" in logged
    assert "call hook.register_module(model)" not in logged


def test_the_advice_on_a_missing_registration_is_given_once(tmp_path, capfd):
    hook = smd.Hook(tmp_path / "run")
    train(Net(), 1)
    hook.close()
    said = capfd.readouterr().err
    assert said.count("call hook.register_module(model)") == 1
    assert said.count("no step was recorded, see the warning above") == 1


def test_an_error_of_smdebug_before_the_first_step_is_told_once(tmp_path, capfd):
    with pytest.raises(SMDebugValueError), smd.Hook(tmp_path / "run") as hook:
        hook.set_mode("TRAIN")
    assert "no step was recorded" not in capfd.readouterr().err


def test_a_schedule_that_ends_before_it_begins_is_told_once(tmp_path, capfd):
    hook = smd.Hook(tmp_path / "run", save_config=smd.SaveConfig(start_step=20, end_step=10))
    model = Net()
    hook.register_module(model)
    train(model, 1)
    hook.close()
    assert capfd.readouterr().err.count("warning") == 1


def test_a_configuration_that_the_environment_names_and_that_is_missing_is_a_warning(
    monkeypatch, capfd
):
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", "missing.json")
    assert smd.get_hook(create_if_not_exists=True) is None
    assert "warning: no hook was created: " in capfd.readouterr().err


def test_a_second_interrupt_during_the_end_of_a_script_shows_no_traceback(tmp_path):
    script = """
        import sys
        import smdebug.pytorch as smd

        def interrupted():
            del hook.close
            raise KeyboardInterrupt

        hook = smd.Hook(sys.argv[1])
        hook.close = interrupted
    """
    ended = run_script(tmp_path, script, arguments=[tmp_path / "run"])
    assert "Traceback" not in ended.stderr and "KeyboardInterrupt" not in ended.stderr


def test_a_closed_hook_without_a_step_is_closed_and_gives_the_reason(hook):
    hook.close()
    status = hook.status()
    assert status.state == "closed"
    assert "no step was recorded" in status.reason and "register_module" in status.reason


@pytest.mark.parametrize(
    "use",
    [
        lambda hook: hook.save_scalar("a", 1.0),
        lambda hook: hook.save_tensor("a", torch.ones(2)),
        lambda hook: hook.record_tensor_value("a", torch.ones(2)),
        lambda hook: hook.register_module(Net()),
        lambda hook: hook.register_loss(torch.nn.MSELoss()),
    ],
)
def test_the_use_of_a_closed_hook_is_logged_once(hook, capfd, use):
    model = Net()
    hook.register_module(model)
    train(model, 1)
    hook.close()
    assert "after close()" not in capfd.readouterr().err
    use(hook)
    hook.save_scalar("b", 2.0)
    assert capfd.readouterr().err.count("after close() has no effect") == 1
    assert hook.status().state == "closed"


@pytest.mark.parametrize(
    "name, value, remedy",
    [("mode", smd.modes.TRAIN, r"use hook\.set_mode"), ("out_dir", "other", "by the constructor")],
)
def test_an_attribute_of_a_hook_that_has_no_effect_cannot_be_set(hook, name, value, remedy):
    before = getattr(hook, name)
    with pytest.raises(AttributeError, match=remedy):
        setattr(hook, name, value)
    assert getattr(hook, name) == before


@pytest.mark.parametrize(
    "name, remedy",
    [
        ("save_confg", "use save_config"),
        ("include_regexes", "use include_regex"),
        ("save_interval", r"use save_config = SaveConfig\(save_interval=...\)"),
    ],
)
def test_a_misspelled_setting_of_a_hook_is_logged_once(hook, capfd, name, remedy):
    setattr(hook, name, smd.SaveConfig())
    hook.my_note = "mine"
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    logged = capfd.readouterr().err
    said = re.findall(f"the hook has no setting '{name}', which is ignored; {remedy}", logged)
    assert len(said) == 1 and "my_note" not in logged


def test_a_training_after_close_is_logged_once_when_the_hook_is_closed_again(tmp_path, capfd):
    hook, model = smd.Hook(tmp_path / "run"), Net()
    hook.register_module(model)
    for _ in range(3):
        train(model, 2)
        hook.close()
    logged = capfd.readouterr().err
    said = "the steps since the first close(), at step 1, were not recorded: the hook is closed"
    assert logged.count(said) == 1 and logged.count("close it after the last epoch") == 1
    assert not model._forward_pre_hooks and not model._forward_hooks


@pytest.mark.parametrize("place", ["a module", "a function"])
def test_a_training_after_the_only_close_is_logged_when_the_script_ends(tmp_path, place):
    body = f"""
hook = smd.Hook({str(tmp_path / "run")!r}, save_config=smd.SaveConfig(save_interval=1))
model = torch.nn.Linear(4, 3)
hook.register_module(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    if epoch == 1:
        hook.close()
"""
    lines = body.splitlines()
    if place == "a function":
        lines = ["def main():", *("    " + line for line in lines), "main()"]
    head = ["import torch", "import smdebug.pytorch as smd"]
    said = run_script(tmp_path, "\n".join(head + lines)).stderr
    assert said.count("the steps since the first close(), at step 1, were not recorded") == 1


def test_a_training_with_another_hook_after_close_is_not_logged(tmp_path, capfd):
    model = Net()
    for name in "ab":
        hook = smd.Hook(tmp_path / name)
        hook.register_module(model)
        train(model, 3)
        hook.close()
    del hook
    gc.collect()
    assert "were not recorded" not in capfd.readouterr().err


def test_a_second_close_after_no_training_or_that_of_another_hook_is_not_logged(tmp_path, capfd):
    model = Net()
    best = {name: value.clone() for name, value in model.state_dict().items()}
    with smd.Hook(tmp_path / "a") as first:
        first.register_module(model)
        train(model, 2)
        first.close()
        model(torch.ones(1, 4))
        model.load_state_dict(best)
    with smd.Hook(tmp_path / "b") as second:
        second.register_module(model)
        train(model, 2)
    first.close()
    assert "the hook is closed" not in capfd.readouterr().err


def test_a_closed_hook_that_is_entered_again_is_logged_once(hook, capfd):
    model = Net()
    hook.register_module(model)
    train(model, 1)
    hook.close()
    with hook:
        train(model, 1)
    assert capfd.readouterr().err.count("with hook: after close() has no effect") == 1


@pytest.mark.parametrize(
    "use",
    [
        lambda hook: hook.register_module(Net()),
        lambda hook: hook.register_loss(torch.nn.MSELoss()),
        lambda hook: hook.save_tensor("a", torch.ones(2)),
        lambda hook: hook.record_tensor_value("a", torch.ones(2)),
    ],
)
def test_the_use_of_an_unpickled_hook_is_logged_once(hook, capfd, use):
    copy = pickle.loads(pickle.dumps(hook))
    copy.get_collection("weights").include("relu")
    copy.include_collections.append("weights")
    copy.save_all = True
    copy.set_mode(smd.modes.TRAIN)
    assert not copy.is_registered(Net()) and not copy.registered_modules()
    assert "unpickled" not in capfd.readouterr().err
    use(copy)
    copy.save_scalar("b", 2.0)
    copy.close()
    said = "this hook was unpickled and records nothing; create the hook in the process that trains"
    assert capfd.readouterr().err.count(said) == 1


@pytest.mark.parametrize("use", ["save_scalar", "a training", "an evaluation"])
def test_the_use_of_a_hook_in_a_forked_process_is_logged_there_once(hook, capfd, use):
    model = Net()
    hook.register_module(model)
    train(model, 1)
    child = os.fork()
    if child == 0:
        try:
            if use == "save_scalar":
                hook.save_scalar("a", 1.0)
                hook.save_scalar("b", 1.0)
            elif use == "a training":
                train(model, 2)
            else:
                model.eval()(torch.ones(2, 4))
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    train(model, 1)
    hook.close()
    logged = capfd.readouterr().err
    said = f"{use} has no effect: this process was forked from the one that made the hook and rec"
    assert logged.count(said) == (use != "an evaluation")
    assert logged.count("was forked") == (use != "an evaluation")
    assert hook.status().steps == 2


class Fires(Rule):
    def invoke_at_step(self, step):
        return True


def test_a_wrong_answer_of_an_on_fire_function_is_logged_once_and_recorded(tmp_path, capfd):
    def reacts(verdict):
        return "abort"

    verdicts = record(tmp_path / "run", rules=[Fires, "DeadRelu"], on_fire=reacts)
    assert verdicts[0]["status"] == "IssuesFound"
    logged = capfd.readouterr().err
    assert logged.count("reacts of on_fire returned 'abort', which is taken for 'record'; ") == 1


def test_an_on_fire_function_without_a_parameter_is_refused(tmp_path):
    with pytest.raises(SMDebugTypeError, match=r"takes one argument, the verdict, found .*\(\)"):
        smd.Hook(tmp_path / "run", rules=[Fires], on_fire=lambda: "stop")


def test_the_name_of_a_rule_of_the_user_is_logged_once_per_line(tmp_path, capfd):
    record(tmp_path / "run", rules=[Fires])
    logged = capfd.readouterr().err
    assert "warning: Fires: the condition of the rule is met at step 0" in logged


def test_a_recorded_value_that_no_collection_saves_is_logged_once(hook, tmp_path, capfd):
    model = Net()
    hook.register_module(model)
    for value in (2.0, 3.0):
        model(torch.ones(2, 4))
        hook.record_tensor_value("mse", torch.tensor([value]))
        hook.record_tensor_value("my_loss", torch.tensor([value]))
    hook.close()
    logged = capfd.readouterr().err
    assert logged.count("the value 'mse' is in no collection that is saved: record a loss") == 1
    assert "my_loss_output_0" in read(tmp_path / "run").tensor_names(collection="losses")
    assert "'my_loss'" not in logged


def test_a_number_in_place_of_a_tensor_is_refused_with_what_saves_it(hook):
    with pytest.raises(SMDebugTypeError, match=r"found 0\.5; save a number with hook\.save_scalar"):
        hook.record_tensor_value("loss", 0.5)


def test_a_container_of_models_that_is_never_called_is_refused(hook):
    for container in (torch.nn.ModuleList([Net()]), torch.nn.ModuleDict({"a": Net()})):
        with pytest.raises(SMDebugTypeError, match="is never called; register each model in it"):
            hook.register_module(container)


def test_a_container_of_models_with_a_forward_of_its_own_is_a_model(hook):
    class Ensemble(torch.nn.ModuleList):
        def forward(self, x):
            return sum(model(x) for model in self)

    ensemble = Ensemble([Net(), Net()])
    hook.register_module(ensemble)
    ensemble(torch.ones(2, 4)).sum().backward()
    hook.close()
    assert hook.status().steps == 1


def test_the_model_around_a_registered_one_is_refused_with_what_to_register(hook):
    model = Net()
    hook.register_module(model.fc1)
    with pytest.raises(SMDebugValueError, match="'fc1' of this Net .* only the outer model"):
        hook.register_module(model)


def test_an_answer_without_rules_is_logged_and_a_wrong_one_refused(tmp_path, capfd):
    smd.Hook(tmp_path / "a", on_fire="stop").close()
    assert "on_fire='stop' has no effect without rules" in capfd.readouterr().err
    smd.Hook(tmp_path / "b", on_fire="stop", rules=[]).close()
    smd.Hook(tmp_path / "c").close()
    assert "on_fire" not in capfd.readouterr().err
    with pytest.raises(SMDebugValueError, match="on_fire must be one of"):
        smd.Hook(tmp_path / "d", on_fire="halt")


def test_a_missing_configuration_file_is_reported_with_the_source_of_its_path(monkeypatch):
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", "missing.json")
    with pytest.raises(FileNotFoundError, match=r"'missing.json'.*\(from SMDEBUG_CONFIG_FILE_PATH"):
        smd.Hook.create_from_json_file()
    with pytest.raises(FileNotFoundError, match=r"'other.json'.*\(the path that was passed\)"):
        smd.Hook.create_from_json_file("other.json")
    monkeypatch.delenv("SMDEBUG_CONFIG_FILE_PATH")
    with pytest.raises(FileNotFoundError, match="the default; pass a path or set SMDEBUG_CONFIG"):
        smd.Hook.create_from_json_file()


@pytest.mark.parametrize(
    "source, reason",
    [
        ("class A(:\n  pass", "SyntaxError: invalid syntax ({path}:1)"),
        ("x = 1\n1 / 0", "ZeroDivisionError: division by zero ({path}:2)"),
        ("import no_such_module_at_all", "No module named 'no_such_module_at_all' ({path}:1)"),
    ],
)
def test_a_broken_file_of_a_rule_is_reported_in_one_line(tmp_path, source, reason):
    path = tmp_path / "mine.py"
    path.write_text(source)
    with pytest.raises(SMDebugValueError) as refused:
        load_judge(f"{path}:A", {}, "run")
    assert str(refused.value).endswith(reason.format(path=path))
    assert "\n" not in str(refused.value) and "Traceback" not in str(refused.value)


def test_a_rule_that_returns_text_counts_as_met_and_is_logged_once(tmp_path, capfd):
    class Text(Rule):
        def invoke_at_step(self, step):
            return "no"

    record(tmp_path / "run")
    capfd.readouterr()
    invoke_rule(Text(read(tmp_path / "run")), end_step=2)
    logged = capfd.readouterr().err
    assert logged.count("rule Text returned 'no', expected True or False") == 1


class DividesByZero(Rule):
    """Fails in a line that the message names."""

    def invoke_at_step(self, step):
        return 1 / 0


class FailsAtOnce(Rule):
    """Cannot be made."""

    def __init__(self, base_trial):
        raise RuntimeError("two\nlines")

    def invoke_at_step(self, step):
        return False


def test_a_rule_that_can_judge_no_step_is_refused_at_once(tmp_path):
    class JudgesNothing(Rule):
        pass

    with pytest.raises(SMDebugValueError, match="JudgesNothing has no method invoke_at_step"):
        smd.Hook(tmp_path / "run", rules=[JudgesNothing])


@pytest.mark.parametrize(
    "rule, sentence",
    [
        (DividesByZero, "failed at step 0: ZeroDivisionError: division by zero"),
        (FailsAtOnce, "cannot be made: RuntimeError: two lines"),
    ],
)
def test_a_failed_rule_is_reported_in_one_line_that_names_its_place(tmp_path, rule, sentence):
    [verdict] = record(tmp_path / "run", rules=[rule])
    assert verdict["status"] == "Error"
    head = f"rule {rule.__name__} {sentence} ({__file__}:"
    assert verdict["message"].startswith(head)
    line = int(verdict["message"].removeprefix(head).removesuffix(")"))
    with open(__file__) as file:
        source = file.read().splitlines()[line - 1]
    assert "1 / 0" in source or "raise RuntimeError" in source


@pytest.mark.parametrize(
    "make, given, hint",
    [
        (smd.SaveConfig, "interval", "did you mean 'save_interval'?"),
        (smd.SaveConfigMode, "start", "did you mean 'start_step'?"),
        (smd.ReductionConfig, "reduction", "did you mean 'reductions'?"),
        (lambda **given: smd.Collection("a", **given), "regex", "did you mean 'include_regex'?"),
    ],
)
def test_an_unknown_argument_of_a_configuration_is_refused_with_the_nearest_name(make, given, hint):
    with pytest.raises(SMDebugTypeError) as refused:
        make(**{given: 5})
    assert str(refused.value).endswith(f" has no argument '{given}'; {hint}")


def test_a_pattern_that_is_wrong_at_its_start_is_refused_with_this_place(tmp_path):
    with pytest.raises(SMDebugValueError, match=r"'\*x' does not compile: .* at its start"):
        smd.Hook(tmp_path / "run", include_regex="*x")


def test_an_empty_range_of_steps_is_logged_once_per_mode_and_raises_nothing(tmp_path, capfd):
    modes = {smd.modes.TRAIN: smd.SaveConfigMode(start_step=10, end_step=5)}
    hook = smd.Hook(tmp_path / "run", save_config=smd.SaveConfig(modes))
    hook.get_collection("weights").save_config = smd.SaveConfig(start_step=7, end_step=7)
    hook.get_collection("biases").save_config = smd.SaveConfig(
        start_step=7, end_step=7, save_steps=[1]
    )
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    logged = capfd.readouterr().err
    assert logged.count("save_config saves nothing in mode TRAIN: end_step 5 is not after") == 1
    assert logged.count("collection 'weights' saves nothing in mode TRAIN, EVAL, PREDICT") == 1
    assert "biases" not in logged


def test_a_folder_above_runs_is_refused_at_once_and_an_empty_one_is_waited_for(
    tmp_path, monkeypatch
):
    record(tmp_path / "runs" / "one")
    with pytest.raises(SMDebugError, match=r"holds no files of a run, but runs, such as .*/one'"):
        create_trial(tmp_path / "runs")
    assert create_trial(tmp_path / "runs" / "one").steps() == [0, 1]

    class Waits(Exception):
        pass

    def opened(path, name, first, end, timeout, drain, cache):
        assert timeout is None
        raise Waits

    (tmp_path / "new").mkdir()
    monkeypatch.setattr("smdebug.trials.trial.CoreTrial", SimpleNamespace(open=opened))
    for path in (tmp_path / "new", tmp_path / "runs" / "one"):
        with pytest.raises(Waits):
            create_trial(path)


def test_a_wrong_type_of_a_trials_argument_is_refused_with_the_name_of_the_argument(tmp_path):
    record(tmp_path / "run")
    for path in (5, b"run", None):
        with pytest.raises(SMDebugTypeError, match="path"):
            create_trial(path)
    with pytest.raises(SMDebugTypeError, match=r"range_steps .* pair .* found '1:5'"):
        create_trial(tmp_path / "run", range_steps="1:5")


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda trial, path: create_trial(path, range_step=(0, 1)), "create_trial.*'range_steps'"),
        (lambda trial, path: trial.tensor_names(regexp="w"), "tensor_names.*did you mean 'regex'"),
        (lambda trial, path: trial.steps(modes=None), "steps.*did you mean 'mode'"),
        (lambda trial, path: trial.tensor("Net_fc1.weight").value(step=0), "value.*'step_num'"),
        (
            lambda trial, path: trial.tensor("Net_fc1.weight").reduction_value(
                0, "mean", absolute=True
            ),
            "reduction_value.*it takes step_num, reduction_name, mode, worker, abs",
        ),
        (lambda trial, path: invoke_rule(None, first=3), "invoke_rule.*it takes rule_obj"),
    ],
)
def test_an_unknown_argument_of_the_reading_is_refused_with_those_to_use(tmp_path, call, text):
    record(tmp_path / "run")
    with pytest.raises(SMDebugTypeError, match=text):
        call(read(tmp_path / "run"), tmp_path / "run")


@pytest.mark.parametrize(
    "given",
    [{"save_interval": 2.5}, {"start_step": 1.5}, {"end_step": 0.1}, {"save_steps": [3, -1]}],
)
def test_steps_that_do_not_exist_are_refused_by_a_save_config(given):
    [(name, value)] = given.items()
    for make in (smd.SaveConfig, smd.SaveConfigMode):
        with pytest.raises(
            SMDebugValueError, match=rf"^{name} must be .* found {re.escape(str(value))}"
        ):
            make(**given)
    with pytest.raises(SMDebugValueError, match=f"^{name} must be"):
        setattr(smd.SaveConfig(), name, value)


def test_whole_numbers_of_any_type_are_taken_by_a_save_config():
    for two in (2, 2.0, "2", np.int64(2), np.float32(2), torch.tensor(2)):
        assert smd.SaveConfig(save_interval=two).save_interval == 2
    assert smd.SaveConfig(start_step=2**53 + 1).start_step == 2**53 + 1


def test_a_misspelled_collection_of_a_trial_is_logged_with_the_nearest_names(tmp_path, capfd):
    record(tmp_path / "run")
    assert not read(tmp_path / "run").collection("weigths").has_members()
    logged = capfd.readouterr().err
    assert "no collection 'weigths'; the nearest names are 'weights'" in logged


def test_a_range_of_steps_that_ends_before_it_starts_is_refused_by_invoke_rule(tmp_path):
    record(tmp_path / "run")
    rule = builtin("VanishingGradient", read(tmp_path / "run"), threshold=0)
    with pytest.raises(SMDebugValueError, match="start_step=10, end_step=5"):
        invoke_rule(rule, start_step=10, end_step=5)
    assert invoke_rule(rule, start_step=1, end_step=1) is None


def test_a_wrong_mode_is_refused_with_the_values_to_use(hook, tmp_path):
    record(tmp_path / "other")
    trial = read(tmp_path / "other")
    calls = [
        lambda mode: hook.set_mode(mode),
        lambda mode: trial.steps(mode=mode),
        lambda mode: smd.SaveConfig().get_save_config(mode),
    ]
    for call in calls:
        with pytest.raises(SMDebugValueError, match=r"modes\.TRAIN, modes\.EVAL.*found 'train'"):
            call("train")


def test_the_swapped_arguments_of_builtin_are_refused(tmp_path):
    record(tmp_path / "run")
    trial = read(tmp_path / "run")
    with pytest.raises(SMDebugTypeError, match=r"swapped.*use builtin\('DeadRelu', trial\)"):
        builtin(trial, "DeadRelu")
    with pytest.raises(SMDebugTypeError, match=r"takes the name of a rule first, found LocalTrial"):
        builtin(trial)


class WithLimit(Rule):
    """Needs a limit."""

    def __init__(self, base_trial, limit, patience=3):
        super().__init__(base_trial)


class WithoutSuper(Rule):
    """Does not call the constructor of its base class."""

    def __init__(self, base_trial):
        self.limit = 1

    def invoke_at_step(self, step):
        return False


@pytest.mark.parametrize(
    "parameters, text",
    [
        ({"limt": "5"}, "rule WithLimit has no parameter 'limt'; it takes limit, patience"),
        ({}, "rule WithLimit needs a value for its parameter 'limit': pass --set limit=..."),
    ],
)
def test_a_wrong_parameter_of_a_rule_is_refused_with_the_way_to_pass_it(parameters, text):
    with pytest.raises(SMDebugValueError) as refused:
        load_judge(f"{__file__}:WithLimit", parameters, "run")
    assert str(refused.value).startswith(text)


def test_a_rule_without_the_call_of_its_base_class_is_reported_with_that_call(tmp_path):
    [verdict] = record(tmp_path / "run", rules=[WithoutSuper])
    text = r"WithoutSuper.__init__ does not call super\(\).__init__\(base_trial\) \(.*\.py:\d+\)"
    assert re.search(text, verdict["message"])
    with pytest.raises(SMDebugRuntimeError, match=text):
        invoke_rule(WithoutSuper(read(tmp_path / "run")), end_step=1)


def test_an_edit_of_the_configuration_logs_the_location_and_a_wrong_pattern_once(tmp_path, capfd):
    hook = smd.Hook(
        tmp_path / "run", include_regex="nosuch", save_config=smd.SaveConfig(save_interval=1)
    )
    model = Net()
    hook.register_module(model)
    train(model, 1)
    hook.get_collection("weights").include("another")
    train(model, 2)
    hook.close()
    logged = capfd.readouterr().err
    assert logged.count("recording to") == 1
    assert logged.count("'nosuch' matched no tensor") == 1


@pytest.mark.parametrize("name", ["file", "file/run"])
def test_a_folder_that_is_a_file_is_reported_once_and_the_training_goes_on(tmp_path, capfd, name):
    (tmp_path / "file").write_text("")
    out_dir = tmp_path / name
    hook = smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1))
    text = f"'{tmp_path}/file' is a file, not a folder; choose another folder"
    assert hook.status().error == f"out_dir '{out_dir}' cannot be written: {text}"
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    lines = capfd.readouterr().err.splitlines()
    # An earlier test of this process may have compiled a model, which is information.
    logged = [line for line in lines if "smdebug" in line and ": info:" not in line]
    assert logged == [
        f"smdebug: error: nothing will be recorded: out_dir '{out_dir}' cannot be written: {text}"
    ]
    assert hook.status().state == "failed"


def test_a_location_that_is_no_folder_is_refused_with_the_name_of_the_argument():
    with pytest.raises(NotImplementedError, match=r"^out_dir: cannot open 's3://bucket/run': "):
        smd.Hook("s3://bucket/run")


def test_a_folder_in_which_nobody_can_create_a_file_is_reported_when_the_hook_is_made(capfd):
    hook = smd.Hook("/proc/run")
    assert "no file can be created in '/proc'" in hook.status().error
    hook.close()
    assert "nothing will be recorded" in capfd.readouterr().err


def configured(folder, monkeypatch, **parameters):
    """A hook of the configuration file that the environment names."""
    path = folder / "config.json"
    path.write_text(json.dumps(parameters))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(path))
    return smd.get_hook(create_if_not_exists=True)


def test_a_folder_that_is_a_file_in_a_json_configuration_is_reported(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    smd.del_hook()
    hook = configured(tmp_path, monkeypatch, LocalPath=str(tmp_path / "file"))
    assert hook.status().error.startswith(f"out_dir '{tmp_path}/file' cannot be written: ")
    hook.close()


@pytest.mark.parametrize("place", ["argument", "json", "environment"])
def test_a_tensorboard_folder_that_is_a_file_leaves_the_run_as_it_is(
    tmp_path, monkeypatch, capfd, place
):
    (tmp_path / "file").write_text("")
    folder, run = str(tmp_path / "file" / "tb"), str(tmp_path / "run")
    parameters = {"save_interval": 1, "save_all": True}
    smd.del_hook()
    if place == "argument":
        every_step = smd.SaveConfig(save_interval=1)
        hook = smd.Hook(run, save_all=True, save_config=every_step, tensorboard_dir=folder)
    elif place == "json":
        parameters["tensorboard_dir"] = folder
        hook = configured(tmp_path, monkeypatch, LocalPath=run, HookParameters=parameters)
    else:
        (tmp_path / "tb.json").write_text(json.dumps({"LocalPath": folder}))
        monkeypatch.setenv("TENSORBOARD_CONFIG_FILE_PATH", str(tmp_path / "tb.json"))
        monkeypatch.setenv("TRAINING_JOB_NAME", "job")
        hook = configured(tmp_path, monkeypatch, LocalPath=run, HookParameters=parameters)
    assert hook.status().tensorboard_error.startswith(
        f"tensorboard_dir '{folder}' cannot be written: '{tmp_path}/file' is a file, not a folder"
    )
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    assert hook.status().error is None and hook.status().steps_saved == 2
    assert capfd.readouterr().err.count("cannot be written") == 1


def test_an_empty_collection_of_ones_own_is_reported_with_what_to_do(tmp_path, capfd):
    hook = smd.Hook(tmp_path / "run", save_all=True)
    hook.get_collection("mine")
    model = Net()
    hook.register_module(model)
    train(model, 1)
    hook.close()
    assert (
        "nothing belongs to collection 'mine': it has neither patterns nor tensor names; fill it "
        "with hook.get_collection('mine').include(pattern) or add_module_tensors(module), or do "
        "not create it\n"
    ) in capfd.readouterr().err


def test_a_misspelled_collection_of_a_rule_is_told_once(tmp_path, capfd):
    every_step = smd.SaveConfig(save_interval=1)
    rules = [("AllZero", {"collection_names": "biasse"}), ("AllZero", {"tensor_regex": "nosuch"})]
    hook = smd.Hook(
        tmp_path / "run", rules=rules, include_collections=["weights"], save_config=every_step
    )
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    lines = capfd.readouterr().err.splitlines()
    (told,) = [line for line in lines if "biasse" in line]
    assert told.endswith("did you mean 'biases'?")
    assert [line for line in lines if "rule AllZero judged nothing" in line]  # the other one


def test_more_collections_than_possible_are_told_once_and_the_first_are_saved(tmp_path, capfd):
    hook = smd.Hook(
        tmp_path / "run",
        save_config=smd.SaveConfig(save_interval=1),
        include_collections=["c0", "c1", "c399"],
    )
    for number in range(400):
        hook.get_collection(f"c{number}").include(f"fc{number}.weight")
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    told = [line for line in capfd.readouterr().err.splitlines() if "at most" in line]
    assert len(told) == 1 and "are ignored: " in told[0]
    assert "Net_fc1.weight" in read(tmp_path / "run").tensor_names()


@pytest.mark.parametrize(
    ("pattern", "text"), [("(", "pattern '(' does not compile"), (5, "must hold text, found 5")]
)
def test_one_pattern_with_a_mistake_leaves_the_other_edits_as_they_are(
    tmp_path, capfd, pattern, text
):
    hook = smd.Hook(tmp_path / "run", save_config=smd.SaveConfig(save_interval=1))
    model = Net()
    hook.register_module(model)
    hook.include_collections.append("biases")
    hook.include_regex.append("fc1.weight")
    hook.include_regex.append(pattern)
    hook.get_collection("mine").include("fc2.weight")
    hook.include_collections.append("mine")
    train(model, 2)
    hook.close()
    names = read(tmp_path / "run").tensor_names()
    assert {"Net_fc1.weight", "Net_fc1.bias", "Net_fc2.weight"} <= set(names)
    logged = capfd.readouterr().err
    assert logged.count("a pattern is ignored: include_regex") == 1
    assert text in logged


def test_a_collection_that_is_filled_but_not_included_is_logged_at_the_end(tmp_path, capfd):
    hook = smd.Hook(tmp_path / "run", include_collections=["weights", "saved"])
    hook.get_collection("saved").include("fc1")
    hook.get_collection("forgotten").include("fc2")
    hook.get_collection("biases")  # only looked at
    model = Net()
    hook.register_module(model)
    train(model, 1)
    hook.close()
    logged = [line for line in capfd.readouterr().err.splitlines() if "is not saved" in line]
    assert logged == [
        "smdebug: warning: collection 'forgotten' selects tensors, but is not saved: add it to "
        "include_collections"
    ]


class CountingRevision:
    """A ConfigRevision that counts the objects that it was given."""

    def __init__(self, revision):
        self._revision = revision
        self.followed = 0

    def follow(self, objects):
        objects = list(objects)
        self.followed += len(objects)
        self._revision.follow(objects)

    def __getattr__(self, name):
        return getattr(self._revision, name)


def test_collections_are_followed_once_however_many_a_script_adds(tmp_path):
    hook = smd.Hook(tmp_path / "run", save_config=smd.SaveConfig(save_interval=1))
    hook._revision = revision = CountingRevision(hook._revision)
    for number in range(200):
        hook.add_collection(smd.Collection(f"c{number}", include_regex=[f"x{number}"]))
    model = Net()
    hook.register_module(model)
    train(model, 3)
    assert 200 <= revision.followed < 300
    hook.get_collection("c7").include("fc1.weight")  # an edit of one of them is still seen
    hook.include_collections.append("c7")
    train(model, 1)
    hook.close()
    assert read(tmp_path / "run").tensor("Net_fc1.weight").steps() == [3]


def test_mistakes_are_searched_in_each_collection_once():
    checked = []

    def snapshot(collections, names, patterns):
        checked.append(len(collections) + len(names) + len(patterns))
        if any(each.name == "bad" for each in collections):
            raise SMDebugValueError("it is bad")
        return list(collections), list(names), list(patterns)

    collections = [smd.Collection(f"c{number}") for number in range(1000)]
    collections.insert(500, smd.Collection("bad"))
    reported, left_out = [], set()
    patterns = [f"p{number}" for number in range(1000)]
    kept, names, kept_patterns = valid_configuration(
        snapshot,
        collections,
        [each.name for each in collections],
        patterns,
        lambda config: None,
        reported.append,
        left_out,
    )
    assert [each.name for each in kept] == names == [f"c{number}" for number in range(1000)]
    assert reported == ["a collection is ignored: collection 'bad': it is bad"]
    assert left_out == {"bad"}
    assert kept_patterns == patterns
    assert sum(checked) < 10 * 1000


def test_a_missing_loss_of_a_function_is_named_with_the_call_that_saves_it(tmp_path, capfd):
    every_step = smd.SaveConfig(save_interval=1)
    hook = smd.Hook(
        tmp_path / "run", include_collections=["losses", "weights"], save_config=every_step
    )
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    logged = capfd.readouterr().err
    assert "no loss was seen" in logged and "hook.record_tensor_value(" in logged
    assert "[Ll]oss" not in logged


def test_a_function_in_place_of_a_loss_module_is_refused_with_the_call_that_saves_it(hook):
    with pytest.raises(SMDebugTypeError, match=r"record_tensor_value\('loss', loss\)"):
        hook.register_loss(torch.nn.functional.cross_entropy)


@pytest.mark.parametrize(
    "query, named",
    [
        (lambda trial: trial.wait_for_steps(5), "a list of steps, found 5"),
        (lambda trial: trial.wait_for_steps([0], timeout="x"), "a number of seconds or None"),
        (lambda trial: trial.wait_for_steps([0], timeout=-1), "a number of seconds from 0"),
        (lambda trial: create_trial(trial.path, timeout="soon"), "found 'soon'"),
        (lambda trial: create_trial(trial.path, timeout=float("nan")), "found nan"),
    ],
)
def test_a_wrong_wait_is_refused_with_what_is_expected(tmp_path, query, named):
    record(tmp_path / "run")
    with pytest.raises((SMDebugTypeError, SMDebugValueError), match=named):
        query(read(tmp_path / "run"))


def test_a_value_of_a_mode_without_steps_names_the_modes_of_the_run(tmp_path):
    record(tmp_path / "run")
    trial = read(tmp_path / "run")
    tensor = trial.tensor(trial.tensor_names()[0])
    with pytest.raises(SMDebugError, match="has no EVAL steps, its modes are GLOBAL"):
        tensor.value(0, mode=smd.modes.EVAL)


def test_an_empty_configuration_file_is_called_empty(tmp_path):
    (tmp_path / "hook.json").write_text("")
    with pytest.raises(SMDebugValueError, match="hook.json:1:1: not JSON: it is empty"):
        smd.Hook.create_from_json_file(tmp_path / "hook.json")


def test_a_rule_that_raises_is_logged_at_once_and_no_more(tmp_path, capfd):
    every_step = smd.SaveConfig(save_interval=1)
    hook = smd.Hook(tmp_path / "run", save_config=every_step, rules=[DividesByZero], on_fire="stop")
    model = Net()
    hook.register_module(model)
    train(model, 3)
    logged = capfd.readouterr().err
    assert logged.count("rule DividesByZero failed at step 0: ZeroDivisionError") == 1
    hook.close()
    assert "DividesByZero" not in capfd.readouterr().err


def test_an_exception_before_the_first_step_is_the_reason_of_a_run_without_steps(tmp_path, capfd):
    with pytest.raises(KeyError), smd.Hook(tmp_path / "run") as hook:
        raise KeyError("data")
    logged = capfd.readouterr().err
    assert "no step was recorded: KeyError was raised before the first step" in logged
    assert "register_module" not in logged + hook.status().reason


def test_an_exception_that_ends_a_script_is_the_reason_of_a_run_without_steps(tmp_path):
    script = """
        import sys
        import smdebug.pytorch as smd
        hook = smd.Hook(sys.argv[1])
        {}["data"]
    """
    ended = run_script(tmp_path, script, arguments=[tmp_path / "run"], check=False)
    assert "no step was recorded: KeyError was raised before the first step" in ended.stderr
    assert "register_module" not in ended.stderr


def test_the_reminder_of_a_second_hook_says_that_this_hook_has_no_model(tmp_path, capfd):
    first, second = smd.Hook(tmp_path / "run"), smd.Hook(tmp_path / "run")
    model = Net()
    first.register_module(model)
    train(model, 1)
    assert "no model is registered with this hook" in capfd.readouterr().err
    first.close(), second.close()


def test_a_skipped_update_is_logged_with_its_step_and_rule_and_the_finding_once(tmp_path, capfd):
    never = ("VanishingGradient", {"threshold": 1e9})
    verdicts = record(tmp_path / "run", rules=[never], on_fire="skip_step")
    logged = capfd.readouterr().err
    assert logged.count(verdicts[0]["message"]) == 1
    assert "the update of step 1 is skipped: VanishingGradient fired" in logged


def test_a_save_interval_is_sent_to_the_save_config():
    for name in ("save_interval", "save_intervall"):
        with pytest.raises(SMDebugTypeError, match=r"'save_config=SaveConfig\(save_interval="):
            smd.Hook("run", **{name: 5})


def test_a_misspelled_collection_of_a_hook_is_logged_once_with_the_nearest_name(tmp_path, capfd):
    hook = smd.Hook(tmp_path / "run", save_config=smd.SaveConfig(save_interval=1))
    hook.get_collection("weigths").save_histogram = True
    hook.get_collection("mine"), hook.get_collection("yours")
    hook.get_collection("relu_output"), hook.get_collection("weights")
    model = Net()
    hook.register_module(model)
    train(model, 2, on_step=lambda step: hook.save_tensor("x", np.ones(2), "yours"))
    assert capfd.readouterr().err.count("'weigths': it has neither patterns nor tensor names") == 1
    hook.close()
    logged = capfd.readouterr().err
    assert logged.count("nothing belongs to collection 'mine'") == 1
    assert logged.count("nothing belongs to") == 1


LATE, NEVER = smd.SaveConfigMode(start_step=1000), smd.SaveConfigMode(end_step=0)


@pytest.mark.parametrize(
    "given, reason",
    [
        (smd.SaveConfig(start_step=1000), "3 steps, none saved: save_config starts at step 1000"),
        (smd.SaveConfig(end_step=0), None),  # told at the first step
        ({smd.modes.GLOBAL: LATE}, "3 steps, none saved: save_config starts at step 1000"),
        ({smd.modes.GLOBAL: NEVER}, None),
        (
            smd.SaveConfig(save_steps=[7], end_step=0),
            "3 steps, none saved: no step of save_config is among them",
        ),
        ({smd.modes.TRAIN: LATE}, None),
        (smd.SaveConfig(), None),
    ],
)
def test_a_run_without_a_saved_step_says_why_when_it_is_closed(tmp_path, capfd, given, reason):
    hook = smd.Hook(tmp_path / "run", save_config=given)
    model = Net()
    hook.register_module(model)
    train(model, 3)
    assert "none saved" not in capfd.readouterr().err
    hook.close()
    logged = capfd.readouterr().err
    assert reason in logged if reason else "none saved" not in logged


def test_a_switch_that_is_no_boolean_is_logged_once(monkeypatch, capfd):
    monkeypatch.setenv("USE_SMDEBUG", "flase")
    smd.get_hook(), smd.get_hook()
    assert capfd.readouterr().err.count("USE_SMDEBUG=flase is taken for true") == 1


class WantsMissing(Rule):
    """Needs a tensor that no run has."""

    def invoke_at_step(self, step):
        return self.base_trial.tensor("nosuch").value(step) > 0


def test_a_rule_that_could_judge_no_step_says_so_after_invoke_rule(tmp_path, capfd):
    record(tmp_path / "run")
    capfd.readouterr()
    invoke_rule(WantsMissing(read(tmp_path / "run")), end_step=2)
    assert capfd.readouterr().err.count("rule WantsMissing judged no step: ") == 1
    invoke_rule(Rule(read(tmp_path / "run")), end_step=0)
    assert "judged no step" not in capfd.readouterr().err


def test_a_class_and_an_object_of_a_rule_are_each_sent_to_the_other(tmp_path):
    with pytest.raises(SMDebugTypeError, match=r"the class WithLimit; use .*WithLimit\(trial\)"):
        invoke_rule(WithLimit)
    with pytest.raises(SMDebugTypeError, match="pass the class DividesByZero"):
        smd.Hook(tmp_path / "run", rules=[DividesByZero(None)])


def test_the_parameters_of_a_rule_are_asked_for_by_its_name(tmp_path):
    with pytest.raises(SMDebugTypeError, match="rule DeadRelu are a dict such as .*found 1e-06"):
        smd.Hook(tmp_path / "run", rules=[("DeadRelu", 1e-6)])


def test_the_answers_to_a_rule_are_listed_as_text(tmp_path):
    wanted = "one of 'record', 'skip_step', 'raise', 'stop' or a function, found 'Stop'"
    with pytest.raises(SMDebugValueError, match=wanted):
        smd.Hook(tmp_path / "run", rules=["DeadRelu"], on_fire="Stop")


def test_a_class_that_a_file_of_rules_lacks_is_named_with_those_that_it_has():
    with pytest.raises(
        SMDebugValueError, match="has no class 'Nope'; its rules are .*DividesByZero"
    ):
        load_judge(f"{__file__}:Nope", {}, "run")
    with pytest.raises(SMDebugValueError, match="'Net' in .* is not a class derived from"):
        load_judge(f"{__file__}:Net", {}, "run")


def test_other_trials_of_a_builtin_rule_may_be_trials(tmp_path):
    for name in ("one", "two"):
        record(tmp_path / name)
    one, two = read(tmp_path / "one"), read(tmp_path / "two")
    assert builtin("SimilarAcrossRuns", one, other_trials=two).parameters == {
        "other_trials": two.path
    }


def test_a_worker_that_is_no_name_is_refused_with_an_example(tmp_path):
    record(tmp_path / "run")
    with pytest.raises(SMDebugError, match="a worker such as 'worker_0', found 0"):
        read(tmp_path / "run").tensor("Net_fc1.weight").value(0, worker=0)


def test_a_setting_of_another_object_is_logged_with_the_way_to_set_it(tmp_path, capfd):
    every_step = smd.SaveConfig(save_interval=1)
    hook = smd.Hook(tmp_path / "run", include_collections=["weights"], save_config=every_step)
    hook.get_collection("weights").save_interval = 5
    hook.get_collection("biases").saveconfig = every_step
    hook.get_collection("biases").owner = "me"
    every_step.save_intervall = 2
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    logged = capfd.readouterr().err
    for text in (
        "collection 'weights' has no setting 'save_interval', which is ignored; "
        "use save_config = SaveConfig(save_interval=...)",
        "collection 'biases' has no setting 'saveconfig', which is ignored; use save_config",
        "save_config has no setting 'save_intervall', which is ignored; use save_interval",
    ):
        assert logged.count(text) == 1
    assert "owner" not in logged


class Typed(Rule):
    """Takes values that a command line gives as text."""

    def __init__(self, base_trial, limit=5, ratio=0.5, is_strict=False, name="a", other=None):
        super().__init__(base_trial)
        self.given = (limit, ratio, is_strict, name, other)

    def invoke_at_step(self, step):
        return False


def test_values_of_a_command_line_become_the_types_of_the_defaults():
    given = {"limit": "7", "ratio": "1e-3", "is_strict": "no", "name": "3", "other": "4"}
    parameters = load_judge(f"{__file__}:Typed", given, "run")._parameters
    assert Typed(None, **parameters).given == (7, 0.001, False, "3", "4")
    for name, text in (("limit", "x"), ("is_strict", "maybe")):
        with pytest.raises(SMDebugValueError, match=f"Typed: parameter '{name}' should be"):
            load_judge(f"{__file__}:Typed", {name: text}, "run")


def test_a_save_interval_in_a_dict_of_modes_is_answered_with_the_save_config(tmp_path):
    with pytest.raises(SMDebugValueError, match=r"or SaveConfig\(save_interval=\.\.\.\) for all"):
        smd.Hook(tmp_path / "run", save_config={"save_interval": 2})
    with pytest.raises(SMDebugValueError, match="'training' is not a mode; .* or GLOBAL$"):
        smd.Hook(tmp_path / "run", save_config={"training": {}})


def log_of(capfd, out_dir, names, *, model=None, optimizer=None, prepare=lambda hook: None):
    """The log of three steps with these collections."""
    every_step = smd.SaveConfig(save_interval=1)
    hook = smd.Hook(out_dir, include_collections=names, save_config=every_step)
    model = model or Net()
    hook.register_module(model)
    prepare(hook)
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(torch.ones(2, 4)), torch.tensor([0, 1])).backward()
        optimizer.step()
    hook.close()
    return capfd.readouterr().err


EMPTY = {
    "tanh_input": "the registered models have no module nn.Tanh, and functions such as torch.tanh",
    "buffers": "the registered models have no buffers, such as the running mean of BatchNorm",
    "optimizer_state": "the optimizer of this training, SGD, keeps no state; SGD has one with mom",
    "labels": "no loss is registered: pass the loss module to hook.register_loss(loss_fn)",
}


def test_a_built_in_collection_that_stays_empty_is_logged_with_the_reason(tmp_path, capfd):
    logged = log_of(capfd, tmp_path / "run", [*EMPTY, "relu_output", "inputs", "learning_rate"])
    for name, reason in EMPTY.items():
        assert logged.count(f"collection '{name}' should be saved, but {reason}") == 1
    assert logged.count("should be saved, but") == len(EMPTY)
    assert "include_regex" not in logged and "names that were seen" not in logged


def test_a_state_that_no_saved_step_has_is_logged_with_the_reason(tmp_path, capfd):
    model = Net()
    other = torch.optim.Adam([torch.nn.Parameter(torch.ones(1))])
    logged = log_of(
        capfd, tmp_path / "run", ["optimizer_state", "weights"], model=model, optimizer=other
    )
    assert "'optimizer_state' should be saved, but no optimizer of torch.optim has upd" in logged
    model.requires_grad_(False)
    model.fc2.requires_grad_(True)
    logged = log_of(capfd, tmp_path / "frozen", ["gradients"], model=model)
    assert "'gradients' should be" not in logged


def test_a_pattern_that_is_added_to_the_losses_is_the_only_one_that_is_logged(tmp_path, capfd):
    def prepare(hook):
        hook.get_collection("losses").include("my_loss")

    logged = log_of(capfd, tmp_path / "run", ["losses", "buffers"], prepare=prepare)
    said = "'losses' should be saved, but 'my_loss' matched no tensor of the first saved step, and"
    assert said + " no loss was seen there: pass a loss module to hook.register_loss" in logged
    assert "[Ll]oss_" not in logged


def test_a_regex_and_a_collection_of_another_type_are_refused(tmp_path):
    record(tmp_path / "run")
    trial = create_trial(tmp_path / "run")
    with pytest.raises(SMDebugTypeError, match="a regex is text or a list of texts, found 5"):
        trial.tensor_names(regex=5)
    with pytest.raises(SMDebugTypeError, match="must be a Collection or its name, found 5"):
        trial.tensor_names(collection=5)


def test_a_schedule_of_one_mode_without_a_mode_is_logged_once(tmp_path, capfd):
    every_step = smd.SaveConfigMode(save_interval=1)

    def log_with(name, mode=None, **options):
        hook = smd.Hook(tmp_path / name, **options)
        if mode is not None:
            hook.set_mode(mode)
        hook.add_collection(
            smd.Collection("mine", ["fc1"], save_config={smd.modes.EVAL: every_step})
        )
        model = Net()
        hook.register_module(model)
        train(model, 3)
        hook.close()
        return capfd.readouterr().err

    logged = log_with("a", save_config={smd.modes.TRAIN: every_step})
    said = "save_config has settings for mode TRAIN only, but no mode is set, and steps in mode "
    assert logged.count(f"{said}GLOBAL take the default, every 500th step: call hook.set_mode") == 1
    assert "of collection 'mine' has settings for mode EVAL only" in logged
    assert "no mode is set" not in log_with("b", smd.modes.TRAIN, save_config={"TRAIN": every_step})
    assert said not in log_with("c", save_config=every_step)


@pytest.mark.parametrize("save", ["save_scalar", "save_tensor"])
def test_a_value_without_a_step_makes_one_and_none_is_missed(tmp_path, capfd, save):
    hook = smd.Hook(tmp_path / "run")
    getattr(hook, save)("x", 1.0)
    hook.close()
    assert read(tmp_path / "run").steps() == [0]
    assert "no step was recorded" not in capfd.readouterr().err


CONFIG = smd.SaveConfig(save_interval=2)


@pytest.mark.parametrize(
    "arguments, text",
    [
        ([["weights"]], "export_tensorboard must be True or False, found ['weights']; did you mean "
         "include_collections=['weights'], or include_regex for patterns?"),
        ([CONFIG], "export_tensorboard takes no SaveConfig; did you mean save_config=SaveConfig("),
        ([False, CONFIG], "tensorboard_dir takes no SaveConfig; did you mean save_config=SaveCon"),
        ([Net()], "export_tensorboard must be True or False, found an object of type "),
        ({"save_config": 10}, "did you mean save_config=SaveConfig(save_interval=10)?"),
        ({"reduction_config": ["mean"]}, "reduction_config=ReductionConfig(reductions=['mean'])?"),
        ({"include_collections": True}, "found True; did you mean save_all=True?"),
        ({"include_collections": [smd.Collection("a")]}, "call hook.add_collection with it, and"),
        ({"include_regex": smd.Collection("a")}, "include_regex takes no Collection; call hook.a"),
        ({"save_all": {smd.modes.TRAIN: None}}, "did you mean save_config={"),
    ],
)  # fmt: skip
def test_what_is_meant_for_another_argument_is_refused_with_its_name(tmp_path, arguments, text):
    given = ([], arguments) if isinstance(arguments, dict) else (arguments, {})
    with pytest.raises(SMDebugTypeError) as refused:
        smd.Hook(tmp_path / "run", *given[0], **given[1])
    assert text in str(refused.value)


def test_the_hook_takes_no_configuration_in_place_of_its_folder():
    with pytest.raises(SMDebugTypeError, match="out_dir takes no SaveConfig; did you mean save_co"):
        smd.Hook(CONFIG)


def test_text_that_counts_as_true_is_logged_with_what_it_may_mean(tmp_path, capfd):
    smd.Hook(tmp_path / "a", "weights", save_all="yes").close()
    said = "export_tensorboard='weights' counts as True; did you mean include_collections=['weigh"
    logged = capfd.readouterr().err
    assert said in logged and "save_all" not in logged
    smd.Hook(tmp_path / "b", "runs/tb").close()
    assert "did you mean tensorboard_dir='runs/tb'?" in capfd.readouterr().err


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: smd.SaveConfig(10), "found 10; did you mean SaveConfig(save_interval=10)?"),
        (lambda: smd.SaveConfig({smd.modes.TRAIN: 5}), "mean SaveConfigMode(save_interval=5)?"),
        (lambda: smd.SaveConfig(smd.SaveConfigMode()), "use SaveConfig.from_save_config_mode(...)"),
        (lambda: smd.ReductionConfig(["abs_mean"]), "did you mean abs_reductions=['mean']?"),
        (lambda: smd.ReductionConfig(["min", "l2"]), "did you mean norms=['l2']?"),
        (lambda: smd.ReductionConfig(norms=["abs_l1_norm"]), "did you mean abs_norms=['l1']?"),
        (lambda: smd.ReductionConfig(norms=["max"]), "did you mean reductions=['max']?"),
        (lambda: smd.ReductionConfig(["avg"]), "is not a reduction; use min, max, median, mean,"),
        (lambda: smd.Collection("a", [re.compile("relu", re.I)]), "pattern: '(?i)relu'"),
        (lambda: smd.Collection("a").include(re.compile("fc")), "compiled pattern: 'fc'"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_right_one(make, text):
    with pytest.raises(SMDebugError) as refused:
        make()
    assert text in str(refused.value)


def test_a_query_of_a_trial_that_lacks_a_keyword_is_refused_with_it(tmp_path):
    record(tmp_path / "run")
    trial = create_trial(tmp_path / "run")
    assert trial.tensor_names(True) == trial.tensor_names(False) == trial.tensor_names()
    for given, meant in {
        "relu": "regex='relu'",
        "weights": "collection='weights'",
        3: "step=3",
        smd.modes.TRAIN: "mode=modes.TRAIN",
        ("fc1", "fc2"): "regex=('fc1', 'fc2')",
    }.items():
        with pytest.raises(SMDebugTypeError, match=re.escape(f"tensor_names({meant})?")):
            trial.tensor_names(given)
    with pytest.raises(SMDebugTypeError, match="pass the text of a compiled pattern: 'relu'"):
        trial.tensor_names(regex=re.compile("relu"))


def test_an_argument_that_a_query_needs_is_named_with_its_values(tmp_path):
    record(tmp_path / "run")
    trial = create_trial(tmp_path / "run")
    tensor = trial.tensor("relu_output_0")
    text = r"value needs the argument 'step_num', one of those that steps\(\) returns; values\(\)"
    with pytest.raises(SMDebugTypeError, match=text):
        tensor.value()
    with pytest.raises(SMDebugTypeError, match="reduction_value needs the argument 'reduction_na"):
        tensor.reduction_value(0)
    with pytest.raises(SMDebugTypeError, match="tensor needs the argument 'tname', one of those"):
        trial.tensor()
    assert tensor.value(step_num=0).shape == (6, 8)


@pytest.mark.parametrize(
    "returned, text",
    [
        (lambda: torch.ones(2), "returned an object of type torch.Tensor and shape (2,), expected"),
        (lambda: np.ones(2), "returned array([1., 1.]), expected True or False (The truth value"),
        (lambda: np.ones(2).any, "expected True or False (call it)"),
        (lambda: torch.ones(2, device="meta"), "torch.Tensor and shape (2,), expected True or F"),
    ],
)
def test_what_a_rule_returns_and_has_no_truth_is_named(tmp_path, returned, text):
    class Mine(Rule):
        def invoke_at_step(self, step):
            return returned()

    record(tmp_path / "run")
    with pytest.raises(SMDebugTypeError) as refused:
        invoke_rule(Mine(create_trial(tmp_path / "run")))
    assert "Mine.invoke_at_step " in str(refused.value) and text in str(refused.value)
    assert "return bool(array.any())" in str(refused.value)


class Waits(Rule):
    async def invoke_at_step(self, step):
        return True


class Yields(Rule):
    def invoke_at_step(self, step):
        yield True


class RequiresLater(Rule):
    async def set_required_tensors(self, step):
        self.req_tensors.add("a", [step])

    def invoke_at_step(self, step):
        return False


@pytest.mark.parametrize(
    "rule, text",
    [
        (Waits, "Waits.invoke_at_step is declared with 'async def', so a call of it runs nothing"),
        (Yields, "Yields.invoke_at_step has a 'yield', so a call of it runs nothing: make it a"),
        (RequiresLater, "RequiresLater.set_required_tensors is declared with 'async def'"),
    ],
)
def test_a_method_of_a_rule_that_runs_nothing_is_refused_at_once(tmp_path, rule, text):
    with pytest.raises(SMDebugValueError, match=re.escape(text)):
        smd.Hook(tmp_path / "run", rules=[rule])
    record(tmp_path / "other")
    with pytest.raises(SMDebugValueError, match=re.escape(text)):
        rule(create_trial(tmp_path / "other"))
