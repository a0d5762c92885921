"""The actions of a Python rule whose condition is met: `Actions` parses an action string.

`StopTraining`, `Email`, `SMS`, `Webhook`, `Command` and `ActionList` produce such strings.
`smdebug run --action` performs the same actions for the built-in rules.
"""

from smdebug.rules.action.action import Actions
from smdebug.rules.action.command_action import CommandAction
from smdebug.rules.action.configuration import (
    SMS,
    ActionList,
    Command,
    Email,
    StopTraining,
    Webhook,
)
from smdebug.rules.action.message_action import MessageAction
from smdebug.rules.action.stop_training_action import StopTrainingAction

__all__ = [
    "Actions",
    "CommandAction",
    "MessageAction",
    "StopTrainingAction",
    "StopTraining",
    "Email",
    "SMS",
    "Webhook",
    "Command",
    "ActionList",
]
