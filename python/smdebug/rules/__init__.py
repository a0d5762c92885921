"""Rules written in Python: subclass `Rule` and run it with `invoke_rule`.

`smdebug run --rule file.py:Class` also accepts such a rule. The built-in rules are written in C++.
`smdebug rules` lists them, and `builtin` makes one for a trial.
"""

from smdebug.rules.builtin_rule import builtin
from smdebug.rules.rule import Rule
from smdebug.rules.rule_invoker import invoke_rule

__all__ = ["Rule", "builtin", "invoke_rule"]
