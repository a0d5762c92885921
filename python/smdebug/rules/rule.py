"""`Rule`: the base class of rules written in Python."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from smdebug.analysis.utils import no_refresh, refuse_path
from smdebug.exceptions import (
    RuleEvaluationConditionMet,
    SMDebugNotImplementedError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)
from smdebug.hook_arguments import shown
from smdebug.log import get_logger
from smdebug.rules.action import Actions
from smdebug.rules.required_tensors import RequiredTensors

if TYPE_CHECKING:
    from smdebug.trials import Trial


class Rule:
    """A condition on a run, checked step by step.

    A subclass implements `invoke_at_step(step)` and returns True if the condition is met. It may
    also implement `set_required_tensors(step)` to name the tensors that it needs, so that they are
    fetched first. `step` is a global step.

    `base_trial` is the `Trial` to judge and `other_trials` a list of trials to compare it with.
    `action_str` lists what to do when the condition is met (see `Actions`).

    Attributes: `base_trial`, `other_trials`, `trials` (the base trial followed by the others),
    `req_tensors` (a `RequiredTensors`), `logger`, `rule_name` (the name of the class), and
    `report`, a dict that the subclass may fill.
    """

    _has_warned: bool = False  # of a value that is probably a mistake
    _actions: Actions | None = None  # until the constructor of this class was called

    def __init__(
        self,
        base_trial: Trial,
        action_str: str | Any | None = None,
        other_trials: Iterable[Trial] | None = None,
    ) -> None:
        refuse_unusual_methods(type(self))
        self._warn_of_replaced_invoke()
        refuse_path(f"rule {type(self).__name__}", base_trial)
        refuse_path(f"other_trials of rule {type(self).__name__}", other_trials)
        self.base_trial = base_trial
        self.other_trials: list[Trial] = list(other_trials or [])
        self.trials: list[Trial] = [base_trial, *self.other_trials]
        self.req_tensors: RequiredTensors = RequiredTensors(base_trial, self.other_trials)
        self.logger: logging.Logger = get_logger()
        self.rule_name: str = type(self).__name__
        self._actions = Actions(action_str, self.rule_name, base_trial)
        self.report: dict[str, Any] = {
            "RuleTriggered": 0,
            "Violations": 0,
            "Details": {},
            "Datapoints": 0,
            "RuleParameters": "",
        }

    def set_required_tensors(self, step: int) -> None:
        """Adds the tensors that `invoke_at_step(step)` needs to `self.req_tensors`."""

    def invoke_at_step(self, step: int) -> bool:
        """Whether the condition is met at the global step `step`: any value, of which the truth
        counts, as in `if`. None and a text other than "", which is always true, log a warning. A
        value without a truth, such as an array of several elements, raises SMDebugTypeError in
        `invoke`. A subclass must implement this."""
        raise SMDebugNotImplementedError(f"{self.rule_name} has no method invoke_at_step(step)")

    def invoke(self, step: int) -> None:
        """Waits for the global step `step` of the base trial and judges it.

        While the rule runs, no trial looks for new steps. If the condition is met, performs the
        actions and raises RuleEvaluationConditionMet. Also raises what `Trial.wait_for_steps` and
        `RequiredTensors.fetch` raise.
        """
        if self._actions is None:
            raise SMDebugRuntimeError(self._missing_call())
        if not hasattr(self.base_trial, "wait_for_steps"):
            raise SMDebugTypeError(
                f"rule {self.rule_name} takes a trial, found {shown(self.base_trial)}; make one "
                "with create_trial(path)"
            )
        self.base_trial.wait_for_steps([step])
        with no_refresh(self.trials):
            self.req_tensors.clear()
            self.set_required_tensors(step)
            self.req_tensors.fetch()
            condition_met = self.invoke_at_step(step)
        self._warn_of_value(condition_met)
        if self._truth(condition_met):
            self._actions.invoke(f"the condition of the rule is met at step {step}", step)
            raise RuleEvaluationConditionMet(self.rule_name, step)

    def _truth(self, returned: Any) -> bool:
        """The truth of what `invoke_at_step` returned. Raises SMDebugTypeError if there is none, or
        if it does not depend on the tensors: that of a function is always the same."""
        reason = "call it" if inspect.isroutine(returned) else ""
        try:
            if not reason:
                return bool(returned)
        except Exception as error:  # an array of several elements, or a tensor without values
            reason = str(error).partition("\n")[0]
        raise SMDebugTypeError(
            f"{self.rule_name}.invoke_at_step returned {shown(returned)}, expected True or False "
            f"({reason}); of an array, return bool(array.any()) or bool(array.all())"
        )

    def _warn_of_replaced_invoke(self) -> None:
        kind = type(self)
        if kind.invoke is not Rule.invoke and kind.invoke_at_step is Rule.invoke_at_step:
            text = "rule %s replaces invoke(step), which waits for the step; implement %s instead"
            get_logger().warning(text, kind.__name__, "invoke_at_step(step)")

    def _missing_call(self) -> str:
        code = type(self).__init__.__code__
        return (
            f"{type(self).__name__}.__init__ does not call super().__init__(base_trial) "
            f"({code.co_filename}:{code.co_firstlineno})"
        )

    def _warn_of_value(self, returned: Any) -> None:
        """Logs, once, that the truth of `returned` is probably not what its rule means."""
        is_text = isinstance(returned, str) and bool(returned)
        if self._has_warned or not (is_text or returned is None):
            return
        self._has_warned = True
        text = "rule %s returned %r, expected True or False: %s"
        meaning = "it counts as False" if returned is None else "the text counts as True"
        self.logger.warning(text, self.rule_name, returned, meaning)


def refuse_unusual_methods(rule_class: type[Rule]) -> None:
    """Raises SMDebugValueError for a class whose methods do not take a step, or return at once and
    run later, if at all: those with `async` or `yield`."""
    if rule_class.invoke is not Rule.invoke:  # which may wait for them
        return
    for name, wanted in (
        ("invoke_at_step", "returns True or False"),
        ("set_required_tensors", "calls self.req_tensors.add(...)"),
    ):
        method = getattr(rule_class, name)
        if not _takes_step(method):
            raise SMDebugValueError(
                f"{rule_class.__name__}.{name} takes {inspect.signature(method)}: make it "
                f"'def {name}(self, step)'"
            )
        is_async = inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)
        if is_async or inspect.isgeneratorfunction(method):
            found = "is declared with 'async def'" if is_async else "has a 'yield'"
            raise SMDebugValueError(
                f"{rule_class.__name__}.{name} {found}, so a call of it runs nothing: make it a "
                f"plain 'def {name}(self, step)' that {wanted}"
            )


def _takes_step(method: Any) -> bool:
    try:
        inspect.signature(method).bind(None, 0)
    except TypeError:
        return False
    except ValueError:  # Python does not know the signature of some functions in C
        return True
    return True
