"""`Actions`: the actions that an action string lists."""

import logging

from smdebug import _core
from smdebug.exceptions import SMDebugTypeError
from smdebug.rules.action.command_action import CommandAction
from smdebug.rules.action.message_action import MessageAction
from smdebug.rules.action.stop_training_action import StopTrainingAction

logger = logging.getLogger("smdebug")


class Actions:
    """The actions of rule `rule_name`, from JSON: an object or a list of objects.

    `{"name": "stoptraining", "training_job_prefix": …}`, the prefix optional, or
    `{"name": "sms", "endpoint": …}`, or `{"name": "email", "endpoint": …}`, or
    `{"name": "webhook", "url": …}`, or `{"name": "command", "command": …}`. Names and keys may be
    in any case, values are kept as they are. An entry that is none of these is logged and left
    out; None and "" list nothing. An object that serializes itself, as `ActionList` does, is taken
    too.

    `trial` is the run that the rule judges: beside it stands what was done, so that nothing is
    done twice. Without it, nothing is done twice by this object.

    Raises SMDebugValueError for text that is not JSON, SMDebugTypeError for what is no text.
    """

    def __init__(self, action_str=None, rule_name="", trial=None):
        entries, refused = _core.parse_action_string(_text_of(action_str))
        for sentence in refused:
            logger.warning("rule '%s': %s", rule_name, sentence)
        self._actions = [_action_of(*entry, rule_name, trial) for entry in entries]

    def invoke(self, message="", step=-1):
        """Performs the actions in their order, each at most once. Never raises.

        `message` is what the receiver is told; `step` the global step. What was done, and what
        went wrong, is logged.
        """
        for action in self._actions:
            action.invoke(message, step)


def _text_of(actions):
    if actions is None:
        return ""
    if callable(getattr(actions, "serialize", None)):
        actions = actions.serialize()
    if not isinstance(actions, str):
        raise SMDebugTypeError(f"an action string is JSON text, found {actions!r}")
    return actions


def _action_of(kind, target, rule_name, trial):
    if kind == "stop":
        return StopTrainingAction(rule_name, target, trial)
    if kind == "command":
        return CommandAction(rule_name, target, trial)
    return MessageAction(rule_name, kind, target, trial)
