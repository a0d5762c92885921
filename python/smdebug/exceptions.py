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
    pass


class SMDebugRuntimeError(SMDebugError, RuntimeError):
    pass


class SMDebugNotImplementedError(SMDebugError, NotImplementedError):
    pass


class SMDebugValueError(SMDebugError, ValueError):
    pass


class InvalidCollectionConfiguration(SMDebugError):
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
    def __str__(self):
        return f"step {self.step} of mode {_mode_name(self.mode)} is not there yet"


class StepUnavailable(_StepError):
    def __str__(self):
        return f"step {self.step} of mode {_mode_name(self.mode)} was not saved and will not be"


class MissingCollectionFiles(SMDebugError):
    def __str__(self):
        return "the training has ended, and not every worker wrote its collections file"


class IndexReaderException(SMDebugError):
    def __init__(self, message):
        super().__init__(message)
        self.message = message


class TensorUnavailableForStep(SMDebugError):
    def __init__(self, tname, step, mode=None, has_reductions=False):
        super().__init__(tname, step, mode, has_reductions)
        self.tname = tname
        self.step = step
        self.mode = mode
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
    def __init__(self, tname, step, mode=None):
        super().__init__(tname, step, mode)
        self.tname = tname
        self.step = step
        self.mode = mode

    def __str__(self):
        return (
            f"the shape of tensor '{self.tname}' was not saved at step {self.step} "
            f"of mode {_mode_name(self.mode)}"
        )


class TensorUnavailable(SMDebugError):
    def __init__(self, tname):
        super().__init__(tname)
        self.tname = tname

    def __str__(self):
        if self.__cause__ is not None:
            return str(self.__cause__)
        return f"tensor '{self.tname}' was not saved"


class InvalidWorker(SMDebugError):
    def __init__(self, worker):
        super().__init__(worker)
        self.worker = worker

    def __str__(self):
        return f"worker '{self.worker}' did not take part"


class NoMoreProfilerData(SMDebugError):
    def __init__(self, timestamp):
        super().__init__(timestamp)
        self.timestamp = timestamp

    def __str__(self):
        return f"the training has ended, and nothing was profiled after {self.timestamp}"


class NoMoreData(SMDebugError):
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
    def __init__(self, rule_name, step, end_of_rule=False):
        super().__init__(rule_name, step, end_of_rule)
        self.rule_name = rule_name
        self.step = step
        self.end_of_rule = end_of_rule

    def __str__(self):
        return f"rule '{self.rule_name}' found what it looks for at step {self.step}"


class InsufficientInformationForRuleInvocation(SMDebugError):
    def __init__(self, rule_name, message):
        super().__init__(rule_name, message)
        self.rule_name = rule_name
        self.message = message

    def __str__(self):
        return f"rule '{self.rule_name}' cannot be evaluated: {self.message}"


def _mode_name(mode) -> str:
    return getattr(mode, "name", None) or "GLOBAL"
