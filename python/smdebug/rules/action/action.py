"""`Actions`: the actions that an action string lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from smdebug import _core
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.log import get_logger
from smdebug.rules.action.command_action import CommandAction
from smdebug.rules.action.message_action import MessageAction
from smdebug.rules.action.performed import PerformedAction
from smdebug.rules.action.stop_training_action import StopTrainingAction

if TYPE_CHECKING:
    from smdebug.trials import Trial

_logger = get_logger()
_REMEDY = (
    "pass an action of smdebug.rules.action, such as StopTraining(), or ActionList(...) of several"
)


class SerializableActions(Protocol):
    """An object that serializes itself to an action string, such as `ActionList`."""

    def serialize(self) -> str:
        """The actions as an action string: JSON text."""
        ...


class Actions:
    """The actions of rule `rule_name`, from JSON: an object or a list of objects.

    `{"name": "stoptraining", "training_job_prefix": …}`, the prefix optional, or
    `{"name": "sms", "endpoint": …}`, or `{"name": "email", "endpoint": …}`, or
    `{"name": "webhook", "url": …}`, or `{"name": "command", "command": …}`. Names and keys may be
    in any case; values are kept as they are. Any other entry is skipped with a warning. None and ""
    list nothing. An object that serializes itself, such as an `ActionList`, is accepted too.
    `action_str` is another name of `actions_str`.

    `trial` is the run that the rule judges. Performed actions are recorded beside it, so that no
    process repeats them. Without it, only this object avoids repeating them.

    Raises SMDebugValueError for text that is not JSON and SMDebugTypeError for any other type.
    """

    def __init__(
        self,
        actions_str: str | SerializableActions | None = None,
        rule_name: str = "",
        trial: Trial | None = None,
        *,
        action_str: str | SerializableActions | None = None,
    ) -> None:
        if actions_str is not None and action_str is not None:
            raise SMDebugTypeError("actions_str and action_str are the same argument: pass one")
        given = action_str if actions_str is None else actions_str
        entries, refused = _parsed(_text_of(given))
        for sentence in refused:
            _logger.warning("rule '%s': %s", rule_name, sentence)
        self._actions = [_action_of(*entry, rule_name, trial) for entry in entries]

    def invoke(self, message: str = "", step: int = -1) -> None:
        """Performs the actions in order, each at most once, and logs the results. Never raises.

        `message` is the text for the receiver and `step` the global step.
        """
        for action in self._actions:
            action.invoke(message, step)


def _text_of(actions: Any) -> str:
    if actions is None:
        return ""
    if callable(getattr(actions, "serialize", None)):
        actions = actions.serialize()
    if isinstance(actions, str):
        return actions
    # Without the values, which may be secret.
    found = f"found an object of type {type(actions).__name__}; {_REMEDY}"
    raise SMDebugTypeError(f"an action string must be JSON text, {found}")


def _parsed(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    try:
        return _core.parse_action_string(text)
    except SMDebugValueError as error:
        if text.isidentifier():  # a word such as "stop"; anything else may be secret
            error.args = (f"the action string '{text}' is not JSON; {_REMEDY}",)
        else:
            error.args = (f"{error}; {_REMEDY}",)
        raise


def _action_of(kind: str, target: str, rule_name: str, trial: Trial | None) -> PerformedAction:
    if kind == "stop":
        return StopTrainingAction(rule_name, target, trial)
    if kind == "command":
        return CommandAction(rule_name, target, trial)
    return MessageAction(rule_name, kind, target, trial)
