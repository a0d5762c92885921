"""Rules written in Python: subclass `Rule`, drive it with `invoke_rule`.

`smdebug run --rule file.py:Class` judges with such a rule, too. The built-in rules are written in
C++; `smdebug rules` lists them, and `builtin` makes one for a trial.
"""

from smdebug.rules.builtin_rule import builtin
from smdebug.rules.rule import Rule
from smdebug.rules.rule_invoker import invoke_rule

__all__ = ["Rule", "builtin", "invoke_rule"]
