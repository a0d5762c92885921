"""Actions for a configuration, under the names of the cloud's package."""

from __future__ import annotations

import json
import re

from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.hook_arguments import shown


class Action:
    """One action. `action_parameters`, a dict of str, is its serialized form."""

    def __init__(self, **parameters: str | None) -> None:
        self.action_parameters: dict[str, str] = {
            "name": type(self).__name__.lower(),
            **{key: value for key, value in parameters.items() if value is not None},
        }

    def serialize(self) -> str:
        """The action as an action string: JSON text."""
        return json.dumps(self.action_parameters)


class StopTraining(Action):
    """Ends the training. `training_job_prefix` is the start of the name of the cloud job: letters,
    digits and hyphens. Without it, ends the training that writes the run.
    """

    def __init__(self, training_job_prefix: str | None = None) -> None:
        if training_job_prefix is not None:
            _check("training_job_prefix", training_job_prefix, r"[A-Za-z0-9-]+", "my-job-1")
        self.use_default_training_job_prefix: bool = training_job_prefix is None
        super().__init__(training_job_prefix=training_job_prefix)

    def update_training_job_prefix_if_not_specified(self, training_job_name: str) -> None:
        """Uses the name of the job as the prefix if none was given."""
        if self.use_default_training_job_prefix:
            self.action_parameters["training_job_prefix"] = training_job_name


class Email(Action):
    """Sends a mail to `email_address`."""

    def __init__(self, email_address: str) -> None:
        _check("email_address", email_address, r"[^@\s<>,;]+@[^@\s<>,;]+", "ann@example.com")
        super().__init__(endpoint=email_address)


class SMS(Action):
    """Sends a text message to `phone_number`, given as +4912345678 (E.164)."""

    def __init__(self, phone_number: str) -> None:
        _check("phone_number", phone_number, r"\+\d{1,15}", "+4912345678")
        super().__init__(endpoint=phone_number)


class Webhook(Action):
    """Posts the verdict as JSON to `url`."""

    def __init__(self, url: str) -> None:
        _check("url", url, r"https?://\S+", "https://example.com/hook")
        super().__init__(url=url)


class Command(Action):
    """Runs `command` in the shell with the verdict as JSON on its standard input."""

    def __init__(self, command: str) -> None:
        _check("command", command, r"(?s).+", "notify.sh")
        super().__init__(command=command)


class ActionList:
    """Several actions. Raises SMDebugTypeError for an entry that is not an action."""

    def __init__(self, *actions: Action) -> None:
        for action in actions:
            if not isinstance(action, Action):
                raise SMDebugTypeError(
                    f"a list of actions was expected, found {shown(action)} in it; pass actions, "
                    "as in ActionList(StopTraining())"
                )
        self.actions = actions

    def update_training_job_prefix_if_not_specified(self, training_job_name: str) -> None:
        """Uses the name of the job as the prefix of each StopTraining in the list that has none."""
        for action in self.actions:
            if isinstance(action, StopTraining):
                action.update_training_job_prefix_if_not_specified(training_job_name)

    def serialize(self) -> str:
        """The actions as an action string: JSON text."""
        return json.dumps([action.action_parameters for action in self.actions])


def _check(name: str, value: str, pattern: str, example: str) -> None:
    if not isinstance(value, str):
        raise SMDebugTypeError(f"{name} must be text like '{example}', found {value!r}")
    if not re.fullmatch(pattern, value):
        raise SMDebugValueError(f"{name} must be text like '{example}', found '{value}'")
