"""The cloud's profiler rules with their parameters: `BatchSize(window=100)`, `ProfilerReport()`.

`smdebug.sagemaker.rules.ProfilerRule.sagemaker` takes them, as it takes those of the package
smdebug_rulesconfig. Defaults are those of the service. Each rule takes `scan_interval_us`, the
microseconds between two scans of the profile; the default is 60,000,000.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from smdebug.exceptions import SMDebugTypeError, SMDebugValueError

__all__ = [
    "BatchSize",
    "CPUBottleneck",
    "Dataloader",
    "GPUMemoryIncrease",
    "IOBottleneck",
    "InvalidProfilerRule",
    "LoadBalancing",
    "LowGPUUtilization",
    "MaxInitializationTime",
    "OverallSystemUsage",
    "ProfilerReport",
    "StepOutlier",
]


class InvalidProfilerRule(SMDebugValueError, AssertionError):
    """A profiler rule or a value for it that does not exist. Also a ValueError, and an
    AssertionError, which the cloud's package raises."""


class _Parameter(NamedTuple):
    default: object
    wanted: str
    is_valid: Callable[[Any], bool]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _percentage(default: float) -> _Parameter:
    return _Parameter(
        default, "a number from 0 to 100", lambda value: _is_number(value) and 0 <= value <= 100
    )


def _positive(default: float) -> _Parameter:
    return _Parameter(default, "a number above 0", lambda value: _is_number(value) and value > 0)


def _mode() -> _Parameter:
    return _Parameter(
        None, "None or the name of a mode", lambda value: value is None or isinstance(value, str)
    )


class _ProfilerRuleConfig:
    """Attributes: `rule_name`; `rule_parameters`, a dict with `rule_to_invoke`.

    Raises InvalidProfilerRule for a value out of its range and TypeError for an unknown parameter.
    """

    _parameters: ClassVar[dict[str, _Parameter]] = {}
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls, **parameters: _Parameter) -> None:
        cls._parameters = {**parameters, "scan_interval_us": _positive(60_000_000)}
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        cls.__signature__ = inspect.Signature(
            inspect.Parameter(name, kind, default=parameter.default)
            for name, parameter in cls._parameters.items()
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = self.__signature__.bind(*args, **kwargs)
        given.apply_defaults()
        for name, value in given.arguments.items():
            parameter = self._parameters[name]
            if not parameter.is_valid(value):
                raise InvalidProfilerRule(
                    f"{self.rule_name}: {name} was given {value!r}, expected {parameter.wanted}"
                )
        self.rule_parameters: dict[str, Any] = {**given.arguments, "rule_to_invoke": self.rule_name}

    @property
    def rule_name(self) -> str:
        """The name of the rule: that of the class."""
        return type(self).__name__


class BatchSize(
    _ProfilerRuleConfig,
    cpu_threshold_p95=_percentage(70),
    gpu_threshold_p95=_percentage(70),
    gpu_memory_threshold_p95=_percentage(70),
    patience=_positive(1000),
    window=_positive(500),
):
    """CPU, GPU and GPU memory are all underused: thresholds in %, on the 95th percentile of
    the last `window` points, after the first `patience`."""


class CPUBottleneck(
    _ProfilerRuleConfig,
    threshold=_percentage(50),
    gpu_threshold=_percentage(10),
    cpu_threshold=_percentage(90),
    patience=_positive(1000),
):
    """More than `threshold` % of the points have a GPU below `gpu_threshold` % while a core is
    above `cpu_threshold` %."""


class Dataloader(_ProfilerRuleConfig, min_threshold=_positive(70), max_threshold=_positive(200)):
    """Processes that load data are fewer or more than these % of the cores."""


class GPUMemoryIncrease(
    _ProfilerRuleConfig, increase=_positive(5), patience=_positive(1000), window=_positive(10)
):
    """The mean of GPU memory over `window` points rises by more than `increase` percentage
    points."""


class IOBottleneck(
    _ProfilerRuleConfig,
    threshold=_percentage(50),
    gpu_threshold=_percentage(10),
    io_threshold=_percentage(50),
    patience=_positive(1000),
):
    """More than `threshold` % of the points have a GPU below `gpu_threshold` % while a core waits
    for I/O for more than `io_threshold` %."""


class LoadBalancing(_ProfilerRuleConfig, threshold=_percentage(0.5), patience=_positive(1000)):
    """The utilization histograms of two GPUs are further apart than `threshold`, 0 to 1."""


class LowGPUUtilization(
    _ProfilerRuleConfig,
    threshold_p95=_percentage(70),
    threshold_p5=_percentage(10),
    window=_positive(500),
    patience=_positive(1000),
):
    """A GPU's utilization has a 95th percentile below `threshold_p95` %, or a 5th one below
    `threshold_p5` %."""


class MaxInitializationTime(_ProfilerRuleConfig, threshold=_positive(20)):
    """No step within `threshold` minutes of the job's start."""


class OverallSystemUsage(_ProfilerRuleConfig):
    """Never fires; reports the utilization of the machine."""


class StepOutlier(_ProfilerRuleConfig, stddev=_positive(3), mode=_mode(), n_outliers=_positive(10)):
    """More than `n_outliers` steps last longer than the mean by `stddev` standard deviations.
    `mode` None: those of training and evaluation."""


_OF_A_REPORT = {rule.__name__.lower(): rule for rule in _ProfilerRuleConfig.__subclasses__()}


class ProfilerReport:
    """A report of all of these rules, each with its own parameters:
    `ProfilerReport(CPUBottleneck_cpu_threshold=90)`, in capitals or not.

    `opt_out_telemetry`, a bool, is for the cloud; smdebug sends nothing anywhere. Attributes:
    `rule_name`; `rule_parameters`, a dict with `rule_to_invoke`, `opt_out_telemetry` and, where
    parameters were given, `custom_rule_parameters`, a dict with the rules' names as they are
    spelled above.

    Raises InvalidProfilerRule for an unknown rule or a value out of its range, SMDebugTypeError
    for a parameter that the rule does not have.
    """

    rule_name: str = "ProfilerReport"

    def __init__(self, opt_out_telemetry: bool = False, **parameters: Any) -> None:
        if not isinstance(opt_out_telemetry, bool):
            raise InvalidProfilerRule(
                f"ProfilerReport: opt_out_telemetry was given {opt_out_telemetry!r}, expected a "
                "bool"
            )
        custom = dict(_of_one_rule(key, value) for key, value in parameters.items())
        self.rule_parameters: dict[str, Any] = {
            "opt_out_telemetry": opt_out_telemetry,
            **({"custom_rule_parameters": custom} if custom else {}),
            "rule_to_invoke": self.rule_name,
        }


def _of_one_rule(key: str, value: object) -> tuple[str, object]:
    """Returns `key` in its official spelling, and `value`, which must be valid for its rule."""
    rule_name, separator, name = key.lower().partition("_")
    rule = _OF_A_REPORT.get(rule_name)
    if rule is None or not separator:
        known = ", ".join(known.__name__ for known in _OF_A_REPORT.values())
        raise InvalidProfilerRule(
            f"ProfilerReport was given '{key}', expected <rule>_<parameter> with one of the rules "
            f"{known}"
        )
    if name not in rule._parameters:
        raise SMDebugTypeError(
            f"ProfilerReport was given '{key}', but {rule.__name__} has no parameter '{name}': "
            f"it has {', '.join(rule._parameters)}"
        )
    rule(**{name: value})
    return f"{rule.__name__}_{name}", value
