"""Rules as scripts for the cloud configure them, held against the cloud's own package."""

import inspect
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
import smdebug_rulesconfig
from smdebug_rulesconfig.profiler_rules import rules as cloud_profiler_rules

from smdebug.exceptions import (
    SMDebugError,
    SMDebugNotImplementedError,
    SMDebugTypeError,
    SMDebugValueError,
)
from smdebug.sagemaker import profiler_configs, rule_configs
from smdebug.sagemaker.profiler_configs import ProfilerReport
from smdebug.sagemaker.rules import SMS, ActionList, Email, ProfilerRule, Rule, StopTraining

RULES = [name for name in rule_configs.__all__ if name != "get_collection"]


@pytest.mark.parametrize("name", RULES)
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
    assert theirs - {"is_valid_action_object"} == set(rule_configs.__all__)


def test_a_collection_that_a_rule_switches_on_is_the_clouds():
    for name in ("gradients", "losses", "weights", "input_image", "input_sequence"):
        assert rule_configs.get_collection(name) == smdebug_rulesconfig.get_collection(name)
    # The cloud's package gives the parameters alone of these two.
    for name in ("relu_input", "relu_output"):
        assert rule_configs.get_collection(name) == {
            "CollectionName": name,
            "CollectionParameters": smdebug_rulesconfig.get_collection(name),
        }
    rule_configs.get_collection("losses")["CollectionParameters"]["save_interval"] = "1"
    assert rule_configs.get_collection("losses")["CollectionParameters"]["save_interval"] == "500"
    with pytest.raises(SMDebugValueError, match="no rule enables a collection 'biases'"):
        rule_configs.get_collection("biases")


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


# Dataloader is not exported at the top of the cloud's package.
PROFILER_RULES = [name for name in profiler_configs.__all__ if name != "InvalidProfilerRule"]


def accepts(config, **parameters):
    try:
        config(**parameters)
    except AssertionError:
        return False
    return True


def test_there_is_a_profiler_rule_for_each_of_the_cloud():
    theirs = {name for name in dir(smdebug_rulesconfig) if name[0].isupper()}
    actions = {"ActionList", "Email", "SMS", "StopTraining"}
    assert theirs - actions | {"Dataloader"} == set(PROFILER_RULES)


@pytest.mark.parametrize("name", sorted(set(PROFILER_RULES) - {"ProfilerReport"}))
def test_a_profiler_rule_takes_and_refuses_what_the_clouds_does(name):
    ours, theirs = getattr(profiler_configs, name), getattr(cloud_profiler_rules, name)
    assert ours().rule_name == theirs().rule_name == name
    assert ours().rule_parameters == theirs().rule_parameters
    assert list(inspect.signature(ours).parameters.values()) == list(
        inspect.signature(theirs).parameters.values()
    )
    for parameter in inspect.signature(theirs).parameters:
        for value in (-1, 0, 0.5, 1, 100, 101):
            given = {parameter: value}
            assert accepts(ours, **given) == accepts(theirs, **given), given
            if accepts(ours, **given):
                assert ours(**given).rule_parameters == theirs(**given).rule_parameters
        for value in ("90", True, None):
            if (parameter, value) not in (("mode", "90"), ("mode", None)):
                assert not accepts(ours, **{parameter: value}), (parameter, value)
    with pytest.raises(TypeError, match="nope"):
        ours(nope=1)


@pytest.mark.parametrize("name", PROFILER_RULES)
def test_a_profiler_rule_is_described_as_the_clouds_api_wants_it(name):
    for package in (profiler_configs, cloud_profiler_rules):
        config = getattr(package, name)()
        assert ProfilerRule.sagemaker(config).to_profiler_rule_config_dict() == {
            "RuleConfigurationName": name,
            "RuleParameters": {key: str(value) for key, value in config.rule_parameters.items()},
        }


def test_the_parameters_of_a_profiler_report_travel_as_the_text_of_a_dict():
    report = ProfilerReport(opt_out_telemetry=True, cpubottleneck_CPU_threshold=90)
    rule = ProfilerRule.sagemaker(report, name="Mine", instance_type="ml.t3.medium")
    assert rule.to_profiler_rule_config_dict() == {
        "RuleConfigurationName": "Mine",
        "InstanceType": "ml.t3.medium",
        "RuleParameters": {
            "rule_to_invoke": "ProfilerReport",
            "opt_out_telemetry": "True",
            "custom_rule_parameters": "{'CPUBottleneck_cpu_threshold': 90}",
        },
    }
    assert ProfilerReport().rule_parameters == {
        "rule_to_invoke": "ProfilerReport",
        "opt_out_telemetry": False,
    }


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"Nope_threshold": 1}, AssertionError, "'Nope_threshold'.*one of the rules BatchSize"),
        ({"CPUBottleneck": 1}, AssertionError, "'CPUBottleneck'"),
        ({"CPUBottleneck_": 1}, TypeError, "CPUBottleneck has no parameter ''"),
        ({"CPUBottleneck_nope": 1}, TypeError, "CPUBottleneck has no parameter 'nope'"),
        ({"CPUBottleneck_cpu_threshold": 101}, AssertionError, "cpu_threshold was given 101"),
        ({"BatchSize_patience": 0}, AssertionError, "patience was given 0, expected .* above 0"),
        ({"StepOutlier_mode": 1}, AssertionError, "mode was given 1"),
    ],
)
def test_a_profiler_report_refuses_what_none_of_its_rules_takes(parameters, error, message):
    with pytest.raises(error, match=message) as refused:
        ProfilerReport(**parameters)
    assert isinstance(refused.value, SMDebugError)
    with pytest.raises(error):  # as the cloud's package does
        smdebug_rulesconfig.ProfilerReport(**parameters)


def test_a_profiler_report_opts_out_of_telemetry_with_a_bool_alone():
    with pytest.raises(SMDebugValueError, match="opt_out_telemetry was given 'yes'"):
        ProfilerReport(opt_out_telemetry="yes")


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
    with pytest.raises(SMDebugNotImplementedError, match="'BatchSize' cannot run"):
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
    assert "does not run profiler rules" in done.stderr
