"""`MessageAction`: a rule asks for a message to a person."""

import logging

logger = logging.getLogger("smdebug")

_TOPIC = "SMDebugRules"


class MessageAction:
    """`message_type` is "sms" or "email". Messages are not sent: that is logged."""

    def __init__(self, rule_name, message_type, message_endpoint):
        self._rule_name = rule_name
        self._protocol = message_type
        self._topic_name = _TOPIC
        self._message_endpoint = message_endpoint
        self._last_subscription_response = None
        self._last_send_mesg_response = None

    def invoke(self):
        """Logs that nothing is sent. Never raises."""
        logger.warning(
            "rule '%s': action %s: nothing is sent to '%s', this version sends no messages",
            self._rule_name,
            self._protocol,
            self._message_endpoint,
        )
