"""Rules as scripts for the cloud configure them: `Rule.sagemaker(rule_configs.overfit(), …)`.

What is configured so runs on one's own machine: `arguments()` are the options of `smdebug run`,
`watch` and `check` that judge with the rule and perform its actions.
"""

import copy

from smdebug import _core
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.rules.action import SMS, ActionList, Email, StopTraining
from smdebug.sagemaker import rule_configs
from smdebug.sagemaker.cloud_rule import CloudRule, parameters_of_custom_rule
from smdebug.sagemaker.profiler_rule import ProfilerRule

__all__ = ["Rule", "ProfilerRule", "rule_configs", "ActionList", "StopTraining", "Email", "SMS"]


class Rule(CloudRule):
    """A rule with its parameters, collections and actions.

    Made by `Rule.sagemaker` or `Rule.custom`. Attributes beside those of CloudRule:
    `collection_configs`, a list of dicts with `CollectionName` and `CollectionParameters`;
    `actions`, an action, an `ActionList` or None.
    """

    def __init__(self, name, rule_parameters, collection_configs=(), actions=None, **for_the_cloud):
        super().__init__(name, dict(rule_parameters), **for_the_cloud)
        self.collection_configs = list(collection_configs)
        self.actions = actions

    @classmethod
    def sagemaker(
        cls,
        base_config,
        name=None,
        container_local_output_path=None,
        s3_output_path=None,
        other_trials_s3_input_paths=None,
        rule_parameters=None,
        collections_to_save=None,
        actions=None,
    ):
        """A built-in rule. `base_config` is what a function of `rule_configs` returns.

        `name` is by default the one of the configuration. `rule_parameters`, a dict of str, come
        before the defaults; each entry of `other_trials_s3_input_paths` becomes the parameter
        `other_trial_<i>`; `collections_to_save`, dicts like those of the configuration or objects
        with `name` and `parameters`, take the place of the configuration's. Raises
        SMDebugValueError for a parameter `rule_to_invoke`, SMDebugTypeError for actions that are
        none.
        """
        base = copy.deepcopy(base_config)["DebugRuleConfiguration"]
        if "rule_to_invoke" in (rule_parameters or {}):
            raise SMDebugValueError(
                "the parameter 'rule_to_invoke' is the configuration's: it names the rule"
            )
        collections = collections_to_save or base_config.get("CollectionConfigurations", [])
        return cls(
            name=name or base["RuleConfigurationName"],
            rule_parameters=_parameters(
                base["RuleParameters"], rule_parameters, other_trials_s3_input_paths, actions
            ),
            collection_configs=[_collection_dict(collection) for collection in collections],
            actions=actions,
            container_local_output_path=container_local_output_path,
            s3_output_path=s3_output_path,
        )

    @classmethod
    def custom(
        cls,
        name,
        image_uri,
        instance_type,
        volume_size_in_gb,
        source=None,
        rule_to_invoke=None,
        container_local_output_path=None,
        s3_output_path=None,
        other_trials_s3_input_paths=None,
        rule_parameters=None,
        collections_to_save=None,
        actions=None,
    ):
        """A rule of one's own: the class `rule_to_invoke` in the file `source`.

        Both or neither are given; SMDebugValueError otherwise.
        """
        base = parameters_of_custom_rule(source, rule_to_invoke)
        return cls(
            name=name,
            rule_parameters=_parameters(
                base, rule_parameters, other_trials_s3_input_paths, actions
            ),
            collection_configs=[_collection_dict(entry) for entry in collections_to_save or []],
            actions=actions,
            image_uri=image_uri,
            instance_type=instance_type,
            volume_size_in_gb=volume_size_in_gb,
            container_local_output_path=container_local_output_path,
            s3_output_path=s3_output_path,
        )

    def to_debugger_rule_config_dict(self):
        """The request of the cloud's API: a dict without what was not given."""
        return self._request()

    def arguments(self):
        """The options of `smdebug run`, `watch` and `check` for this rule: a list of str."""
        rule = self.rule_parameters.get("rule_to_invoke", self.name)
        source = self.rule_parameters.get("source_s3_uri")
        words = ["--rule", f"{source}:{rule}" if source else rule]
        for key, value in self.rule_parameters.items():
            if key not in ("rule_to_invoke", "source_s3_uri", "action_json"):
                words += ["--set", f"{key}={value}"]
        entries, _ = _core.parse_action_string(self.rule_parameters.get("action_json", ""))
        for kind, target in entries:
            words += ["--action", kind if kind == "stop" else f"{kind}={target}"]
        return words


def _parameters(base, given, other_trials, actions):
    parameters = {**base, **(given or {})}
    # The actions are what `actions` says; a text of one's own would be performed unseen.
    parameters.pop("action_json", None)
    for i, path in enumerate(other_trials or []):
        parameters[f"other_trial_{i}"] = path
    if actions is not None:
        if not callable(getattr(actions, "serialize", None)):
            raise SMDebugTypeError(f"an action or an ActionList was expected, found {actions!r}")
        parameters["action_json"] = actions.serialize()
    return parameters


def _collection_dict(collection):
    if isinstance(collection, dict):
        return copy.deepcopy(collection)
    parameters = dict(collection.parameters or {})
    return {"CollectionName": collection.name, "CollectionParameters": parameters}
