"""Rules as scripts for the cloud configure them, held against the cloud's own package."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
import smdebug_rulesconfig

from smdebug.exceptions import (
    SMDebugNotImplementedError,
    SMDebugTypeError,
    SMDebugValueError,
)
from smdebug.rules import rule_configs
from smdebug.rules.sagemaker import SMS, ActionList, Email, ProfilerRule, Rule, StopTraining


@pytest.mark.parametrize("name", rule_configs.__all__)
def test_a_configuration_is_the_clouds(name):
    ours = getattr(rule_configs, name)()
    assert ours == getattr(smdebug_rulesconfig, name)()
    assert ours is not getattr(rule_configs, name)()


def test_there_is_a_configuration_for_every_rule_of_the_cloud():
    theirs = {
        name
        for name in dir(smdebug_rulesconfig)
        if callable(getattr(smdebug_rulesconfig, name)) and name == name.lower()
    }
    assert theirs - {"get_collection", "is_valid_action_object"} == set(rule_configs.__all__)


def test_a_rule_takes_what_its_user_says_before_what_the_configuration_says():
    rule = Rule.sagemaker(rule_configs.vanishing_gradient())
    assert rule.name == "VanishingGradient"
    assert rule.rule_parameters == {"rule_to_invoke": "VanishingGradient"}
    assert rule.collection_configs == [
        {"CollectionName": "gradients", "CollectionParameters": {"save_interval": "500"}}
    ]
    rule = Rule.sagemaker(
        rule_configs.vanishing_gradient(),
        name="Mine",
        rule_parameters={"threshold": "1e-8", "action_json": "[]"},
        other_trials_s3_input_paths=["s3://a", "s3://b"],
        collections_to_save=[SimpleNamespace(name="own", parameters={"save_interval": "5"})],
        s3_output_path="s3://out",
    )
    assert rule.name == "Mine"
    assert rule.rule_parameters == {
        "rule_to_invoke": "VanishingGradient",
        "threshold": "1e-8",
        "other_trial_0": "s3://a",
        "other_trial_1": "s3://b",
    }
    assert rule.collection_configs == [
        {"CollectionName": "own", "CollectionParameters": {"save_interval": "5"}}
    ]
    assert rule.to_debugger_rule_config_dict() == {
        "RuleConfigurationName": "Mine",
        "S3OutputPath": "s3://out",
        "RuleParameters": rule.rule_parameters,
    }


def test_the_actions_travel_in_a_parameter_whoever_wrote_them():
    for package in (
        smdebug_rulesconfig,
        SimpleNamespace(ActionList=ActionList, Email=Email, SMS=SMS, StopTraining=StopTraining),
    ):
        actions = package.ActionList(
            package.StopTraining(), package.Email("ann@example.com"), package.SMS("+4912")
        )
        rule = Rule.sagemaker(
            rule_configs.loss_not_decreasing(), rule_parameters={"mode": "TRAIN"}, actions=actions
        )
        assert rule.actions is actions
        assert rule.arguments() == [
            *("--rule", "LossNotDecreasing", "--set", "mode=TRAIN", "--action", "stop"),
            *("--action", "email=ann@example.com", "--action", "sms=+4912"),
        ]


def test_a_rule_of_ones_own_names_its_file():
    rule = Rule.custom("Mine", "image", "ml.t3.medium", 30, "rules.py", "MyRule")
    assert rule.arguments() == ["--rule", "rules.py:MyRule"]
    assert rule.to_debugger_rule_config_dict() == {
        "RuleConfigurationName": "Mine",
        "RuleEvaluatorImage": "image",
        "InstanceType": "ml.t3.medium",
        "VolumeSizeInGB": 30,
        "RuleParameters": {"source_s3_uri": "rules.py", "rule_to_invoke": "MyRule"},
    }


def test_what_makes_no_sense_is_refused():
    base = rule_configs.overfit()
    with pytest.raises(SMDebugValueError, match="rule_to_invoke"):
        Rule.sagemaker(base, rule_parameters={"rule_to_invoke": "Overfit"})
    with pytest.raises(SMDebugTypeError, match="ActionList"):
        Rule.sagemaker(base, actions="stop")
    with pytest.raises(SMDebugValueError, match="both"):
        Rule.custom("Mine", "image", "ml.t3.medium", 30, source="rules.py")


def test_the_command_line_takes_the_arguments_of_a_rule(tmp_path):
    rule = Rule.sagemaker(
        rule_configs.vanishing_gradient(),
        rule_parameters={"threshold": "1e-8"},
        actions=StopTraining(),
    )
    done = subprocess.run(
        [sys.executable, "-m", "smdebug", "check", str(tmp_path), *rule.arguments(), "--json"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1  # there is no run; the command line makes sense
    assert "no run at" in json.loads(done.stdout)[0]["error"]


PROFILER_RULES = [
    name
    for name in dir(smdebug_rulesconfig)
    if name[0].isupper() and name not in ("ActionList", "Email", "SMS", "StopTraining")
]


@pytest.mark.parametrize("name", PROFILER_RULES)
def test_a_profiler_rule_of_the_cloud_is_described_as_its_api_wants_it(name):
    theirs = getattr(smdebug_rulesconfig, name)()
    rule = ProfilerRule.sagemaker(theirs)
    assert rule.to_profiler_rule_config_dict() == {
        "RuleConfigurationName": name,
        "RuleParameters": {key: str(value) for key, value in theirs.rule_parameters.items()},
    }


def test_there_are_the_profiler_rules_that_the_facts_list():
    assert {"BatchSize", "CPUBottleneck", "ProfilerReport", "StepOutlier"} <= set(PROFILER_RULES)


def test_the_parameters_of_a_profiler_report_travel_as_text():
    report = smdebug_rulesconfig.ProfilerReport(CPUBottleneck_cpu_threshold=90)
    rule = ProfilerRule.sagemaker(report, name="Mine", instance_type="ml.t3.medium")
    request = rule.to_profiler_rule_config_dict()
    assert request["RuleConfigurationName"] == "Mine"
    assert request["InstanceType"] == "ml.t3.medium"
    assert all(isinstance(value, str) for value in request["RuleParameters"].values())
    assert "90" in str(request["RuleParameters"])


def test_a_profiler_rule_of_ones_own_names_its_file():
    rule = ProfilerRule.custom(
        "Mine", "image", "ml.t3.medium", 30, "rules.py", "MyRule", rule_parameters={"window": 5}
    )
    assert rule.to_profiler_rule_config_dict() == {
        "RuleConfigurationName": "Mine",
        "RuleEvaluatorImage": "image",
        "InstanceType": "ml.t3.medium",
        "VolumeSizeInGB": 30,
        "RuleParameters": {
            "source_s3_uri": "rules.py",
            "rule_to_invoke": "MyRule",
            "window": "5",
        },
    }
    with pytest.raises(SMDebugValueError, match="both"):
        ProfilerRule.custom("Mine", "image", "ml.t3.medium", 30, source="rules.py")


def test_a_profiler_rule_says_that_it_is_not_run(tmp_path):
    with pytest.raises(SMDebugNotImplementedError, match="'BatchSize' is not run"):
        ProfilerRule.sagemaker(smdebug_rulesconfig.BatchSize()).arguments()
    with pytest.raises(SMDebugTypeError, match="smdebug_rulesconfig"):
        ProfilerRule.sagemaker(rule_configs.overfit())
    done = subprocess.run(
        [sys.executable, "-m", "smdebug", "check", str(tmp_path), "--rule", "batch_size"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "profiler rules are not run" in done.stderr
