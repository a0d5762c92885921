"""The classes that SageMaker scripts configure and read, for use on any machine: rule
configurations (`Rule`, `ProfilerRule`, `rule_configs`), their actions, and profiler reports
(`smdebug.sagemaker.profiler_report`).
"""

from smdebug.sagemaker.rules import (
    SMS,
    ActionList,
    Email,
    ProfilerRule,
    Rule,
    StopTraining,
    rule_configs,
)

__all__ = ["Rule", "ProfilerRule", "rule_configs", "ActionList", "StopTraining", "Email", "SMS"]
