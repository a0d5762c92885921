"""`ProfilerRule`: the cloud's rules over a profile of the machine, as scripts configure them."""

from smdebug.exceptions import SMDebugNotImplementedError, SMDebugTypeError, SMDebugValueError


class ProfilerRule:
    """A profiler rule with its parameters. It is described as the cloud's API wants it, and not
    run: smdebug takes no profile of the machine.

    Made by `ProfilerRule.sagemaker` or `ProfilerRule.custom`. Attributes: `name`;
    `rule_parameters`, a dict of str with `rule_to_invoke`; `image_uri`, `instance_type`,
    `volume_size_in_gb`, `container_local_output_path` and `s3_output_path`, which only the cloud
    reads.
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
        # Every value travels as text, that of ProfilerReport's nested parameters too.
        self.rule_parameters = {key: str(value) for key, value in rule_parameters.items()}
        self.image_uri = image_uri
        self.instance_type = instance_type
        self.volume_size_in_gb = volume_size_in_gb
        self.container_local_output_path = container_local_output_path
        self.s3_output_path = s3_output_path

    @classmethod
    def sagemaker(
        cls,
        base_config,
        name=None,
        container_local_output_path=None,
        s3_output_path=None,
        instance_type=None,
        volume_size_in_gb=None,
    ):
        """A rule of the cloud: `ProfilerRule.sagemaker(BatchSize(window=100))`.

        Parameters stand in `base_config`, an object of one of the classes of
        `smdebug.rules.profiler_configs` or of the package smdebug_rulesconfig. Raises
        SMDebugTypeError for anything else.
        """
        rule = getattr(base_config, "rule_name", None)
        parameters = getattr(base_config, "rule_parameters", None)
        if not isinstance(rule, str) or not isinstance(parameters, dict):
            raise SMDebugTypeError(
                "a profiler rule of smdebug.rules.profiler_configs or of smdebug_rulesconfig was "
                f"expected, such as BatchSize(), found {base_config!r}"
            )
        return cls(
            name=name or rule,
            rule_parameters=parameters,
            instance_type=instance_type,
            volume_size_in_gb=volume_size_in_gb,
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
        rule_parameters=None,
    ):
        """A rule of one's own: the class `rule_to_invoke` in the file `source`.

        Both or neither are given; SMDebugValueError otherwise.
        """
        if bool(source) != bool(rule_to_invoke):
            raise SMDebugValueError("source and rule_to_invoke are given both, or not at all")
        base = {"source_s3_uri": source, "rule_to_invoke": rule_to_invoke} if source else {}
        return cls(
            name,
            {**base, **(rule_parameters or {})},
            image_uri=image_uri,
            instance_type=instance_type,
            volume_size_in_gb=volume_size_in_gb,
            container_local_output_path=container_local_output_path,
            s3_output_path=s3_output_path,
        )

    def to_profiler_rule_config_dict(self):
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

    def arguments(self):
        """Raises SMDebugNotImplementedError: no command judges with a profiler rule."""
        raise SMDebugNotImplementedError(
            f"the profiler rule '{self.name}' is not run: it judges a profile of the machine, "
            "which smdebug does not take; leave it out"
        )
