"""`ProfilerRule`: the cloud's rules over a profile of the machine, as scripts configure them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from smdebug.exceptions import SMDebugNotImplementedError, SMDebugTypeError
from smdebug.sagemaker.cloud_rule import (
    CloudRule,
    attributes_of_request,
    parameters_of_custom_rule,
)


class ProfilerRule(CloudRule):
    """A profiler rule with its parameters, all of them text. It produces the request for the
    cloud's API but cannot run, because smdebug does not profile the machine.

    Create it with `ProfilerRule.sagemaker`, `ProfilerRule.custom` or
    `ProfilerRule.from_profiler_rule_config_dict`. Attributes: see CloudRule.
    """

    def __init__(
        self,
        name: str,
        rule_parameters: Mapping[str, Any],
        *for_the_cloud: Any,
        **named_for_the_cloud: Any,
    ) -> None:
        # The API takes text for every value, also for the nested parameters of ProfilerReport.
        texts = {key: str(value) for key, value in rule_parameters.items()}
        super().__init__(name, texts, *for_the_cloud, **named_for_the_cloud)

    @classmethod
    def sagemaker(
        cls,
        base_config: Any,
        name: str | None = None,
        container_local_output_path: str | None = None,
        s3_output_path: str | None = None,
        instance_type: str | None = None,
        volume_size_in_gb: int | None = None,
    ) -> ProfilerRule:
        """A rule of the cloud: `ProfilerRule.sagemaker(BatchSize(window=100))`.

        `base_config` holds the parameters. It is an object of one of the classes of
        `smdebug.sagemaker.profiler_configs` or of the package smdebug_rulesconfig. Raises
        SMDebugTypeError for anything else.
        """
        rule = getattr(base_config, "rule_name", None)
        parameters = getattr(base_config, "rule_parameters", None)
        if not isinstance(rule, str) or not isinstance(parameters, dict):
            raise SMDebugTypeError(
                "expected a profiler rule of smdebug.sagemaker.profiler_configs or of "
                f"smdebug_rulesconfig, such as BatchSize(); found {base_config!r}"
            )
        machine = (None, instance_type, volume_size_in_gb)
        paths = (container_local_output_path, s3_output_path)
        return cls(name or rule, parameters, *machine, *paths)

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
        rule_parameters: Mapping[str, Any] | None = None,
    ) -> ProfilerRule:
        """A custom rule: the class `rule_to_invoke` in the file `source`.

        Raises SMDebugValueError if only one of the two is given.
        """
        base = parameters_of_custom_rule(source, rule_to_invoke)
        machine = (image_uri, instance_type, volume_size_in_gb)
        paths = (container_local_output_path, s3_output_path)
        return cls(name, {**base, **(rule_parameters or {})}, *machine, *paths)

    @classmethod
    def from_profiler_rule_config_dict(cls, request: Mapping[str, Any]) -> ProfilerRule:
        """The rule that `request` describes: the result of `to_profiler_rule_config_dict` of this
        class or of the cloud's Python SDK, or an entry of `ProfilerRuleConfigurations` of a
        training job. Unknown keys are logged.

        Raises SMDebugTypeError if it is not a dict and SMDebugValueError if it has no name.
        """
        return cls(**attributes_of_request(request))

    def to_profiler_rule_config_dict(self) -> dict[str, Any]:
        """The request for the cloud's API, without the fields that were not given."""
        return self._request()

    def arguments(self) -> NoReturn:
        """Raises SMDebugNotImplementedError, because no command runs a profiler rule."""
        raise SMDebugNotImplementedError(
            f"the profiler rule '{self.name}' cannot run: it judges a profile of the machine, "
            "and smdebug does not profile the machine; remove it"
        )
