"""`MessageAction`: a rule tells somebody."""

from smdebug.rules.action.performed import PerformedAction

_TOPIC = "SMDebugRules"


class MessageAction(PerformedAction):
    """`message_type` is "sms", "email" or "webhook", `message_endpoint` the number, the address or
    the URL.

    Mail goes to the server that SMDEBUG_SMTP_URL names, text messages to the gateway at
    SMDEBUG_SMS_WEBHOOK; without these, both go through the cloud's topic, if there are credentials.
    """

    def __init__(self, rule_name, message_type, message_endpoint, trial=None):
        super().__init__(rule_name, message_type, message_endpoint, trial)
        self._protocol = message_type
        self._topic_name = _TOPIC
        self._message_endpoint = message_endpoint
        self._last_subscription_response = None
        self._last_send_mesg_response = None

    def invoke(self, message="", step=-1):
        """Sends the message, at most once. Never raises."""
        self._last_send_mesg_response = super().invoke(message, step)
