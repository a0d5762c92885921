"""Runs a command, such as `python train.py`, under the rules of a script for the cloud."""

import subprocess
import sys

from smdebug.sagemaker import Rule, rule_configs

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

options = [word for rule in rules for word in rule.arguments()]
command = ["smdebug", "run", "--out", "judged", *options, "--", *sys.argv[1:]]
sys.exit(subprocess.call(command))
