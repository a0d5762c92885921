"""Rules written in Python: subclass `Rule` and run it with `invoke_rule`.

`smdebug run --rule file.py:Class` also accepts such a rule. The built-in rules are written in C++.
`smdebug rules` lists them, and `builtin` makes one for a trial.
"""

from typing import TYPE_CHECKING

from smdebug._core import builtin_rules
from smdebug.near_names import refuse_name
from smdebug.rules.builtin_rule import builtin
from smdebug.rules.rule import Rule
from smdebug.rules.rule_invoker import invoke_rule

__all__ = ["Rule", "builtin", "invoke_rule"]


if not TYPE_CHECKING:  # which would take every name for an attribute

    def __getattr__(name: str) -> object:
        is_rule = name[0] != "_" and name in (rule["name"] for rule in builtin_rules())
        hint = f"use smdebug.rules.builtin('{name}', trial)" if is_rule else ""
        refuse_name(__name__, name, __all__, hint)
