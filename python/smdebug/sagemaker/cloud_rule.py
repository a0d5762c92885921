"""`CloudRule`: the base class of the rules that scripts for the cloud configure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.hook_arguments import shown
from smdebug.log import get_logger

_logger = get_logger()
# The keys of a request, and the attributes that hold their values.
_ATTRIBUTES = {
    "RuleConfigurationName": "name",
    "RuleEvaluatorImage": "image_uri",
    "InstanceType": "instance_type",
    "VolumeSizeInGB": "volume_size_in_gb",
    "LocalPath": "container_local_output_path",
    "S3OutputPath": "s3_output_path",
    "RuleParameters": "rule_parameters",
}


@dataclass(eq=False)
class CloudRule:
    """A rule with a name and parameters.

    Attributes: `name`; `rule_parameters`, a dict with `rule_to_invoke`; `image_uri`,
    `instance_type`, `volume_size_in_gb`, `container_local_output_path` and `s3_output_path`, which
    only the cloud reads.
    """

    name: str
    rule_parameters: dict[str, Any]
    image_uri: str | None = None
    instance_type: str | None = None
    volume_size_in_gb: int | None = None
    container_local_output_path: str | None = None
    s3_output_path: str | None = None

    def _request(self) -> dict[str, Any]:
        """The request for the cloud's API, without the fields that were not given."""
        fields = {key: getattr(self, attribute) for key, attribute in _ATTRIBUTES.items()}
        return {key: value for key, value in fields.items() if value is not None}


def parameters_of_custom_rule(source: str | None, rule_to_invoke: str | None) -> Mapping[str, str]:
    """The parameters that name a custom rule: the class `rule_to_invoke` in the file `source`.

    Empty if neither is given. Raises SMDebugValueError if only one of them is given."""
    if bool(source) != bool(rule_to_invoke):
        raise SMDebugValueError("give both source and rule_to_invoke, or neither")
    return {"source_s3_uri": source, "rule_to_invoke": rule_to_invoke} if source else {}


def attributes_of_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of CloudRule that a request for the cloud's API gives, the reverse of
    `CloudRule._request`. Unknown keys are logged.

    Raises SMDebugTypeError for a request that is not a dict or whose parameters are not, and
    SMDebugValueError if it has no name."""
    if not isinstance(request, Mapping):
        raise SMDebugTypeError(
            f"the request of a rule is a dict with RuleConfigurationName, found {shown(request)}"
        )
    given = {key: value for key, value in request.items() if value is not None}
    name = given.get("RuleConfigurationName")
    if not name:
        raise SMDebugValueError(
            "the request of a rule has no RuleConfigurationName; its keys are "
            f"{', '.join(map(repr, request)) or 'none'}"
        )
    for key in given:
        if key not in _ATTRIBUTES:
            _logger.warning(
                "rule '%s': the key '%s' of the request is unknown and ignored; the known keys "
                "are %s",
                *(name, key, ", ".join(_ATTRIBUTES)),
            )
    parameters = given.setdefault("RuleParameters", {})
    if not isinstance(parameters, Mapping):
        raise SMDebugTypeError(
            f"rule '{name}': RuleParameters is a dict, found {shown(parameters)}"
        )
    return {_ATTRIBUTES[key]: value for key, value in given.items() if key in _ATTRIBUTES}
