"""`CloudRule`: the base class of the rules that scripts for the cloud configure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from smdebug.exceptions import SMDebugValueError


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
        fields = {
            "RuleConfigurationName": self.name,
            "RuleEvaluatorImage": self.image_uri,
            "InstanceType": self.instance_type,
            "VolumeSizeInGB": self.volume_size_in_gb,
            "LocalPath": self.container_local_output_path,
            "S3OutputPath": self.s3_output_path,
            "RuleParameters": self.rule_parameters,
        }
        return {key: value for key, value in fields.items() if value is not None}


def parameters_of_custom_rule(source: str | None, rule_to_invoke: str | None) -> Mapping[str, str]:
    """The parameters that name a custom rule: the class `rule_to_invoke` in the file `source`.

    Empty if neither is given. Raises SMDebugValueError if only one of them is given."""
    if bool(source) != bool(rule_to_invoke):
        raise SMDebugValueError("give both source and rule_to_invoke, or neither")
    return {"source_s3_uri": source, "rule_to_invoke": rule_to_invoke} if source else {}
