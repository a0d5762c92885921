"""The Hook: its arguments, its modes, its end, and what it does with mistakes."""

import pytest
import torch
from added_kinds import SAVE_ALL

import smdebug.pytorch as smd
from conftest import Net, read, run_script, train
from smdebug import modes
from smdebug.exceptions import (
    SMDebugNotImplementedError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)


def every_step(out_dir, **arguments):
    return smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1), **arguments)


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        ({"out_dir": 7}, SMDebugTypeError, "7"),
        ({"out_dir": None}, SMDebugRuntimeError, "out_dir"),
        ({"out_dir": ""}, SMDebugValueError, "out_dir"),
        ({"dry_run": torch.ones(2)}, SMDebugTypeError, "dry_run"),
        ({"save_config": 10}, SMDebugTypeError, "10"),
        ({"reduction_config": ["mean"]}, SMDebugTypeError, "mean"),
        ({"include_regex": ["("]}, SMDebugValueError, "("),
        ({"include_regex": [5]}, SMDebugTypeError, "5"),
        ({"include_collections": [5]}, SMDebugTypeError, "5"),
        ({"include_collections": 5}, SMDebugTypeError, "list of names, found 5"),
        ({"include_workers": "two"}, SMDebugValueError, "two"),
        ({"tensorboard_dir": 7}, SMDebugTypeError, "7"),
        ({"tensorboard_dir": ""}, SMDebugValueError, "tensorboard_dir"),
        ({"tensorboard_dir": "ftp://host/tb"}, SMDebugNotImplementedError, "ftp://host/tb"),
    ],
)
def test_a_wrong_argument_raises_at_construction(out_dir, arguments, error, words):
    with pytest.raises(error) as raised:
        smd.Hook(**{"out_dir": out_dir, **arguments})
    assert words in str(raised.value)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda hook: hook.register_module("Net"), SMDebugTypeError, "Net"),
        (lambda hook: hook.register_loss(torch.nn.Linear(2, 2)), SMDebugTypeError, "Linear"),
        (lambda hook: hook.set_mode("TRAIN"), SMDebugValueError, "TRAIN"),
        (lambda hook: hook.save_scalar("a", [1, 2]), SMDebugTypeError, "[1, 2]"),
        (lambda hook: hook.save_scalar("a", "high"), SMDebugTypeError, "high"),
        (lambda hook: hook.save_scalar(1, 2), SMDebugTypeError, "1"),
        (lambda hook: hook.save_scalar("a", torch.zeros(2)), SMDebugTypeError, "one number"),
        (lambda hook: hook.add_collection("weights"), SMDebugTypeError, "weights"),
        (lambda hook: hook.get_collection(3), SMDebugTypeError, "3"),
        (lambda hook: hook.record_tensor_value("loss", 0.5), SMDebugTypeError, "0.5"),
    ],
)
def test_a_wrong_call_raises_there(out_dir, call, error, words):
    with every_step(out_dir) as hook, pytest.raises(error) as raised:
        call(hook)
    assert words in str(raised.value)


def test_a_model_is_registered_once(out_dir):
    model = Net()
    with every_step(out_dir) as hook:
        hook.register_module(model)
        with pytest.raises(SMDebugValueError, match="fc1.*registered already"):
            hook.register_module(model.fc1)


def test_an_empty_collection_of_the_user_is_logged_and_ignored(out_dir, logged):
    model = Net()
    with every_step(out_dir, include_collections=["mine", "weights"]) as hook:
        hook.get_collection("mine")
        hook.register_module(model)
        train(model, 2)
    assert [text for text in logged if "'mine'" in text] == [
        "a collection is ignored: collection 'mine' can match nothing: it has neither "
        "include_regex nor tensor_names; give it patterns of tensor names in include_regex, or "
        "remove it"
    ]
    assert read(out_dir).tensor("Net_fc1.weight").steps() == [0, 1]


def test_an_unknown_collection_is_logged_with_the_nearest_names_and_ignored(out_dir, logged):
    model = Net()
    with every_step(out_dir, include_collections=["weigths", "gradients", "flatten"]) as hook:
        hook.register_module(model)
        train(model, 2)
    (misspelled,) = [text for text in logged if "'weigths'" in text]
    assert "does not exist; nearest: 'weights'" in misspelled
    assert len([text for text in logged if "'flatten'" in text]) == 1
    assert hook.status().error is None
    trial = read(out_dir)
    assert trial.tensor("gradient/Net_fc1.weight").steps() == [0, 1]
    assert "Net_fc1.weight" not in trial.tensor_names()


def test_an_unknown_collection_is_saved_once_the_script_fills_it(out_dir, logged):
    model = Net()
    with every_step(out_dir, include_collections=["later"]) as hook:
        hook.register_module(model)
        train(model, 2)
        hook.get_collection("later").include("fc2.weight$")
        train(model, 2)
    assert read(out_dir).tensor("Net_fc2.weight").steps() == [2, 3]


def test_a_module_of_another_model_in_a_collection_is_logged_and_ignored(out_dir, logged):
    model = Net()
    with every_step(out_dir, include_collections=["mine", "weights"]) as hook:
        hook.get_collection("mine").add_module_tensors(torch.nn.Tanh())
        with pytest.raises(SMDebugTypeError, match="takes a torch.nn.Module, found 'fc1'"):
            hook.get_collection("mine").add_module_tensors("fc1")
        hook.register_module(model)
        train(model, 2)
    (text,) = [text for text in logged if "'mine'" in text]
    assert "names a Tanh that is in no registered model" in text
    assert read(out_dir).tensor("Net_fc1.weight").steps() == [0, 1]


def test_a_module_of_another_model_leaves_the_others_of_its_collection(out_dir, logged):
    model = Net()
    with every_step(out_dir, include_collections=["mine"]) as hook:
        mine = hook.get_collection("mine")
        for module in (torch.nn.Tanh(), model.relu, torch.nn.Linear(1, 1)):
            mine.add_module_tensors(module)
        hook.register_module(model)
        train(model, 2)
    for kind in ("Tanh", "Linear"):
        text = f"a module is left out: collection 'mine' names a {kind} that is in no registered m"
        assert len([line for line in logged if text in line]) == 1
    assert read(out_dir).tensor_names(collection="mine") == ["relu_output_0"]


def test_a_mistake_in_a_list_that_is_edited_in_place_is_logged_and_ignored(out_dir, logged):
    model = Net()
    with every_step(out_dir, include_collections=["weights", "mine"]) as hook:
        hook.get_collection("mine").include("fc1")
        hook.register_module(model)
        train(model, 1)
        hook.get_collection("mine").include_regex.append("(")
        hook.include_collections.append(5)
        train(model, 1)
        hook.include_regex.append("[")
        train(model, 1)
    trial = read(out_dir)
    assert trial.tensor("Net_fc1.weight").steps() == [0, 1, 2]
    assert trial.tensor("fc1_output_0").steps() == [0]
    for part in ("include_regex", "found 5", "a pattern is ignored: include_regex: "):
        assert len([text for text in logged if part in text and "ignored" in text]) >= 1


@pytest.mark.parametrize(("given", "saves_all"), SAVE_ALL)
def test_save_all_takes_what_scripts_pass(out_dir, given, saves_all):
    model = Net()
    with every_step(out_dir, save_all=given, dry_run="no", export_tensorboard=0) as hook:
        hook.register_module(model)
        train(model, 1)
    assert hook.save_all is saves_all
    assert ("fc1_output_0" in read(out_dir).tensor_names()) == saves_all


def test_a_flag_without_a_truth_is_refused_by_the_constructor(out_dir):
    with pytest.raises(SMDebugTypeError, match="save_all must be True or False, found Tensor"):
        smd.Hook(out_dir, save_all=torch.ones(2))
    assert smd.Collection("a", save_histogram="no").save_histogram is False
    assert smd.Collection("a", save_histogram=1).save_histogram is True


def test_trace_events_have_no_effect_which_is_logged_once(out_dir, logged):
    with every_step(out_dir) as hook:
        for step in range(3):
            hook.record_trace_events(1.5, "Forward", "op", "X", 2, step_num=step)
            with hook.profiler(modes.TRAIN):
                hook.profiling_start_batch()
                hook.profiling_end_batch(mode=modes.TRAIN)
        assert hook.should_save_dataloader_metrics("any") is False
    assert [text for text in logged if "profiler" in text] == [
        "record_trace_events has no effect: smdebug has no profiler yet, tensors are recorded as "
        "usual"
    ]


def test_an_ended_run_is_not_written_into(out_dir):
    model = Net()
    with every_step(out_dir, save_all=True) as hook:
        hook.register_module(model)
        train(model, 1)
    with pytest.raises(SMDebugRuntimeError, match="ended"):
        every_step(out_dir)


def test_modes_count_their_own_steps(out_dir):
    model = Net()
    with every_step(out_dir, include_collections=["weights", "gradients"]) as hook:
        hook.register_module(model)
        for _ in range(2):
            hook.set_mode(modes.TRAIN)
            train(model, 3)
            hook.set_mode(modes.EVAL)
            with torch.no_grad():
                model(torch.randn(2, 4))
    trial = read(out_dir)
    assert trial.steps() == list(range(8))
    assert trial.steps(mode=modes.TRAIN) == list(range(6))
    assert trial.steps(mode=modes.EVAL) == [0, 1]
    assert trial.global_step(modes.EVAL, 1) == 7
    assert trial.tensor("Net_fc1.weight").steps(mode=modes.EVAL) == [0, 1]
    assert trial.tensor("gradient/Net_fc1.weight").steps(mode=modes.EVAL) == []


def test_each_mode_saves_at_its_own_interval(out_dir):
    model = Net()
    config = smd.SaveConfig({modes.TRAIN: smd.SaveConfigMode(save_interval=2)})
    with smd.Hook(out_dir, save_config=config, include_collections=["weights"]) as hook:
        hook.register_module(model)
        hook.set_mode(modes.TRAIN)
        train(model, 5)
        hook.set_mode(modes.EVAL)
        for _ in range(3):
            model(torch.randn(2, 4))
    weight = read(out_dir).tensor("Net_fc1.weight")
    assert weight.steps(mode=modes.TRAIN) == [0, 2, 4]
    assert weight.steps(mode=modes.EVAL) == [0]


def test_a_scalar_keeps_its_own_step(out_dir):
    model = Net()
    with smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=3)) as hook:
        hook.register_module(model)
        train(model, 5, on_step=lambda step: hook.save_scalar("accuracy", torch.tensor(step / 10)))
    scalar = read(out_dir).tensor("scalar/accuracy")
    assert scalar.steps() == [0, 1, 2, 3, 4]
    assert [scalar.value(step).item() for step in range(5)] == pytest.approx(
        [0, 0.1, 0.2, 0.3, 0.4]
    )


def test_a_scalar_without_any_step_is_kept(out_dir):
    with every_step(out_dir) as hook:
        hook.save_scalar("epochs", 3)
    assert hook.status().error is None


def test_an_edit_during_training_takes_effect_at_the_next_step(out_dir):
    model = Net()

    def edit(step):
        if step == 1:
            hook.get_collection("weights").save_config.save_interval = 1
            hook.get_collection("biases").save_config.end_step = 0
        if step == 3:
            hook.get_collection("weights").include("fc2.bias")

    config = smd.SaveConfig(save_interval=100)
    with smd.Hook(out_dir, save_config=config, include_collections=["weights", "biases"]) as hook:
        hook.register_module(model)
        train(model, 6, on_step=edit)
    trial = read(out_dir)
    assert trial.tensor("Net_fc1.weight").steps() == [0, 2, 3, 4, 5]
    assert trial.tensor("Net_fc1.bias").steps() == [0]
    assert trial.tensor("Net_fc2.bias").steps() == [0, 4, 5]


def test_losses_can_be_switched_off_as_documented(out_dir):
    model, loss = Net(), torch.nn.CrossEntropyLoss()
    with every_step(out_dir, include_collections=["weights"]) as hook:
        hook.get_collection("losses").save_config.end_step = 0
        hook.get_collection("metrics").save_config.end_step = 0
        hook.register_module(model)
        hook.register_loss(loss)
        train(model, 2, loss=loss)
    assert read(out_dir).tensor_names() == ["Net_fc1.weight", "Net_fc2.weight"]


def test_what_cannot_be_saved_costs_no_hook_after_the_first_step(out_dir):
    model = Net()
    with every_step(out_dir, include_regex=["relu_output"]) as hook:
        hook.register_module(model)
        train(model, 2)
        assert not model.fc1._forward_hooks and not model.fc1._forward_pre_hooks
        assert model.relu._forward_hooks and not model.relu._forward_pre_hooks
        hook.get_collection("default").include("fc1_output")
        train(model, 1)
        assert model.fc1._forward_hooks
    assert "fc1_output_0" in read(out_dir).tensor_names()


def test_closing_takes_every_hook_out(out_dir):
    model, loss = Net(), torch.nn.CrossEntropyLoss()
    hook = every_step(out_dir, save_all=True)
    hook.register_module(model)
    hook.register_loss(loss)
    train(model, 1, loss=loss)
    hook.close()
    hook.close()
    for module in (*model.modules(), loss):
        assert not module._forward_hooks and not module._forward_pre_hooks
    assert not any(parameter._backward_hooks for parameter in model.parameters())
    train(model, 1, loss=loss)
    assert read(out_dir).steps() == [0]
    assert hook.status().state == "closed"


def test_status_and_cost_say_what_was_done(out_dir):
    model = Net()
    with every_step(out_dir, include_collections=["weights"]) as hook:
        assert hook.status().state == "active"
        hook.register_module(model)
        train(model, 3)
        hook.flush()
        status, cost = hook.status(), hook.cost()
    assert (status.steps, status.steps_saved, status.last_step) == (3, 3, 2)
    assert status.tensors == 6 and status.error is None
    assert cost.bytes_captured == 3 * 4 * (32 + 24)
    assert 0 < cost.step_thread_seconds < cost.run_seconds
    assert "weights" in hook.summary()


def test_flush_makes_ended_steps_readable(out_dir):
    model = Net()
    with every_step(out_dir, include_collections=["weights"]) as hook:
        hook.register_module(model)
        train(model, 3)
        trial = read(out_dir)  # flushes the hook of its own process
        assert trial.steps() == [0, 1]


def test_dry_run_writes_nothing(out_dir, tmp_path):
    model = Net()
    with every_step(out_dir, save_all=True, dry_run=True) as hook:
        hook.register_module(model)
        train(model, 2)
    assert list(tmp_path.iterdir()) == []
    assert hook.status().tensors > 0


def test_the_last_hook_is_the_hook_of_the_process(out_dir):
    hook = every_step(out_dir)
    assert smd.get_hook() is hook
    smd.del_hook()
    assert smd.get_hook() is None
    smd.set_hook(hook)
    assert smd.get_hook() is hook
    with pytest.raises(SMDebugTypeError):
        smd.set_hook("hook")


def test_collections_are_listed_with_the_framework_s_own(out_dir):
    with every_step(out_dir) as hook:
        hook.add_collection(smd.Collection("mine", include_regex=["relu"]))
        collections = hook.get_collections()
    assert {"weights", "biases", "gradients", "losses", "all", "default", "mine"} == set(
        collections
    )
    assert collections["gradients"].include_regex == ["^gradient"]


def test_a_script_that_ends_without_close_publishes_its_last_step(tmp_path, out_dir):
    run_script(
        tmp_path,
        """
        import sys, torch, smdebug.pytorch as smd
        model = torch.nn.Linear(2, 1)
        hook = smd.Hook(sys.argv[1], save_config=smd.SaveConfig(save_interval=1),
                        include_collections=["weights"])
        hook.register_module(model)
        for _ in range(3):
            model(torch.ones(1, 2)).sum().backward()
        """,
        arguments=[out_dir],
    )
    trial = read(out_dir)
    assert trial.steps() == [0, 1, 2]
    assert trial.loaded_all_steps
