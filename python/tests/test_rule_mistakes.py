"""Mistakes in rules and in their use: each message names the mistake and the remedy."""

import re

import numpy as np
import pytest
import torch

import smdebug.pytorch as smd
from conftest import Net, read, record_two_steps, train
from smdebug.exceptions import NoMoreData, SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError
from smdebug.rules import Rule, builtin, invoke_rule
from smdebug.rules.action import ActionList, StopTraining
from smdebug.rules.judge import load_judge
from smdebug.trials import create_trial


def test_the_name_of_a_rule_in_place_of_a_rule_is_refused():
    with pytest.raises(SMDebugTypeError, match="found 'x'; make one with builtin"):
        invoke_rule("x")


class Fires(Rule):
    def invoke_at_step(self, step):
        return True


def test_a_wrong_answer_of_an_on_fire_function_is_logged_once_and_recorded(tmp_path, capfd):
    def reacts(verdict):
        return "abort"

    verdicts = record_two_steps(tmp_path / "run", rules=[Fires, "DeadRelu"], on_fire=reacts)
    assert verdicts[0]["status"] == "IssuesFound"
    logged = capfd.readouterr().err
    assert logged.count("reacts of on_fire returned 'abort', which is taken for 'record'; ") == 1


def test_an_on_fire_function_without_a_parameter_is_refused(tmp_path):
    with pytest.raises(SMDebugTypeError, match=r"takes one argument, the verdict, found .*\(\)"):
        smd.Hook(tmp_path / "run", rules=[Fires], on_fire=lambda: "stop")


def test_the_name_of_a_rule_of_the_user_is_logged_once_per_line(tmp_path, capfd):
    record_two_steps(tmp_path / "run", rules=[Fires])
    logged = capfd.readouterr().err
    assert "warning: Fires: the condition of the rule is met at step 0" in logged


def test_an_answer_without_rules_is_logged_and_a_wrong_one_refused(tmp_path, capfd):
    smd.Hook(tmp_path / "a", on_fire="stop").close()
    assert "on_fire='stop' has no effect without rules" in capfd.readouterr().err
    smd.Hook(tmp_path / "b", on_fire="stop", rules=[]).close()
    smd.Hook(tmp_path / "c").close()
    assert "on_fire" not in capfd.readouterr().err
    with pytest.raises(SMDebugValueError, match="on_fire must be one of"):
        smd.Hook(tmp_path / "d", on_fire="halt")


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

    record_two_steps(tmp_path / "run")
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
    [verdict] = record_two_steps(tmp_path / "run", rules=[rule])
    assert verdict["status"] == "Error"
    head = f"rule {rule.__name__} {sentence} ({__file__}:"
    assert verdict["message"].startswith(head)
    line = int(verdict["message"].removeprefix(head).removesuffix(")"))
    with open(__file__) as file:
        source = file.read().splitlines()[line - 1]
    assert "1 / 0" in source or "raise RuntimeError" in source


def test_a_range_of_steps_that_ends_before_it_starts_is_refused_by_invoke_rule(tmp_path):
    record_two_steps(tmp_path / "run")
    rule = builtin("VanishingGradient", read(tmp_path / "run"), threshold=0)
    with pytest.raises(SMDebugValueError, match="start_step=10, end_step=5"):
        invoke_rule(rule, start_step=10, end_step=5)
    assert invoke_rule(rule, start_step=1, end_step=1) is None


@pytest.mark.parametrize("given", ["stop", StopTraining, [StopTraining()]])
def test_an_entry_of_an_action_list_that_is_no_action_is_refused_with_one(given):
    with pytest.raises(SMDebugTypeError, match=r"found .*, as in ActionList\(StopTraining\(\)\)"):
        ActionList(given)


def test_a_start_step_of_invoke_rule_below_0_is_logged_and_counts_as_0(tmp_path, capfd):
    record_two_steps(tmp_path / "run")
    rule = builtin("VanishingGradient", read(tmp_path / "run"), threshold=0)
    capfd.readouterr()
    invoke_rule(rule, start_step=-4, end_step=2)
    assert "start_step is -4; the first step of a run is 0" in capfd.readouterr().err


def test_a_step_of_invoke_rule_that_is_no_number_is_refused(tmp_path):
    record_two_steps(tmp_path / "run")
    rule = Fires(read(tmp_path / "run"))
    with pytest.raises(SMDebugTypeError, match="start_step is a whole number, found '0'"):
        invoke_rule(rule, start_step="0", end_step=5)
    with pytest.raises(SMDebugTypeError, match="end_step is a whole number, or None for .* '5'"):
        invoke_rule(rule, end_step="5")
    with pytest.raises(NoMoreData):
        invoke_rule(rule, end_step=float("inf"))


@pytest.mark.parametrize("trial, text", [(None, "None"), (3, "3")])
def test_a_rule_without_a_trial_is_refused_when_it_is_invoked(trial, text):
    with pytest.raises(SMDebugTypeError, match=f"WithLimit takes a trial, found {text}; make one"):
        invoke_rule(WithLimit(trial, limit=1))


def test_the_swapped_arguments_of_builtin_are_refused(tmp_path):
    record_two_steps(tmp_path / "run")
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
    [verdict] = record_two_steps(tmp_path / "run", rules=[WithoutSuper])
    text = r"WithoutSuper.__init__ does not call super\(\).__init__\(base_trial\) \(.*\.py:\d+\)"
    assert re.search(text, verdict["message"])
    with pytest.raises(SMDebugRuntimeError, match=text):
        invoke_rule(WithoutSuper(read(tmp_path / "run")), end_step=1)


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


def test_a_skipped_update_is_logged_with_its_step_and_rule_and_the_finding_once(tmp_path, capfd):
    never = ("VanishingGradient", {"threshold": 1e9})
    verdicts = record_two_steps(tmp_path / "run", rules=[never], on_fire="skip_step")
    logged = capfd.readouterr().err
    assert logged.count(verdicts[0]["message"]) == 1
    assert "the update of step 1 is skipped: VanishingGradient fired" in logged


class WantsMissing(Rule):
    """Needs a tensor that no run has."""

    def invoke_at_step(self, step):
        return self.base_trial.tensor("nosuch").value(step) > 0


def test_a_rule_that_could_judge_no_step_says_so_after_invoke_rule(tmp_path, capfd):
    record_two_steps(tmp_path / "run")
    capfd.readouterr()
    invoke_rule(WantsMissing(read(tmp_path / "run")), end_step=2)
    assert capfd.readouterr().err.count("rule WantsMissing judged no step: ") == 1
    invoke_rule(Rule(read(tmp_path / "run")), end_step=0)
    assert "judged no step" not in capfd.readouterr().err


def test_a_built_in_rule_that_had_nothing_to_judge_says_so_after_a_range_of_steps(tmp_path, capfd):
    record_two_steps(tmp_path / "run")
    trial = read(tmp_path / "run")
    capfd.readouterr()
    invoke_rule(builtin("AllZero", trial, collection_names="wieghts"), end_step=2)
    assert capfd.readouterr().err.count("the run has no collection 'wieghts'; nearest: ") == 1
    invoke_rule(builtin("FeatureImportanceOverweight", trial), end_step=1)
    assert "rule FeatureImportanceOverweight: nothing to judge: " in capfd.readouterr().err
    invoke_rule(builtin("AllZero", trial, collection_names="weights"), end_step=2)
    assert "nothing to judge" not in capfd.readouterr().err


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


def test_a_file_of_rules_in_an_object_store_is_refused_with_the_remedy():
    with pytest.raises(SMDebugValueError, match="'s3://b/x.py' is in an object store: download it"):
        load_judge("s3://b/x.py:MyRule", {}, "run")


def test_other_trials_of_a_builtin_rule_may_be_trials(tmp_path):
    for name in ("one", "two"):
        record_two_steps(tmp_path / name)
    one, two = read(tmp_path / "one"), read(tmp_path / "two")
    assert builtin("SimilarAcrossRuns", one, other_trials=two).parameters == {
        "other_trials": two.path
    }


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

    record_two_steps(tmp_path / "run")
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
    record_two_steps(tmp_path / "other")
    with pytest.raises(SMDebugValueError, match=re.escape(text)):
        rule(create_trial(tmp_path / "other"))


@pytest.mark.parametrize(
    "actions, found",
    [
        ("stop", "the action string 'stop' is not JSON"),
        ('{"name": stoptraining}', "the action string is not JSON: line 1, column 10"),
        ({"name": "stoptraining"}, "must be JSON text, found an object of type dict"),
        ([StopTraining()], "must be JSON text, found an object of type list"),
    ],
)
def test_a_wrong_action_string_is_refused_with_the_action_to_pass(tmp_path, actions, found):
    record_two_steps(tmp_path / "run")
    with pytest.raises((SMDebugTypeError, SMDebugValueError)) as refused:
        Fires(read(tmp_path / "run"), actions)
    assert found in str(refused.value)
    assert "pass an action of smdebug.rules.action, such as StopTraining()" in str(refused.value)


def test_an_action_string_that_may_hold_a_secret_is_not_repeated():
    with pytest.raises(SMDebugValueError) as refused:
        Fires(None, "https://host/secret")
    assert "secret" not in str(refused.value)


def test_the_actions_of_a_builtin_rule_are_refused_with_what_performs_them():
    with pytest.raises(SMDebugValueError, match="--rule VanishingGradient --action stop'.*actions"):
        builtin("VanishingGradient", action_str="stop")


@pytest.mark.parametrize(
    "rule, text",
    [
        ("myrule.py:Good", "import Good from myrule.py and pass the class itself"),
        (({"threshold": 1}, "DeadRelu"), r"comes first.*use \('DeadRelu', {'threshold': 1}\)"),
        (({}, Fires), r"the rule comes first, then its parameters: use \(Fires, {}\)"),
    ],
)
def test_a_rule_in_the_form_of_another_place_is_refused_with_that_of_a_hook(tmp_path, rule, text):
    with pytest.raises((SMDebugTypeError, SMDebugValueError), match=text):
        smd.Hook(tmp_path / "run", rules=[rule])
