"""Prints the requests that the debugger classes of the SageMaker Python SDK make, as JSON.

    python sdk_requests.py MODULE

MODULE is sagemaker.debugger (version 2) or sagemaker.core.debugger (version 3); run it in an
environment that has the SDK. The last line of standard output is the JSON.
"""

import importlib
import inspect
import json
import sys

from smdebug_rulesconfig.profiler_rules import rules as profiler_configs

debugger = importlib.import_module(sys.argv[1])
configs = debugger.rule_configs

# The parameters that the documentation of the cloud lists for each built-in rule.
PARAMETERS = {
    "all_zero": {"collection_names": "weights", "tensor_regex": ".*", "threshold": "100"},
    "check_input_images": {
        "threshold_mean": "0.2",
        "threshold_samples": "500",
        "regex": ".*hybridsequential0_input_0",
        "channel": "1",
    },
    "class_imbalance": {
        "threshold_imbalance": "10",
        "threshold_misprediction": "0.7",
        "samples": "500",
        "argmax": "False",
        "labels_regex": ".*labels",
        "predictions_regex": ".*predictions",
    },
    "confusion": {
        "category_no": "10",
        "labels": "labels",
        "predictions": "predictions",
        "labels_collection": "labels",
        "predictions_collection": "predictions",
        "min_diag": "0.9",
        "max_off_diag": "0.1",
    },
    "create_xgboost_report": {},
    "dead_relu": {
        "tensor_regex": ".*relu_output",
        "threshold_inactivity": "1.0",
        "threshold_layer": "50.0",
    },
    "exploding_tensor": {
        "collection_names": "weights",
        "tensor_regex": ".*",
        "only_nan": "False",
    },
    "feature_importance_overweight": {
        "threshold": "0.8",
        "nfeatures": "3",
        "tensor_regex": ".*feature_importance/weight",
    },
    "loss_not_decreasing": {
        "collection_names": "losses",
        "tensor_regex": ".*Loss.*",
        "use_losses_collection": "True",
        "num_steps": "10",
        "diff_percent": "0.1",
        "increase_threshold_percent": "5",
        "mode": "GLOBAL",
    },
    "nlp_sequence_ratio": {
        "tensor_regex": ".*embedding0_input_0",
        "token_values": "0,1",
        "token_thresholds_percent": "50,60",
    },
    "overfit": {
        "tensor_regex": ".*Loss.*",
        "start_step": "0",
        "patience": "1",
        "ratio_threshold": "0.1",
    },
    "overtraining": {"patience_train": "5", "patience_validation": "10", "delta": "0.01"},
    "poor_weight_initialization": {
        "activation_inputs_regex": ".*relu_input",
        "threshold": "10.0",
        "distribution_range": "0.001",
        "patience": "5",
        "steps": "10",
    },
    "saturated_activation": {
        "collection_names": "activations",
        "tensor_regex": ".*tanh_input|.*sigmoid_input",
        "threshold_tanh_min": "-9.4999",
        "threshold_tanh_max": "9.4999",
        "threshold_sigmoid_min": "-23",
        "threshold_sigmoid_max": "16.99999",
        "threshold_inactivity": "1.0",
        "threshold_layer": "50.0",
    },
    "similar_across_runs": {"collection_names": "weights", "tensor_regex": ".*"},
    "stalled_training_rule": {
        "threshold": "1800",
        "stop_training_on_fire": "False",
        "training_job_name_prefix": "job",
    },
    "tensor_variance": {
        "collection_names": "weights",
        "tensor_regex": ".*",
        "max_threshold": "10",
        "min_threshold": "0.00001",
    },
    "tree_depth": {"depth": "4"},
    "unchanged_tensor": {
        "collection_names": "weights",
        "tensor_regex": ".*",
        "num_steps": "3",
        "rtol": "1e-05",
        "atol": "1e-08",
        "equal_nan": "False",
    },
    "vanishing_gradient": {"threshold": "0.0000001"},
    "weight_update_ratio": {
        "num_steps": "100",
        "large_threshold": "10.0",
        "small_threshold": "0.00000001",
        "epsilon": "0.000000001",
    },
}
OTHER_RUN = "/other/run"
MODES = ("", "train.", "eval.", "predict.", "global.")
SAVE_KEYS = {"save_interval": 3, "start_step": 20, "end_step": 40, "save_steps": 60}
# Not classes of the API.
NOT_RULES = ("ProfilerRuleBase",)


def save_parameters():
    """Every key about saving, each with a value of its own: the number above plus its mode's."""
    parameters = {}
    for number, mode in enumerate(MODES):
        for key, value in SAVE_KEYS.items():
            text = f"{value + number},{value + number + 10}"
            parameters[mode + key] = text if key == "save_steps" else str(value + number)
    return parameters


def collection(name, parameters=None):
    return debugger.CollectionConfig(name, parameters)


def hooks():
    every_key = {**save_parameters(), "reductions": "min,max,median,mean,std,variance,sum,prod"}
    every_collection_key = {
        **every_key,
        "include_regex": "relu,tanh",
        "save_histogram": "False",
    }
    whole = debugger.DebuggerHookConfig(
        s3_output_path="s3://bucket/prefix",
        container_local_output_path="/opt/ml/output/tensors",
        hook_parameters=save_parameters(),
        collection_configs=[
            collection("weights"),
            collection("gradients", {}),
            collection("mine", every_collection_key),
        ],
    )
    # The reference of the API lists these parameters of a collection; the SDK does not.
    of_the_api = {
        "name": "mine",
        "include_regex": "relu",
        "reduction_config": "{}",
        "save_config": "{}",
        "tensor_names": "a,b",
        "save_histogram": "True",
    }
    by_the_api = debugger.DebuggerHookConfig(collection_configs=[collection("mine", of_the_api)])
    tensorboard = debugger.TensorBoardOutputConfig
    return {
        "hook": whole._to_request_dict(),
        "default_hook": debugger.DebuggerHookConfig()._to_request_dict(),
        "hook_by_the_api": by_the_api._to_request_dict(),
        "tensorboard": tensorboard("s3://bucket/tb", "/opt/ml/output/tb")._to_request_dict(),
        "default_tensorboard": tensorboard("s3://bucket/tb")._to_request_dict(),
        "profiler": debugger.ProfilerConfig(
            "s3://bucket/profile", system_monitor_interval_millis=500
        )._to_request_dict(),
    }


def request_of(rule):
    rule.prepare_actions("job-1")  # as Estimator.fit does
    return rule.to_debugger_rule_config_dict()


def debug_rules():
    made = {}
    for name in sorted(dir(configs)):
        config = getattr(configs, name)
        if not (name.islower() and callable(config)) or name in (
            "get_collection",
            "is_valid_action_object",
        ):
            continue
        plain = debugger.Rule.sagemaker(config())
        others = [OTHER_RUN] if name == "similar_across_runs" else None
        with_parameters = debugger.Rule.sagemaker(
            config(), rule_parameters=PARAMETERS[name], other_trials_s3_input_paths=others
        )
        made[name] = {
            "base_config": config(),
            "request": request_of(plain),
            "collections": [one._to_request_dict() for one in plain.collection_configs],
            "request_with_parameters": request_of(with_parameters),
            "parameters": PARAMETERS[name],
        }
    return made


def every_key_of_a_rule():
    rule = debugger.Rule.custom(
        "Mine",
        "image",
        "ml.t3.medium",
        30,
        source="rules.py",
        rule_to_invoke="MyRule",
        container_local_output_path="/opt/ml/processing/output/rule",
        s3_output_path="s3://bucket/rule",
        other_trials_s3_input_paths=["s3://bucket/a", "s3://bucket/b"],
        rule_parameters={"threshold": "2"},
        collections_to_save=[collection("weights")],
    )
    return request_of(rule)


def actions():
    # The SDK itself takes Email and SMS only in a list.
    made = {
        "StopTraining": configs.StopTraining(),
        "StopTraining with a prefix": configs.StopTraining("prefix"),
        "Email": configs.ActionList(configs.Email("ann@example.com")),
        "SMS": configs.ActionList(configs.SMS("+4912345")),
        "ActionList": configs.ActionList(
            configs.StopTraining(), configs.Email("ann@example.com"), configs.SMS("+4912345")
        ),
    }
    return {
        name: request_of(debugger.Rule.sagemaker(configs.overfit(), actions=action))
        for name, action in made.items()
    }


def profiler_rules():
    made = {}
    for name, config in vars(profiler_configs).items():
        if isinstance(config, type) and name not in NOT_RULES:
            rule = debugger.ProfilerRule.sagemaker(config())
            made[name] = rule.to_profiler_rule_config_dict()
    report = profiler_configs.ProfilerReport(CPUBottleneck_cpu_threshold=95)
    custom = debugger.ProfilerRule.custom(
        "Mine",
        "image",
        "ml.t3.medium",
        30,
        source="rules.py",
        rule_to_invoke="MyRule",
        container_local_output_path="/opt/ml/processing/output/rule",
        s3_output_path="s3://bucket/rule",
        rule_parameters={"threshold": "2"},
    )
    detailed = debugger.get_default_profiler_processing_job()
    return {
        **made,
        "DetailedProfilerProcessing": detailed.to_profiler_rule_config_dict(),
        "a report with a parameter": debugger.ProfilerRule.sagemaker(
            report
        ).to_profiler_rule_config_dict(),
        "a custom rule": custom.to_profiler_rule_config_dict(),
    }


def parameters_of_methods():
    return {
        f"{kind}.{method}": list(inspect.signature(getattr(owner, method)).parameters)
        for kind in ("Rule", "ProfilerRule")
        for owner in [getattr(debugger, kind)]
        for method in ("sagemaker", "custom")
    }


def of_an_estimator():
    """The debugger's part of the request with which an Estimator of version 2 creates a job."""
    import boto3
    import sagemaker
    from sagemaker.estimator import Estimator, _TrainingJob

    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    session = sagemaker.Session(
        boto_session=boto3.Session(region_name="eu-west-1", **keys), default_bucket="bucket"
    )
    estimator = Estimator(
        "image",
        "arn:aws:iam::123456789012:role/role",
        1,
        "ml.m5.large",
        output_path="s3://bucket/output",
        sagemaker_session=session,
        rules=[
            debugger.Rule.sagemaker(configs.vanishing_gradient(), actions=configs.StopTraining()),
            debugger.Rule.sagemaker(configs.dead_relu()),
            debugger.ProfilerRule.sagemaker(configs.BatchSize()),
        ],
        debugger_hook_config=debugger.DebuggerHookConfig(
            hook_parameters={"save_interval": "5"}, collection_configs=[collection("weights")]
        ),
        tensorboard_output_config=debugger.TensorBoardOutputConfig("s3://bucket/tb"),
    )
    estimator._prepare_for_training("job-1")
    request = session._get_train_request(**_TrainingJob._get_train_args(estimator, None, None))
    return {key: request[key] for key in request if "Debug" in key or "Profiler" in key}


def of_shapes():
    """Requests from the classes of version 3 that are named after the API."""
    from sagemaker.core import shapes
    from sagemaker.core.utils.utils import serialize

    hook = shapes.DebugHookConfig(
        s3_output_path="s3://bucket/prefix",
        local_path="/opt/ml/output/tensors",
        hook_parameters={"train.save_interval": "5"},
        collection_configurations=[
            shapes.CollectionConfiguration(
                collection_name="weights", collection_parameters={"save_interval": "2"}
            )
        ],
    )
    rule = shapes.DebugRuleConfiguration(
        rule_configuration_name="VanishingGradient",
        rule_evaluator_image="image",
        local_path="/opt/ml/processing/output/rule",
        s3_output_path="s3://bucket/rule",
        instance_type="ml.t3.medium",
        volume_size_in_gb=30,
        rule_parameters={"rule_to_invoke": "VanishingGradient", "threshold": "0.1"},
    )
    profiler_rule = shapes.ProfilerRuleConfiguration(
        rule_configuration_name="BatchSize",
        rule_evaluator_image="image",
        rule_parameters={"rule_to_invoke": "BatchSize"},
    )
    return {
        "DebugHookConfig": serialize(hook),
        "DebugRuleConfigurations": [serialize(rule)],
        "ProfilerRuleConfigurations": [serialize(profiler_rule)],
    }


if __name__ == "__main__":
    is_version_2 = sys.argv[1] == "sagemaker.debugger"
    requests = {
        **hooks(),
        "debug_rules": debug_rules(),
        "every_key_of_a_rule": every_key_of_a_rule(),
        "actions": actions(),
        "profiler_rules": profiler_rules(),
        "methods": parameters_of_methods(),
        "names": [name for name in dir(configs) if callable(getattr(configs, name))],
        "job": of_an_estimator() if is_version_2 else of_shapes(),
    }
    print(json.dumps(requests))
