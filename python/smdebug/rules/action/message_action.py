"""`MessageAction`: sends a message when a rule fires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smdebug.rules.action.performed import PerformedAction

if TYPE_CHECKING:
    from smdebug.trials import Trial

_TOPIC = "SMDebugRules"


class MessageAction(PerformedAction):
    """`message_type` is "sms", "email" or "webhook". `message_endpoint` is the phone number, the
    mail address or the URL.

    Mail goes to the server that SMDEBUG_SMTP_URL names and text messages to the gateway at
    SMDEBUG_SMS_WEBHOOK. If these are not set, both go through the cloud's topic, provided that
    there are credentials; then sending a message also subscribes the receiver, and
    `_last_subscription_response` is the same sentence as `_last_send_mesg_response`.
    """

    def __init__(
        self,
        rule_name: str,
        message_type: str,
        message_endpoint: str,
        trial: Trial | None = None,
    ) -> None:
        super().__init__(rule_name, message_type, message_endpoint, trial)
        self._protocol = message_type
        self._topic_name = _TOPIC
        self._message_endpoint = message_endpoint
        self._last_subscription_response: str | None = None
        self._last_send_mesg_response: str | None = None

    def invoke(self, message: str = "", step: int = -1) -> str:
        """Sends the message, at most once, and returns the sentence that was logged. Never
        raises."""
        sentence = super().invoke(message, step)
        self._last_send_mesg_response = sentence
        if "published to topic" in sentence:
            self._last_subscription_response = sentence
        return sentence
