"""`CommandAction`: runs a program when a rule fires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smdebug.rules.action.performed import PerformedAction

if TYPE_CHECKING:
    from smdebug.trials import Trial


class CommandAction(PerformedAction):
    """The shell runs `command` with the verdict as JSON on its standard input."""

    def __init__(self, rule_name: str, command: str, trial: Trial | None = None) -> None:
        super().__init__(rule_name, "command", command, trial)
