"""`Actions`: the actions that an action string lists."""

import json
import logging

from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.rules.action.message_action import MessageAction
from smdebug.rules.action.stop_training_action import StopTrainingAction

logger = logging.getLogger("smdebug")


class Actions:
    """The actions of rule `rule_name`, from JSON: an object or a list of objects.

    `{"name": "stoptraining", "training_job_prefix": …}`, or `{"name": "sms", "endpoint": …}`,
    or `{"name": "email", "endpoint": …}`. Names and keys may be in any case, values are kept as
    they are. An entry that is none of these is logged and left out; None and "" list nothing.

    Raises SMDebugValueError for text that is not JSON, SMDebugTypeError for what is no text.
    """

    def __init__(self, action_str=None, rule_name=""):
        self._actions = []
        for entry in _entries(action_str):
            action = _action_of(entry, rule_name)
            if action is None:
                logger.warning(
                    "rule '%s': no action %s; there are stoptraining with training_job_prefix, "
                    "sms and email with endpoint",
                    rule_name,
                    json.dumps(entry),
                )
            else:
                self._actions.append(action)

    def invoke(self):
        """Performs the actions in their order. Never raises."""
        for action in self._actions:
            action.invoke()


def _entries(action_str):
    if action_str is None:
        return []
    if not isinstance(action_str, str):
        raise SMDebugTypeError(f"an action string is JSON text, found {action_str!r}")
    if not action_str.strip():
        return []
    try:
        parsed = json.loads(action_str)
    except ValueError as error:
        raise SMDebugValueError(f"the action string {action_str!r} is not JSON: {error}") from error
    return parsed if isinstance(parsed, list) else [parsed]


def _action_of(entry, rule_name):
    """The action that an entry describes, or None."""
    if not isinstance(entry, dict):
        return None
    fields = {key.lower(): value for key, value in entry.items()}
    if not all(isinstance(value, str) for value in fields.values()):
        return None
    name = fields.get("name", "").lower()
    if name == "stoptraining" and fields.get("training_job_prefix"):
        return StopTrainingAction(rule_name, fields["training_job_prefix"])
    if name in ("sms", "email") and fields.get("endpoint"):
        return MessageAction(rule_name, name, fields["endpoint"])
    return None
