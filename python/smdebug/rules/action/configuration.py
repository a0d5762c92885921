"""Actions as a user writes them into a configuration, with the names of the cloud's package."""

import json
import re

from smdebug.exceptions import SMDebugTypeError, SMDebugValueError


class Action:
    """One action. `action_parameters` is what it serializes: a dict of str."""

    def __init__(self, **parameters):
        self.action_parameters = {
            "name": type(self).__name__.lower(),
            **{key: value for key, value in parameters.items() if value is not None},
        }

    def serialize(self):
        """The action as an action string: JSON text."""
        return json.dumps(self.action_parameters)


class StopTraining(Action):
    """Ends the training. `training_job_prefix` is how the name of the cloud's job begins: letters,
    digits and hyphens; without it, the training that writes the run is meant.
    """

    def __init__(self, training_job_prefix=None):
        if training_job_prefix is not None:
            _check("training_job_prefix", training_job_prefix, r"[A-Za-z0-9-]+", "my-job-1")
        self.use_default_training_job_prefix = training_job_prefix is None
        super().__init__(training_job_prefix=training_job_prefix)

    def update_training_job_prefix_if_not_specified(self, training_job_name):
        """Takes the job's name as the prefix where none was given."""
        if self.use_default_training_job_prefix:
            self.action_parameters["training_job_prefix"] = training_job_name


class Email(Action):
    """A mail to `email_address`."""

    def __init__(self, email_address):
        _check("email_address", email_address, r"[^@\s<>,;]+@[^@\s<>,;]+", "ann@example.com")
        super().__init__(endpoint=email_address)


class SMS(Action):
    """A text message to `phone_number`, in the form +4912345678 (E.164)."""

    def __init__(self, phone_number):
        _check("phone_number", phone_number, r"\+\d{1,15}", "+4912345678")
        super().__init__(endpoint=phone_number)


class Webhook(Action):
    """The verdict as JSON by POST to `url`."""

    def __init__(self, url):
        _check("url", url, r"https?://\S+", "https://example.com/hook")
        super().__init__(url=url)


class Command(Action):
    """`command`, run by the shell with the verdict as JSON on its standard input."""

    def __init__(self, command):
        _check("command", command, r"(?s).+", "notify.sh")
        super().__init__(command=command)


class ActionList:
    """Several actions."""

    def __init__(self, *actions):
        for action in actions:
            if not isinstance(action, Action):
                raise SMDebugTypeError(f"a list of actions was expected, found {action!r}")
        self.actions = actions

    def update_training_job_prefix_if_not_specified(self, training_job_name):
        """Does it for each StopTraining in the list."""
        for action in self.actions:
            if isinstance(action, StopTraining):
                action.update_training_job_prefix_if_not_specified(training_job_name)

    def serialize(self):
        """The actions as an action string: JSON text."""
        return json.dumps([action.action_parameters for action in self.actions])


def _check(name, value, pattern, example):
    if not isinstance(value, str):
        raise SMDebugTypeError(f"{name} is text like '{example}', found {value!r}")
    if not re.fullmatch(pattern, value):
        raise SMDebugValueError(f"{name} is text like '{example}', found '{value}'")
