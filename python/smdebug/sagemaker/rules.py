"""Rules as scripts for the cloud configure them: `Rule.sagemaker(rule_configs.overfit(), …)`.

Such a rule runs on any machine: `arguments()` returns the options of `smdebug run`, `watch` and
`check` that judge with the rule and perform its actions.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from smdebug import _core
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.hook_arguments import shown
from smdebug.log import get_logger
from smdebug.rules.action import SMS, ActionList, Email, StopTraining
from smdebug.sagemaker import rule_configs
from smdebug.sagemaker.cloud_rule import (
    CloudRule,
    attributes_of_request,
    parameters_of_custom_rule,
)
from smdebug.sagemaker.profiler_rule import ProfilerRule

__all__ = ["Rule", "ProfilerRule", "rule_configs", "ActionList", "StopTraining", "Email", "SMS"]

_logger = get_logger()


class Rule(CloudRule):
    """A rule with its parameters, collections and actions.

    Create it with `Rule.sagemaker`, `Rule.custom` or `Rule.from_debugger_rule_config_dict`.
    Attributes in addition to those of CloudRule: `collection_configs`, a list of dicts with
    `CollectionName` and `CollectionParameters`; `actions`, an action, an `ActionList` or None.
    """

    def __init__(
        self,
        name: str,
        rule_parameters: Mapping[str, Any],
        collection_configs: Iterable[Any] | None = None,
        actions: Any | None = None,
        **for_the_cloud: Any,
    ) -> None:
        super().__init__(name, dict(rule_parameters), **for_the_cloud)
        self.collection_configs: list[dict[str, Any]] = [
            _collection_dict(collection) for collection in collection_configs or ()
        ]
        self.actions = actions

    @classmethod
    def sagemaker(
        cls,
        base_config: Mapping[str, Any],
        name: str | None = None,
        container_local_output_path: str | None = None,
        s3_output_path: str | None = None,
        other_trials_s3_input_paths: Sequence[str] | None = None,
        rule_parameters: Mapping[str, Any] | None = None,
        collections_to_save: Iterable[Any] | None = None,
        actions: Any | None = None,
    ) -> Rule:
        """A built-in rule. `base_config` is the result of a function of `rule_configs`.

        `name` defaults to the name in the configuration. `rule_parameters`, a dict of str, override
        the defaults. Each entry of `other_trials_s3_input_paths` becomes the parameter
        `other_trial_<i>`. `collections_to_save`, dicts like those of the configuration or objects
        with `name` and `parameters`, replace the collections of the configuration.

        Raises SMDebugValueError if `rule_parameters` contains `rule_to_invoke`, and
        SMDebugTypeError for invalid actions or another `base_config`.
        """
        if not isinstance(base_config, Mapping) or "DebugRuleConfiguration" not in base_config:
            raise SMDebugTypeError(
                "base_config is the result of a function of rule_configs, found "
                f"{shown(base_config)}; Rule.from_debugger_rule_config_dict reads the request of a "
                "rule"
            )
        base = copy.deepcopy(base_config)["DebugRuleConfiguration"]
        if "rule_to_invoke" in (rule_parameters or {}):
            raise SMDebugValueError(
                "rule_parameters must not contain 'rule_to_invoke': base_config sets it"
            )
        collections = collections_to_save or base_config.get("CollectionConfigurations", [])
        return cls(
            name or base["RuleConfigurationName"],
            _parameters(
                base["RuleParameters"], rule_parameters, other_trials_s3_input_paths, actions
            ),
            collections,
            actions,
            container_local_output_path=container_local_output_path,
            s3_output_path=s3_output_path,
        )

    @classmethod
    def custom(
        cls,
        name: str,
        image_uri: str | None,
        instance_type: str | None,
        volume_size_in_gb: int | None,
        source: str | None = None,
        rule_to_invoke: str | None = None,
        container_local_output_path: str | None = None,
        s3_output_path: str | None = None,
        other_trials_s3_input_paths: Sequence[str] | None = None,
        rule_parameters: Mapping[str, Any] | None = None,
        collections_to_save: Iterable[Any] | None = None,
        actions: Any | None = None,
    ) -> Rule:
        """A custom rule: the class `rule_to_invoke` in the file `source`.

        Raises SMDebugValueError if only one of the two is given.
        """
        base = parameters_of_custom_rule(source, rule_to_invoke)
        return cls(
            name,
            _parameters(base, rule_parameters, other_trials_s3_input_paths, actions),
            collections_to_save,
            actions,
            image_uri=image_uri,
            instance_type=instance_type,
            volume_size_in_gb=volume_size_in_gb,
            container_local_output_path=container_local_output_path,
            s3_output_path=s3_output_path,
        )

    @classmethod
    def from_debugger_rule_config_dict(cls, request: Mapping[str, Any]) -> Rule:
        """The rule that `request` describes: the result of `to_debugger_rule_config_dict` of this
        class or of the cloud's Python SDK, or an entry of `DebugRuleConfigurations` of a training
        job. Unknown keys are logged.

        A request has no collections: those are part of the configuration of the hook. Its actions
        are the parameter `action_json`.

        Raises SMDebugTypeError if it is not a dict and SMDebugValueError if it has no name.
        """
        return cls(**attributes_of_request(request))

    def to_debugger_rule_config_dict(self) -> dict[str, Any]:
        """The request for the cloud's API, without the fields that were not given."""
        return self._request()

    def arguments(self) -> list[str]:
        """The options of `smdebug run`, `watch` and `check` for this rule.

        Actions that do not exist are left out and logged. `stop` ends the training that writes the
        run; a prefix of the names of jobs in the cloud is left out and logged."""
        rule = self.rule_parameters.get("rule_to_invoke", self.name)
        source = self.rule_parameters.get("source_s3_uri")
        words = ["--rule", f"{source}:{rule}" if source else rule]
        for key, value in self.rule_parameters.items():
            if key not in ("rule_to_invoke", "source_s3_uri", "action_json"):
                words += ["--set", f"{key}={value}"]
        entries, refused = _core.parse_action_string(self.rule_parameters.get("action_json", ""))
        for sentence in refused:
            _logger.warning("rule '%s': %s", self.name, sentence)
        for kind, target in entries:
            if kind == "stop" and target:
                _logger.warning(
                    "rule '%s': the command stops the training that writes the run; the job prefix "
                    "'%s' is ignored",
                    *(self.name, target),
                )
            words += ["--action", kind if kind == "stop" else f"{kind}={target}"]
        return words


def _parameters(
    base: Mapping[str, Any],
    given: Mapping[str, Any] | None,
    other_trials: Sequence[str] | None,
    actions: Any | None,
) -> dict[str, Any]:
    parameters = {**base, **(given or {})}
    # Only `actions` configures actions; an action string among the parameters would run unseen.
    parameters.pop("action_json", None)
    for i, path in enumerate(other_trials or []):
        parameters[f"other_trial_{i}"] = path
    if actions is not None:
        if not callable(getattr(actions, "serialize", None)):
            raise SMDebugTypeError(f"expected an action or an ActionList, found {actions!r}")
        parameters["action_json"] = actions.serialize()
    return parameters


def _collection_dict(collection: Any) -> dict[str, Any]:
    if isinstance(collection, dict):
        return copy.deepcopy(collection)
    parameters = dict(collection.parameters or {})
    return {"CollectionName": collection.name, "CollectionParameters": parameters}
