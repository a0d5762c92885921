"""Everything that smdebug raises, under the names that existing scripts catch.

The C++ library selects the class of each error and sets two attributes: `code`, its permanent code
("not_found", "corrupt", "invalid_config"...), and `full_message`, a text with more detail than
the arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from smdebug._core import ModeKeys


class SMDebugError(Exception):
    """The base class of every smdebug exception."""

    code: str | None = None
    full_message: str | None = None
    # The message without a full message; names in braces are attributes.
    _sentence: ClassVar[str] = ""

    def __str__(self) -> str:
        return self.full_message or self._describe()

    def _describe(self) -> str:
        if not self._sentence:
            return super().__str__()
        mode = getattr(self, "mode", None)
        return self._sentence.format_map({**vars(self), "mode": getattr(mode, "name", str(mode))})


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
    """Collection `c_name` selects no tensors. smdebug logs this and raises nothing; scripts for the
    original may catch it."""

    _sentence = "collection '{c_name}' has neither a pattern nor tensor names: give it one of them"

    def __init__(self, c_name: str) -> None:
        super().__init__(c_name)
        self.c_name = c_name


class _StepError(SMDebugError):
    def __init__(self, step: int, mode: ModeKeys) -> None:
        super().__init__(step, mode)
        self.step = step
        self.mode = mode


class StepNotYetAvailable(_StepError):
    """`step` of `mode` has not been written yet."""

    _sentence = "step {step} of mode {mode} has not been written yet"


class StepUnavailable(_StepError):
    """`step` of `mode` was not saved, and later steps were."""

    _sentence = "step {step} of mode {mode} was not saved, and later steps were"


class MissingCollectionFiles(SMDebugError):
    """A run ended before each of its workers wrote its collections file."""

    _sentence = "the training ended before every worker wrote its collections file"


class IndexReaderException(SMDebugError):
    """An index file is invalid; `message` gives the reason."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class TensorUnavailableForStep(SMDebugError):
    """Tensor `tname` was not saved at `step` of `mode`, by default GLOBAL; with `has_reductions`,
    its reductions were."""

    _sentence = "tensor '{tname}' was not saved at step {step} of mode {mode}"

    def __init__(
        self, tname: str, step: int, mode: ModeKeys | None = None, has_reductions: bool = False
    ) -> None:
        super().__init__(tname, step, mode, has_reductions)
        self.tname = tname
        self.step = step
        self.mode: ModeKeys = mode or _global_mode()
        self.has_reductions = has_reductions

    def _describe(self) -> str:
        note = ", only its reductions were: see reduction_values()" if self.has_reductions else ""
        return super()._describe() + note


class ShapeUnavailableForStep(SMDebugError):
    """Neither the shape nor the value of tensor `tname` was saved at `step` of `mode`, by default
    GLOBAL."""

    _sentence = "the shape of tensor '{tname}' was not saved at step {step} of mode {mode}"

    def __init__(self, tname: str, step: int, mode: ModeKeys | None = None) -> None:
        super().__init__(tname, step, mode)
        self.tname = tname
        self.step = step
        self.mode: ModeKeys = mode or _global_mode()


class TensorUnavailable(SMDebugError):
    """The run has no tensor `tname` so far."""

    _sentence = "tensor '{tname}' was not saved"

    def __init__(self, tname: str) -> None:
        super().__init__(tname)
        self.tname = tname


class InvalidWorker(SMDebugError):
    """`worker` did not save the requested tensor."""

    _sentence = "worker '{worker}' did not save the requested tensor"

    def __init__(self, worker: str) -> None:
        super().__init__(worker)
        self.worker = worker


class NoMoreProfilerData(SMDebugError):
    """The training has ended, and no profiler data follows `timestamp`."""

    _sentence = "the training has ended, and no profiler data follows {timestamp}"

    def __init__(self, timestamp: float) -> None:
        super().__init__(timestamp)
        self.timestamp = timestamp


class NoMoreData(SMDebugError):
    """The training ended with `last_step`, before `step` of `mode`."""

    _sentence = (
        "step {step} of mode {mode} does not exist: the training ended with step {last_step}"
    )

    def __init__(self, step: int, mode: ModeKeys, last_step: int) -> None:
        super().__init__(step, mode, last_step)
        self.step = step
        self.mode = mode
        self.last_step = last_step


class RuleEvaluationConditionMet(SMDebugError):
    """The condition of rule `rule_name` is met at `step`; with `end_of_rule`, the rule stops."""

    _sentence = "rule '{rule_name}' fired: its condition is met at step {step}"

    def __init__(self, rule_name: str, step: int, end_of_rule: bool = False) -> None:
        super().__init__(rule_name, step, end_of_rule)
        self.rule_name = rule_name
        self.step = step
        self.end_of_rule = end_of_rule


class InsufficientInformationForRuleInvocation(SMDebugError):
    """Rule `rule_name` cannot be evaluated; `message` gives the reason."""

    _sentence = "rule '{rule_name}' cannot be evaluated: {message}"

    def __init__(self, rule_name: str, message: str) -> None:
        super().__init__(rule_name, message)
        self.rule_name = rule_name
        self.message = message


def _global_mode() -> ModeKeys:
    from smdebug._core import ModeKeys  # which imports this module first

    return ModeKeys.GLOBAL
