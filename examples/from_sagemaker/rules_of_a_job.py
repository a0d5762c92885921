"""Judges a run with the rules of a training job: `python rules_of_a_job.py JOB.json RUN`."""

import json
import pathlib
import subprocess
import sys

from smdebug.sagemaker import Rule

job = json.loads(pathlib.Path(sys.argv[1]).read_text())

rules = [Rule.from_debugger_rule_config_dict(x) for x in job["DebugRuleConfigurations"]]
options = [word for rule in rules for word in rule.arguments()]
sys.exit(subprocess.call(["smdebug", "check", sys.argv[2], *options]))
