"""What a rule written in Python asks for when its condition is met: `Actions` of an action string.

The actions of the original act on jobs and topics of a cloud account. They are parsed and kept
here; that they are not performed is logged.
"""

from smdebug.rules.action.action import Actions
from smdebug.rules.action.message_action import MessageAction
from smdebug.rules.action.stop_training_action import StopTrainingAction

__all__ = ["Actions", "MessageAction", "StopTrainingAction"]
