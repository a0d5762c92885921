"""Rules written in Python: over a run, and under the command line."""

import subprocess
import sys

import pytest
import torch
from conftest import Net, read, train

import smdebug.pytorch as smd
from smdebug.exceptions import (
    NoMoreData,
    RuleEvaluationConditionMet,
    SMDebugNotImplementedError,
    SMDebugValueError,
    TensorUnavailable,
)
from smdebug.rules import Rule, invoke_rule
from smdebug.rules.judge import load_judge

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


def test_an_action_is_refused_while_there_are_none(run):
    with pytest.raises(SMDebugNotImplementedError, match="action_str"):
        Rule(read(run), '{"name": "stoptraining"}')
    assert Rule(read(run), None).rule_name == "Rule"


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
