"""Everything that smdebug raises, under the names that existing scripts catch.

The C++ library picks the class of each error and sets two attributes: `code`, its permanent code
("not_found", "corrupt", "invalid_config"...), and, where the arguments alone do not tell the whole
story, `full_message`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smdebug._core import ModeKeys


class SMDebugError(Exception):
    """The base class of every smdebug exception."""

    code: str | None = None
    full_message: str | None = None

    def __str__(self) -> str:
        return self.full_message or self._describe()

    def _describe(self) -> str:
        """The message of an exception that was raised without a full message."""
        return super().__str__()


class SMDebugCustomerError(SMDebugError):
    """The user's code or configuration caused the error."""


class SMDebugTypeError(SMDebugError, TypeError):
    """An argument has the wrong type. Also a TypeError."""


class SMDebugRuntimeError(SMDebugError, RuntimeError):
    """A disk failed, bytes are damaged or a hook is closed. Also a RuntimeError."""


class SMDebugNotImplementedError(SMDebugError, NotImplementedError):
    """smdebug does not implement this request. Also a NotImplementedError."""


class SMDebugValueError(SMDebugError, ValueError):
    """An argument or a configuration is invalid. Also a ValueError."""


class InvalidCollectionConfiguration(SMDebugError):
    """Collection `c_name` selects no tensors."""

    def __init__(self, c_name: str) -> None:
        super().__init__(c_name)
        self.c_name = c_name

    def _describe(self) -> str:
        return (
            f"collection '{self.c_name}' has neither a pattern nor tensor names: "
            "give it one of them"
        )


class _StepError(SMDebugError):
    def __init__(self, step: int, mode: ModeKeys) -> None:
        super().__init__(step, mode)
        self.step = step
        self.mode = mode


class StepNotYetAvailable(_StepError):
    """`step` of `mode` has not been written yet."""

    def _describe(self) -> str:
        return f"step {self.step} of mode {_mode_name(self.mode)} has not been written yet"


class StepUnavailable(_StepError):
    """`step` of `mode` was not saved, and later steps were."""

    def _describe(self) -> str:
        return (
            f"step {self.step} of mode {_mode_name(self.mode)} was not saved, and later steps were"
        )


class MissingCollectionFiles(SMDebugError):
    """A run ended before each of its workers wrote its collections file."""

    def _describe(self) -> str:
        return "the training ended before every worker wrote its collections file"


class IndexReaderException(SMDebugError):
    """An index file is invalid; `message` gives the reason."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class TensorUnavailableForStep(SMDebugError):
    """Tensor `tname` was not saved at `step` of `mode`; with `has_reductions`, its
    reductions were."""

    def __init__(
        self, tname: str, step: int, mode: ModeKeys | None = None, has_reductions: bool = False
    ) -> None:
        super().__init__(tname, step, mode, has_reductions)
        self.tname = tname
        self.step = step
        self.mode = mode or _global_mode()
        self.has_reductions = has_reductions

    def _describe(self) -> str:
        text = f"tensor '{self.tname}' was not saved at step {self.step} "
        text += f"of mode {_mode_name(self.mode)}"
        if self.has_reductions:
            text += ", only its reductions were: see reduction_values()"
        return text


class ShapeUnavailableForStep(SMDebugError):
    """Neither the shape nor the value of tensor `tname` was saved at `step` of `mode`."""

    def __init__(self, tname: str, step: int, mode: ModeKeys | None = None) -> None:
        super().__init__(tname, step, mode)
        self.tname = tname
        self.step = step
        self.mode = mode or _global_mode()

    def _describe(self) -> str:
        return (
            f"the shape of tensor '{self.tname}' was not saved at step {self.step} "
            f"of mode {_mode_name(self.mode)}"
        )


class TensorUnavailable(SMDebugError):
    """The run has no tensor `tname` so far."""

    def __init__(self, tname: str) -> None:
        super().__init__(tname)
        self.tname = tname

    def _describe(self) -> str:
        return f"tensor '{self.tname}' was not saved"


class InvalidWorker(SMDebugError):
    """`worker` did not save the requested tensor."""

    def __init__(self, worker: str) -> None:
        super().__init__(worker)
        self.worker = worker

    def _describe(self) -> str:
        return f"worker '{self.worker}' did not save the requested tensor"


class NoMoreProfilerData(SMDebugError):
    """The training has ended, and no profiler data follows `timestamp`."""

    def __init__(self, timestamp: float) -> None:
        super().__init__(timestamp)
        self.timestamp = timestamp

    def _describe(self) -> str:
        return f"the training has ended, and no profiler data follows {self.timestamp}"


class NoMoreData(SMDebugError):
    """The training ended with `last_step`, before `step` of `mode`."""

    def __init__(self, step: int, mode: ModeKeys, last_step: int) -> None:
        super().__init__(step, mode, last_step)
        self.step = step
        self.mode = mode
        self.last_step = last_step

    def _describe(self) -> str:
        return (
            f"step {self.step} of mode {_mode_name(self.mode)} does not exist: the training "
            f"ended with step {self.last_step}"
        )


class RuleEvaluationConditionMet(SMDebugError):
    """The condition of rule `rule_name` is met at `step`; with `end_of_rule`, the rule stops."""

    def __init__(self, rule_name: str, step: int, end_of_rule: bool = False) -> None:
        super().__init__(rule_name, step, end_of_rule)
        self.rule_name = rule_name
        self.step = step
        self.end_of_rule = end_of_rule

    def _describe(self) -> str:
        return f"rule '{self.rule_name}' fired: its condition is met at step {self.step}"


class InsufficientInformationForRuleInvocation(SMDebugError):
    """Rule `rule_name` cannot be evaluated; `message` gives the reason."""

    def __init__(self, rule_name: str, message: str) -> None:
        super().__init__(rule_name, message)
        self.rule_name = rule_name
        self.message = message

    def _describe(self) -> str:
        return f"rule '{self.rule_name}' cannot be evaluated: {self.message}"


def _global_mode() -> ModeKeys:
    from smdebug._core import ModeKeys  # which imports this module first

    return ModeKeys.GLOBAL


def _mode_name(mode: ModeKeys) -> str:
    return getattr(mode, "name", None) or str(mode)
