"""Prints the requests for some rules, made with the classes of the SageMaker Python SDK."""

import json

from sagemaker.debugger import Rule, rule_configs

rules = [
    Rule.sagemaker(
        rule_configs.loss_not_decreasing(),
        rule_parameters={"num_steps": "5", "mode": "TRAIN"},
        actions=rule_configs.ActionList(
            rule_configs.StopTraining(), rule_configs.Email("ann@example.com")
        ),
    ),
    Rule.sagemaker(
        rule_configs.tensor_variance(),
        rule_parameters={"collection_names": "weights", "max_threshold": "10"},
    ),
]

for rule in rules:
    rule.prepare_actions("job-1")  # as Estimator.fit does
print(json.dumps({"DebugRuleConfigurations": [x.to_debugger_rule_config_dict() for x in rules]}))
