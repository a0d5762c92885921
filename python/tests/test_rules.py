"""Rules written in Python: over a run, and under the command line."""

import os
import subprocess
import sys

import pytest
import torch

import smdebug.pytorch as smd
from conftest import Net, read, train
from smdebug import _core
from smdebug.exceptions import (
    NoMoreData,
    NoMoreProfilerData,
    RuleEvaluationConditionMet,
    SMDebugNotImplementedError,
    SMDebugTypeError,
    SMDebugValueError,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from smdebug.rules import Rule, invoke_rule
from smdebug.rules.action import Actions
from smdebug.rules.judge import load_judge
from smdebug.trials import create_trial

RULE_FILE = '''
from smdebug.rules import Rule

class WeightTooBig(Rule):
    """Fires where a weight of fc1 is larger than `limit`."""

    def __init__(self, base_trial, limit="1.0"):
        super().__init__(base_trial)
        self.limit = float(limit)

    def set_required_tensors(self, step):
        self.req_tensors.add("Net_fc1.weight", [step])

    def invoke_at_step(self, step):
        return abs(self.base_trial.tensor("Net_fc1.weight").value(step)).max() > self.limit

class Broken(Rule):
    def invoke_at_step(self, step):
        raise KeyError("what was looked for")
'''


@pytest.fixture
def run(out_dir):
    """Four steps, the last two with a weight of 100."""
    model = Net()

    def break_at(step):
        if step == 1:
            with torch.no_grad():
                model.fc1.weight[0, 0] = 100.0

    with smd.Hook(
        out_dir, include_collections=["weights"], save_config=smd.SaveConfig(save_interval=1)
    ) as hook:
        hook.register_module(model)
        train(model, 4, on_step=break_at)
    return out_dir


class MaxWeight(Rule):
    def __init__(self, base_trial):
        super().__init__(base_trial)
        self.seen = []

    def set_required_tensors(self, step):
        self.req_tensors.add("fc.*weight", [step], should_match_regex=True)

    def invoke_at_step(self, step):
        self.seen.append(step)
        return any(abs(t.value(step)).max() > 50 for t in self.req_tensors.get())


def test_a_rule_meets_its_condition_at_the_right_steps(run):
    rule = MaxWeight(read(run))
    rule.invoke(0)
    rule.invoke(1)
    for step in (2, 3):
        with pytest.raises(RuleEvaluationConditionMet) as met:
            rule.invoke(step)
        assert (met.value.rule_name, met.value.step) == ("MaxWeight", step)
    assert rule.req_tensors.get_names() == ["Net_fc1.weight", "Net_fc2.weight"]
    assert rule.req_tensors.get_tensor_steps("Net_fc1.weight") == [3]


def test_invoke_rule_walks_the_steps(run):
    rule = MaxWeight(read(run))
    invoke_rule(rule, start_step=1, end_step=4)
    assert rule.seen == [1, 2, 3]
    with pytest.raises(RuleEvaluationConditionMet):
        invoke_rule(rule, raise_eval_cond=True)
    with pytest.raises(NoMoreData):
        invoke_rule(MaxWeight(read(run)))


def test_an_unknown_tensor_is_not_required_silently(run):
    rule = MaxWeight(read(run))
    with pytest.raises(TensorUnavailable):
        rule.req_tensors.add("Net_fc9.weight", [0])


def test_a_rule_has_the_attributes_that_subclasses_use(run):
    trial, other = read(run), create_trial(run, name="other")
    rule = MaxWeight(trial)
    assert (rule.base_trial, rule.other_trials, rule.trials) == (trial, [], [trial])
    assert rule.rule_name == "MaxWeight" and rule.logger.name == "smdebug"
    assert rule.report == {
        "RuleTriggered": 0,
        "Violations": 0,
        "Details": {},
        "Datapoints": 0,
        "RuleParameters": "",
    }
    assert Rule(trial, None, [other]).trials == [trial, other]
    with pytest.raises(SMDebugNotImplementedError, match="invoke_at_step"):
        Rule(trial).invoke(0)


def test_a_rule_requires_tensors_of_each_trial(run):
    trial, other = read(run), create_trial(run, name="other")
    required = Rule(trial, other_trials=[other]).req_tensors
    required.add("Net_fc1.weight", [0, 2])
    required.add("Net_fc1.weight", steps=[2, 3])
    required.add("fc2", [1], trial=other, should_match_regex=True)
    required.add("no such name", [1], trial=other, should_match_regex=True)
    assert required.get_names() == ["Net_fc1.weight"]
    assert required.get_names(other) == ["Net_fc2.weight"]
    assert required.get_tensor_steps("Net_fc1.weight") == [0, 2, 3]
    assert required.get_tensor_steps("Net_fc1.weight", other) == []
    assert [tensor.name for tensor in required.get(other)] == ["Net_fc2.weight"]
    required.fetch()
    with pytest.raises(SMDebugValueError, match="no trial"):
        required.get_names(create_trial(run, name="a third"))
    with pytest.raises(SMDebugTypeError, match="list of global steps"):
        required.add("Net_fc1.weight", 0)
    required.clear()
    assert required.get_names() == [] and required.get() == []


def test_what_a_rule_requires_is_waited_for_and_must_be_there(run):
    required = Rule(read(run)).req_tensors
    required.add("Net_fc1.weight", [0, 9])
    with pytest.raises(NoMoreData):
        required.fetch()


def test_while_a_rule_looks_the_run_stands_still(run):
    trial = read(run)
    seen = []

    class Looks(Rule):
        def set_required_tensors(self, step):
            seen.append(trial.dynamic_refresh)

        def invoke_at_step(self, step):
            seen.append(trial.dynamic_refresh)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Looks(trial).invoke(0)
    assert seen == [False, False] and trial.dynamic_refresh


class Raises(Rule):
    """Raises the next of `errors` at each step, then the last for ever."""

    def __init__(self, base_trial, *errors):
        super().__init__(base_trial)
        self.errors, self.steps = list(errors), []

    def invoke(self, step):
        self.steps.append(step)
        error = self.errors.pop(0) if len(self.errors) > 1 else self.errors[0]
        if error is not None:
            raise error


def test_invoke_rule_passes_over_what_was_not_saved_and_stops_where_told(run):
    trial = read(run)
    passed = [TensorUnavailable("t"), StepUnavailable(1, None), TensorUnavailableForStep("t", 2)]
    met = RuleEvaluationConditionMet("Raises", 3)
    rule = Raises(trial, *passed, met, None, RuleEvaluationConditionMet("Raises", 5, True))
    invoke_rule(rule)
    assert rule.steps == [0, 1, 2, 3, 4, 5]
    rule = Raises(trial, None, NoMoreProfilerData(1.0))
    invoke_rule(rule, start_step=7)
    assert rule.steps == [7, 8]
    rule = Raises(trial, None)
    invoke_rule(rule, start_step=3, end_step=3)
    assert rule.steps == []
    for error in (NoMoreData(4, None, 3), StepNotYetAvailable(4, None), KeyError("its own")):
        with pytest.raises(type(error)):
            invoke_rule(Raises(trial, error))


ACTIONS = """[
  {"name": "StopTraining", "training_job_prefix": "My-Job"},
  {"name": "email", "endpoint": "Ann@example.com"},
  {"NAME": "SMS", "Endpoint": "+1 555"}
]"""


def test_an_action_string_lists_actions_whose_values_keep_their_case():
    entries = [("stop", "My-Job"), ("email", "Ann@example.com"), ("sms", "+1 555")]
    assert _core.parse_action_string(ACTIONS) == (entries, [])


@pytest.mark.parametrize(
    ("entry", "shown"),  # without its texts, which may be secrets
    [
        ("3", "an entry that is not an object"),
        ('{"name": "email"}', "'email' with the keys 'name'"),
        ('{"name": "call", "endpoint": "555"}', "'call' with the keys 'name', 'endpoint'"),
        ('{"name": "sms", "endpoint": 555}', "'sms' with the keys 'name', 'endpoint'"),
        ('{"endpoint": "555"}', "an object with the keys 'endpoint'"),
    ],
)
def test_an_entry_that_is_no_action_is_logged_and_left_out(entry, shown, logged):
    good = '{"name": "sms", "endpoint": "555"}'
    entries, refused = _core.parse_action_string(f"[{entry}, {good}]")
    assert entries == [("sms", "555")] and len(refused) == 1
    Actions(f"[{entry}, {good}]", "MyRule")
    (said,) = logged
    assert "'MyRule': not an action" in said and shown in said and "555" not in said


@pytest.mark.parametrize("nothing", [None, "", "  ", "[]"])
def test_an_empty_action_string_lists_nothing(nothing, logged):
    assert _core.parse_action_string(nothing or "") == ([], [])
    Actions(nothing, "MyRule").invoke()
    Actions(actions_str=nothing, rule_name="MyRule").invoke(message="")
    Actions(action_str=nothing, rule_name="MyRule").invoke()
    assert logged == []


@pytest.mark.parametrize("spelling", ["actions_str", "action_str"])
def test_an_action_string_is_read_by_each_of_its_names(spelling, run, logged):
    listed = '[{"name": "nosuch"}, {"name": "stoptraining"}]'
    Actions(**{spelling: listed}, rule_name="MyRule", trial=read(run)).invoke()
    refused, stopped = logged
    assert "'MyRule': not an action" in refused and "'nosuch'" in refused
    assert "nothing to stop: the training had already ended" in stopped


def test_an_action_string_that_is_not_json_raises(run):
    with pytest.raises(SMDebugValueError, match="not JSON"):
        Rule(read(run), "stoptraining")
    with pytest.raises(SMDebugTypeError, match="JSON text"):
        Rule(read(run), ["stoptraining"])


def test_a_rule_that_fires_says_which_actions_failed(run, logged, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "SMDEBUG_SMTP_URL", "SMDEBUG_SMS_WEBHOOK"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, os.devnull)

    class Fires(Rule):
        def invoke_at_step(self, step):
            return step == 1

    rule = Fires(read(run), ACTIONS)
    rule.invoke(0)
    assert logged == []
    with pytest.raises(RuleEvaluationConditionMet):
        rule.invoke(1)
    stop, email, sms = logged
    assert "nothing to stop: the training had already ended" in stop
    assert "email=Ann@example.com: set SMDEBUG_SMTP_URL" in email
    assert "sms=+1 555: set SMDEBUG_SMS_WEBHOOK" in sms


def test_the_command_line_judges_with_a_rule_from_a_file(run, tmp_path):
    path = tmp_path / "my_rules.py"
    path.write_text(RULE_FILE)
    judge = load_judge(f"{path}:WeightTooBig", {"limit": "50"}, run)
    assert judge.name == "WeightTooBig"
    assert [judge.judge(step) for step in (0, 1)] == [None, None]
    assert "step 2" in judge.judge(2)
    assert judge.steps_judged == 3


@pytest.mark.parametrize(
    "spec, parameters, words",
    [
        ("nofile.py:Rule", {}, "nofile.py"),
        ("{path}", {}, "file.py:Class"),
        ("{path}:Missing", {}, "Missing"),
        ("{path}:WeightTooBig", {"limits": "3"}, "limits"),
    ],
)
def test_a_rule_that_cannot_be_made_says_why(tmp_path, spec, parameters, words):
    path = tmp_path / "my_rules.py"
    path.write_text(RULE_FILE)
    with pytest.raises(SMDebugValueError) as raised:
        load_judge(spec.format(path=path), parameters, "nowhere")
    assert words in str(raised.value)


def command_line(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "smdebug", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_command_checks_a_run_with_a_rule_from_a_file(run, tmp_path):
    path = tmp_path / "my_rules.py"
    path.write_text(RULE_FILE)
    fired = command_line("check", run, "--rule", f"{path}:WeightTooBig", "--set", "limit=50")
    assert (fired.returncode, "step 2" in fired.stdout + fired.stderr) == (3, True)
    quiet = command_line("check", run, "--rule", f"{path}:WeightTooBig", "--set", "limit=1e9")
    assert quiet.returncode == 0
    assert command_line("check", run, "--rule", f"{path}:Missing").returncode == 2


def test_an_exception_in_a_rule_is_its_verdict(run, tmp_path):
    path = tmp_path / "my_rules.py"
    path.write_text(RULE_FILE)
    done = command_line("check", run, "--rule", f"{path}:Broken")
    assert done.returncode == 1
    assert "what was looked for" in done.stdout + done.stderr
    assert "nothing to judge" not in done.stdout + done.stderr
