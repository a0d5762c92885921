"""`CommandAction`: a rule runs a program."""

from smdebug.rules.action.performed import PerformedAction


class CommandAction(PerformedAction):
    """`command` is run by the shell, with the verdict as JSON on its standard input."""

    def __init__(self, rule_name, command, trial=None):
        super().__init__(rule_name, "command", command, trial)
