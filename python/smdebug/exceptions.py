"""Everything that smdebug raises, under the names that existing scripts catch.

Errors of the C++ library arrive as one of the first classes, with the error's
code in the attribute `code`: "not_found", "corrupt", "invalid_config"...
"""

from __future__ import annotations


class SMDebugError(Exception):
    """The base of all."""

    code: str | None = None


class SMDebugCustomerError(SMDebugError):
    """The user's own code or configuration is at fault."""


class SMDebugTypeError(SMDebugError, TypeError):
    """An argument is of the wrong kind. Also a TypeError."""


class SMDebugRuntimeError(SMDebugError, RuntimeError):
    """A disk, damaged bytes or a hook that is closed stood in the way. Also a RuntimeError."""


class SMDebugNotImplementedError(SMDebugError, NotImplementedError):
    """A request that is understood and cannot be met. Also a NotImplementedError."""


class SMDebugValueError(SMDebugError, ValueError):
    """An argument or a configuration makes no sense. Also a ValueError."""


class InvalidCollectionConfiguration(SMDebugError):
    """A collection, `c_name`, names no tensors."""

    def __init__(self, c_name):
        super().__init__(c_name)
        self.c_name = c_name

    def __str__(self):
        return (
            f"collection '{self.c_name}' has neither a pattern nor tensor names: "
            "give it one of them"
        )


class _StepError(SMDebugError):
    def __init__(self, step, mode):
        super().__init__(step, mode)
        self.step = step
        self.mode = mode


class StepNotYetAvailable(_StepError):
    """`step` of `mode` may still come."""

    def __str__(self):
        return f"step {self.step} of mode {_mode_name(self.mode)} is not there yet"


class StepUnavailable(_StepError):
    """`step` of `mode` was passed over without being saved."""

    def __str__(self):
        return f"step {self.step} of mode {_mode_name(self.mode)} was not saved and will not be"


class MissingCollectionFiles(SMDebugError):
    """A run ended before each of its workers said what it saves."""

    def __str__(self):
        return "the training has ended, and not every worker wrote its collections file"


class IndexReaderException(SMDebugError):
    """An index file makes no sense; `message` says why."""

    def __init__(self, message):
        super().__init__(message)
        self.message = message


class TensorUnavailableForStep(SMDebugError):
    """Tensor `tname` was not saved at `step` of `mode`.

    With `has_reductions`, its reductions were.
    """

    def __init__(self, tname, step, mode=None, has_reductions=False):
        super().__init__(tname, step, mode, has_reductions)
        self.tname = tname
        self.step = step
        self.mode = mode or _global_mode()
        self.has_reductions = has_reductions

    def __str__(self):
        if self.__cause__ is not None:
            return str(self.__cause__)
        text = f"tensor '{self.tname}' was not saved at step {self.step} "
        text += f"of mode {_mode_name(self.mode)}"
        if self.has_reductions:
            text += ", only its reductions were: see reduction_values()"
        return text


class ShapeUnavailableForStep(SMDebugError):
    """Neither shape nor value of tensor `tname` was saved at `step` of `mode`."""

    def __init__(self, tname, step, mode=None):
        super().__init__(tname, step, mode)
        self.tname = tname
        self.step = step
        self.mode = mode or _global_mode()

    def __str__(self):
        return (
            f"the shape of tensor '{self.tname}' was not saved at step {self.step} "
            f"of mode {_mode_name(self.mode)}"
        )


class TensorUnavailable(SMDebugError):
    """No tensor `tname` was saved so far."""

    def __init__(self, tname):
        super().__init__(tname)
        self.tname = tname

    def __str__(self):
        if self.__cause__ is not None:
            return str(self.__cause__)
        return f"tensor '{self.tname}' was not saved"


class InvalidWorker(SMDebugError):
    """`worker` saved nothing of what was asked for."""

    def __init__(self, worker):
        super().__init__(worker)
        self.worker = worker

    def __str__(self):
        return f"worker '{self.worker}' did not take part"


class NoMoreProfilerData(SMDebugError):
    """The training has ended, and nothing was profiled after `timestamp`."""

    def __init__(self, timestamp):
        super().__init__(timestamp)
        self.timestamp = timestamp

    def __str__(self):
        return f"the training has ended, and nothing was profiled after {self.timestamp}"


class NoMoreData(SMDebugError):
    """The training has ended with `last_step`; `step` of `mode` will not come."""

    def __init__(self, step, mode, last_step):
        super().__init__(step, mode, last_step)
        self.step = step
        self.mode = mode
        self.last_step = last_step

    def __str__(self):
        return (
            f"step {self.step} of mode {_mode_name(self.mode)} will not come: the training "
            f"has ended with step {self.last_step}"
        )


class RuleEvaluationConditionMet(SMDebugError):
    """Rule `rule_name` met its condition at `step`; with `end_of_rule` it judges no further."""

    def __init__(self, rule_name, step, end_of_rule=False):
        super().__init__(rule_name, step, end_of_rule)
        self.rule_name = rule_name
        self.step = step
        self.end_of_rule = end_of_rule

    def __str__(self):
        return f"rule '{self.rule_name}' found what it looks for at step {self.step}"


class InsufficientInformationForRuleInvocation(SMDebugError):
    """Rule `rule_name` cannot judge; `message` says why."""

    def __init__(self, rule_name, message):
        super().__init__(rule_name, message)
        self.rule_name = rule_name
        self.message = message

    def __str__(self):
        return f"rule '{self.rule_name}' cannot be evaluated: {self.message}"


def _global_mode():
    from smdebug._core import ModeKeys  # which imports this module first

    return ModeKeys.GLOBAL


def _mode_name(mode) -> str:
    return getattr(mode, "name", None) or str(mode)
