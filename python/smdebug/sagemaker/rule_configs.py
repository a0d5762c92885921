"""The cloud's descriptions of the built-in rules: `rule_configs.vanishing_gradient()`.

Each function returns a new dict: `DebugRuleConfiguration` with `RuleConfigurationName` and
`RuleParameters`, and `CollectionConfigurations` if the rule enables collections by itself.
`smdebug.sagemaker.rules.Rule.sagemaker` turns it into a rule. `get_collection` returns one of those
collections. Actions and profiler rules have their names here as well, as in the cloud's package:
`rule_configs.StopTraining()`, `rule_configs.ProfilerReport()`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from smdebug.exceptions import SMDebugValueError
from smdebug.rules.action import SMS as SMS
from smdebug.rules.action import ActionList as ActionList
from smdebug.rules.action import Email as Email
from smdebug.rules.action import StopTraining as StopTraining
from smdebug.sagemaker.profiler_configs import BatchSize as BatchSize
from smdebug.sagemaker.profiler_configs import CPUBottleneck as CPUBottleneck
from smdebug.sagemaker.profiler_configs import Dataloader as Dataloader
from smdebug.sagemaker.profiler_configs import GPUMemoryIncrease as GPUMemoryIncrease
from smdebug.sagemaker.profiler_configs import IOBottleneck as IOBottleneck
from smdebug.sagemaker.profiler_configs import LoadBalancing as LoadBalancing
from smdebug.sagemaker.profiler_configs import LowGPUUtilization as LowGPUUtilization
from smdebug.sagemaker.profiler_configs import MaxInitializationTime as MaxInitializationTime
from smdebug.sagemaker.profiler_configs import OverallSystemUsage as OverallSystemUsage
from smdebug.sagemaker.profiler_configs import ProfilerReport as ProfilerReport
from smdebug.sagemaker.profiler_configs import StepOutlier as StepOutlier

_EVERY_500 = {"save_interval": "500"}
_EVERY_5 = {"save_interval": "5"}


def _every_500(include_regex: str) -> dict[str, str]:
    return {"include_regex": include_regex, **_EVERY_500}


# By the name of the function: the name of the rule, and its collections with their parameters.
_RULES: dict[str, tuple[str, dict[str, dict[str, str]]]] = {
    "all_zero": ("AllZero", {}),
    "check_input_images": (
        "CheckInputImages",
        {"input_image": _every_500(".*hybridsequential0_input_0")},
    ),
    "class_imbalance": ("ClassImbalance", {}),
    "confusion": ("Confusion", {}),
    "create_xgboost_report": (
        "CreateXgboostReport",
        {
            "metrics": _EVERY_5,
            "feature_importance": _EVERY_5,
            "hyperparameters": {"save_steps": "0"},
            "predictions": _EVERY_5,
            "labels": _EVERY_5,
        },
    ),
    "dead_relu": ("DeadRelu", {"relu_output": _every_500(".*relu_output")}),
    "exploding_tensor": ("ExplodingTensor", {}),
    "feature_importance_overweight": (
        "FeatureImportanceOverweight",
        {"feature_importance": _EVERY_500},
    ),
    "loss_not_decreasing": ("LossNotDecreasing", {"losses": _EVERY_500}),
    "nlp_sequence_ratio": (
        "NLPSequenceRatio",
        {"input_sequence": _every_500(".*embedding0_input_0")},
    ),
    "overfit": ("Overfit", {}),
    "overtraining": ("Overtraining", {}),
    "poor_weight_initialization": (
        "PoorWeightInitialization",
        {"relu_input": _every_500(".*relu_input")},
    ),
    "saturated_activation": ("SaturatedActivation", {}),
    "similar_across_runs": ("SimilarAcrossRuns", {}),
    "stalled_training_rule": ("StalledTrainingRule", {}),
    "tensor_variance": ("TensorVariance", {}),
    "tree_depth": ("TreeDepth", {}),
    "unchanged_tensor": ("UnchangedTensor", {}),
    "vanishing_gradient": ("VanishingGradient", {"gradients": _EVERY_500}),
    "weight_update_ratio": ("WeightUpdateRatio", {"weights": _EVERY_500}),
}

_COLLECTIONS = {
    name: parameters
    for _, collections in _RULES.values()
    for name, parameters in collections.items()
}

__all__ = [*_RULES, "get_collection"]


def _configuration(rule: str, collections: dict[str, dict[str, str]]) -> dict[str, Any]:
    configuration: dict[str, Any] = {
        "DebugRuleConfiguration": {
            "RuleConfigurationName": rule,
            "RuleParameters": {"rule_to_invoke": rule},
        }
    }
    if collections:
        configuration["CollectionConfigurations"] = [
            _collection(name, parameters) for name, parameters in collections.items()
        ]
    return configuration


def _collection(name: str, parameters: dict[str, str]) -> dict[str, Any]:
    return {"CollectionName": name, "CollectionParameters": copy.deepcopy(parameters)}


def get_collection(collection_name: str) -> dict[str, Any]:
    """A collection that a rule enables by itself, in the form of `CollectionConfigurations`: a new
    dict with `CollectionName` and `CollectionParameters`. Two rules enable `feature_importance`;
    this returns the one of FeatureImportanceOverweight.

    Raises SMDebugValueError if no rule enables a collection of that name.
    """
    if collection_name not in _COLLECTIONS:
        raise SMDebugValueError(
            f"no rule enables a collection '{collection_name}'; there are "
            f"{', '.join(sorted(_COLLECTIONS))}"
        )
    return _collection(collection_name, _COLLECTIONS[collection_name])


def _function_for(name: str) -> Callable[[], dict[str, Any]]:
    def function() -> dict[str, Any]:
        return _configuration(*_RULES[name])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The cloud's description of the rule {_RULES[name][0]}: a new dict."
    return function


globals().update({name: _function_for(name) for name in _RULES})
