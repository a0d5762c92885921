"""`ProfilerRule`: the cloud's rules over a profile of the machine, as scripts configure them."""

from smdebug.exceptions import SMDebugNotImplementedError, SMDebugTypeError
from smdebug.sagemaker.cloud_rule import CloudRule, parameters_of_custom_rule


class ProfilerRule(CloudRule):
    """A profiler rule with its parameters, all of them text. It is described as the cloud's API
    wants it, and not run: smdebug takes no profile of the machine.

    Made by `ProfilerRule.sagemaker` or `ProfilerRule.custom`. Attributes: see CloudRule.
    """

    def __init__(self, name, rule_parameters, **for_the_cloud):
        # Every value travels as text, that of ProfilerReport's nested parameters too.
        texts = {key: str(value) for key, value in rule_parameters.items()}
        super().__init__(name, texts, **for_the_cloud)

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
        base = parameters_of_custom_rule(source, rule_to_invoke)
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
        return self._request()

    def arguments(self):
        """Raises SMDebugNotImplementedError: no command judges with a profiler rule."""
        raise SMDebugNotImplementedError(
            f"the profiler rule '{self.name}' is not run: it judges a profile of the machine, "
            "which smdebug does not take; leave it out"
        )
