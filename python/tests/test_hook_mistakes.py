"""Mistakes in the use of a hook: each message names the mistake and the remedy."""

import gc
import json
import os
import pickle
import re

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
import smdebug.xgboost
from conftest import Net, read, run_script, train
from smdebug.exceptions import SMDebugError, SMDebugTypeError, SMDebugValueError
from smdebug.trials import create_trial


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


def test_a_large_wrong_object_is_shown_as_its_type_on_one_line(hook):
    optimizer = torch.optim.SGD(Net().parameters(), 0.1)
    calls = [
        lambda: hook.register_loss(Net()),
        lambda: hook.record_tensor_value("loss", Net()),
        lambda: hook.save_tensor("loss", Net()),
        lambda: hook.save_scalar("loss", Net()),
        lambda: hook.get_collection("a").add_module_tensors(optimizer),
    ]
    for call in calls:
        with pytest.raises(SMDebugTypeError, match=r"found an object of type \S+$") as refused:
            call()
        assert "\n" not in str(refused.value)
    with pytest.raises(SMDebugTypeError, match=r"of type \S+; hook\.get_collection\(name\) adds"):
        hook.add_collection(optimizer)


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


def test_a_class_that_is_no_module_is_not_said_to_have_objects_to_pass(hook):
    with pytest.raises(SMDebugTypeError, match="SGD'>: register the model; its optimizers are"):
        hook.register_module(torch.optim.SGD)
    for call in (hook.register_loss, hook.get_collection("mine").add_module_tensors):
        with pytest.raises(SMDebugTypeError, match="found <class 'torch.optim.sgd.SGD'>$"):
            call(torch.optim.SGD)


def test_what_no_model_of_torch_is_gets_no_wrong_advice(hook):
    with pytest.raises(SMDebugTypeError) as refused:
        hook.register_module(object())
    assert str(refused.value).startswith("register_module takes a torch.nn.Module, found <object")
    assert "itself" not in str(refused.value)


def test_a_part_of_a_registered_model_is_refused_with_the_name_of_the_model(hook):
    model = torch.nn.Sequential(torch.nn.Linear(1, 1))
    hook.register_module(model)
    with pytest.raises(
        SMDebugValueError, match="'0' is .* already, as a part of model 'Sequential'"
    ):
        hook.register_module(model[0])
    with pytest.raises(
        SMDebugValueError, match="'Sequential' is registered already; register each"
    ):
        hook.register_module(model)


def test_a_registered_loss_that_is_never_called_is_named(tmp_path, capfd):
    def log_of(registered, called):
        every_step = smd.SaveConfig(save_interval=1)
        hook, model = smd.Hook(tmp_path / registered[0], save_config=every_step), Net()
        losses = {name: torch.nn.MSELoss() for name in ("first", "second")}
        hook.register_module(model)
        for name in registered[1]:
            hook.register_loss(losses[name])
        for _ in range(2):
            losses[called](model(torch.ones(2, 4)), torch.ones(2, 3)).backward()
        hook.close()
        return capfd.readouterr().err

    text = "the registered MSELoss was never called in a saved step: register the object that"
    assert log_of(("a", ["first"]), "second").count(text) == 1
    assert log_of(("b", ["first", "second"]), "second").count(text) == 1
    assert text not in log_of(("c", ["second"]), "second")


def test_a_registered_model_that_is_never_called_is_named(tmp_path, capfd):
    hook = smd.Hook(tmp_path / "run")
    hook.register_module(Net())
    train(Net(), 1)
    hook.close()
    logged = capfd.readouterr().err
    assert "no registered model ('Net') was called: register the model that you train" in logged
    assert "call hook.register_module(model)" not in logged


def test_a_model_that_trains_instead_of_the_registered_one_is_told_at_its_first_update(
    tmp_path, capfd
):
    hook = smd.Hook(tmp_path / "run")
    hook.register_module(Net())
    train(Net(), 1)
    text = "an optimizer has acted, but no registered model ('Net') was called"
    assert text in capfd.readouterr().err
    train(Net(), 3)
    hook.close()
    assert text not in capfd.readouterr().err


def test_an_update_after_the_first_step_is_no_mistake_of_registration(tmp_path, capfd):
    with smd.Hook(tmp_path / "run") as hook:
        model = Net()
        hook.register_module(model)
        train(model, 2)
        train(Net(), 1)
    assert "an optimizer has acted" not in capfd.readouterr().err


def test_a_training_in_the_mode_of_an_evaluation_is_told_once(tmp_path, capfd):
    with smd.Hook(tmp_path / "run") as hook:
        model = Net()
        hook.register_module(model)
        hook.set_mode(smd.modes.TRAIN)
        train(model, 2)
        hook.set_mode(smd.modes.EVAL)
        model(torch.ones(2, 4))
        train(Net(), 1)  # not a model of the hook
        assert "in mode" not in capfd.readouterr().err
        train(model, 3)
        hook.set_mode(smd.modes.PREDICT)
        hook.set_mode(smd.modes.TRAIN)
        train(model, 1)
    logged = capfd.readouterr().err
    assert logged.count("an optimizer has updated the model in mode EVAL: call hook.set_mode") == 1
    assert logged.count("in mode") == 1


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


@pytest.mark.parametrize(
    "line, told",
    [("hook.get_colection('a')", 0), ("hook.set_mode('train')", 0), ("1 / 0", 1)],
)
def test_a_call_of_smdebug_that_ends_a_script_is_told_once(tmp_path, line, told):
    script = f"""
        import sys
        import smdebug.pytorch as smd

        hook = smd.Hook(sys.argv[1])
        {line}
    """
    ended = run_script(tmp_path, script, arguments=[tmp_path / "run"], check=False)
    assert ended.stderr.count("Traceback") == 1
    assert ended.stderr.count("no step was recorded") == told


def test_a_schedule_that_ends_before_it_begins_is_told_once(tmp_path, capfd):
    hook = smd.Hook(tmp_path / "run", save_config=smd.SaveConfig(start_step=20, end_step=10))
    model = Net()
    hook.register_module(model)
    train(model, 1)
    hook.close()
    assert capfd.readouterr().err.count("warning") == 1


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


def test_a_setting_that_is_misspelled_after_the_first_step_is_logged_at_the_end(hook, capfd):
    model, losses = Net(), hook.get_collection("losses")
    hook.register_module(model)
    train(model, 1)
    hook.save_al = True
    losses.save_interval = 1
    train(model, 1)
    assert "has no setting" not in capfd.readouterr().err
    hook.close()
    logged = capfd.readouterr().err
    assert "the hook has no setting 'save_al', which is ignored; use save_all" in logged
    assert "use save_config = SaveConfig(save_interval=1)" in logged


def test_a_misspelled_setting_is_logged_although_no_step_was_recorded(hook, capfd):
    hook.get_collection("losses").include_rege = ["loss"]
    hook.close()
    logged = capfd.readouterr().err
    assert logged.count("'losses' has no setting 'include_rege', which is ignored; use inclu") == 1


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


def test_a_range_that_begins_below_0_is_logged_once_and_saves_from_step_0_on(tmp_path, capfd):
    from_below = smd.SaveConfig(save_interval=1, start_step=-1)
    hook = smd.Hook(tmp_path / "run", save_config=from_below, include_collections=["weights"])
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    logged = capfd.readouterr().err
    text = "save_config begins at step 0 in mode TRAIN, EVAL, PREDICT, GLOBAL: start_step -1 is"
    assert logged.count(text) == 1
    assert read(tmp_path / "run").steps() == [0, 1]


def test_a_collection_needs_a_name_that_is_text():
    with pytest.raises(SMDebugTypeError, match="^Collection needs the argument 'name'$"):
        smd.Collection()
    with pytest.raises(SMDebugTypeError, match="name must be text, found None"):
        smd.Collection(None)


def test_an_unknown_argument_of_get_hook_is_refused_with_the_nearest_name():
    with pytest.raises(SMDebugTypeError, match="did you mean 'create_if_not_exists'"):
        smd.get_hook(create=True)


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


def test_an_exception_before_the_first_step_is_the_reason_of_a_run_without_steps(tmp_path, capfd):
    with pytest.raises(KeyError), smd.Hook(tmp_path / "run") as hook:
        raise KeyError("data")
    logged = capfd.readouterr().err
    assert "no step was recorded: KeyError was raised before the first step" in logged
    assert "register_module" not in logged + hook.status().reason


@pytest.mark.parametrize("last_line", ["{}['data']", "hook.close()", "raise SystemExit(1)"])
def test_a_run_names_the_exception_that_ended_its_script(tmp_path, last_line):
    script = f"""
        import sys, torch
        import smdebug.pytorch as smd
        hook = smd.Hook(sys.argv[1])
        model = torch.nn.Linear(2, 1)
        hook.register_module(model)
        model(torch.ones(1, 2))
        {last_line}
    """
    run_script(tmp_path, script, arguments=[tmp_path / "run"], check=False)
    (attempt,) = create_trial(tmp_path / "run").attempts()
    raised = "KeyError" if "data" in last_line else ""
    assert attempt.raised == raised
    progress = json.loads((tmp_path / "run/progress.json").read_text())
    assert (progress["state"], progress["raised"]) == ("ended", raised)


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


def test_a_save_interval_is_sent_to_the_save_config():
    for name in ("save_interval", "save_intervall"):
        with pytest.raises(SMDebugTypeError, match=r"'save_config=SaveConfig\(save_interval="):
            smd.Hook("run", **{name: 5})


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


def test_a_setting_of_another_object_is_logged_with_the_way_to_set_it(tmp_path, capfd):
    every_step = smd.SaveConfig(save_interval=1)
    hook = smd.Hook(tmp_path / "run", include_collections=["weights"], save_config=every_step)
    hook.get_collection("weights").save_interval = 5
    hook.get_collection("biases").saveconfig = every_step
    hook.get_collection("biases").owner = "me"
    hook.get_collection("losses").save_config = smd.SaveConfig()
    hook.get_collection("losses").save_config.end_stepp = 2
    every_step.save_intervall = 2
    model = Net()
    hook.register_module(model)
    train(model, 2)
    hook.close()
    logged = capfd.readouterr().err
    for text in (
        "collection 'weights' has no setting 'save_interval', which is ignored; "
        "use save_config = SaveConfig(save_interval=5)",
        "collection 'biases' has no setting 'saveconfig', which is ignored; use save_config",
        "save_config has no setting 'save_intervall', which is ignored; use save_interval",
        "the save_config of collection 'losses' has no setting 'end_stepp', which is ignored; use "
        "end_step",
    ):
        assert logged.count(text) == 1
    assert "owner" not in logged


def test_a_save_interval_in_a_dict_of_modes_is_answered_with_the_save_config(tmp_path):
    with pytest.raises(SMDebugValueError, match=r"or SaveConfig\(save_interval=\.\.\.\) for all"):
        smd.Hook(tmp_path / "run", save_config={"save_interval": 2})
    with pytest.raises(SMDebugValueError, match="'training' is not a mode; .* or GLOBAL$"):
        smd.Hook(tmp_path / "run", save_config={"training": {}})


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
        ({"save_config": 10}, "did you mean SaveConfig(save_interval=10)?"),
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


def test_the_hook_takes_no_configuration_in_place_of_its_folder():
    with pytest.raises(SMDebugTypeError, match="out_dir takes no SaveConfig; did you mean save_co"):
        smd.Hook(CONFIG)
