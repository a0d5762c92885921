"""`CloudRule`: what a rule as scripts for the cloud configure it has, whatever it judges."""

from smdebug.exceptions import SMDebugValueError


class CloudRule:
    """Attributes: `name`; `rule_parameters`, a dict with `rule_to_invoke`; `image_uri`,
    `instance_type`, `volume_size_in_gb`, `container_local_output_path` and `s3_output_path`, which
    only the cloud reads.
    """

    def __init__(
        self,
        name,
        rule_parameters,
        image_uri=None,
        instance_type=None,
        volume_size_in_gb=None,
        container_local_output_path=None,
        s3_output_path=None,
    ):
        self.name = name
        self.rule_parameters = rule_parameters
        self.image_uri = image_uri
        self.instance_type = instance_type
        self.volume_size_in_gb = volume_size_in_gb
        self.container_local_output_path = container_local_output_path
        self.s3_output_path = s3_output_path

    def _request(self):
        """The request of the cloud's API: a dict without what was not given."""
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


def parameters_of_custom_rule(source, rule_to_invoke):
    """The first parameters of a rule that is the class `rule_to_invoke` in the file `source`; none
    where neither is given. Raises SMDebugValueError where one of them is missing."""
    if bool(source) != bool(rule_to_invoke):
        raise SMDebugValueError("source and rule_to_invoke are given both, or not at all")
    return {"source_s3_uri": source, "rule_to_invoke": rule_to_invoke} if source else {}
