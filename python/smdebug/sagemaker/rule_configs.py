"""The cloud's descriptions of the built-in rules: `rule_configs.vanishing_gradient()`.

Each function returns a new dict: `DebugRuleConfiguration` with `RuleConfigurationName` and
`RuleParameters`, and, where the rule switches on collections by itself, `CollectionConfigurations`.
`smdebug.sagemaker.rules.Rule` makes a rule of it. `get_collection` gives one of those collections.
"""

import copy

from smdebug.exceptions import SMDebugValueError

_EVERY_500 = {"save_interval": "500"}
_EVERY_5 = {"save_interval": "5"}


def _every_500(include_regex):
    return {"include_regex": include_regex, **_EVERY_500}


# The function's name: the rule's, and its collections with their parameters.
_RULES = {
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


def _configuration(rule, collections):
    configuration = {
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


def _collection(name, parameters):
    return {"CollectionName": name, "CollectionParameters": copy.deepcopy(parameters)}


def get_collection(collection_name):
    """A collection that a rule switches on by itself, as `CollectionConfigurations` has it: a new
    dict with `CollectionName` and `CollectionParameters`. `feature_importance`, which two rules
    switch on, is that of FeatureImportanceOverweight.

    Raises SMDebugValueError where no rule switches on one of that name.
    """
    if collection_name not in _COLLECTIONS:
        raise SMDebugValueError(
            f"no rule switches on a collection '{collection_name}': there are "
            f"{', '.join(sorted(_COLLECTIONS))}"
        )
    return _collection(collection_name, _COLLECTIONS[collection_name])


def _function_for(name):
    def function():
        return _configuration(*_RULES[name])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The cloud's description of the rule {_RULES[name][0]}: a new dict."
    return function


globals().update({name: _function_for(name) for name in _RULES})
