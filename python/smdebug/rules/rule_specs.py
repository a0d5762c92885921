"""Translates the rules that a user requests in Python for the core."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.hook_arguments import shown
from smdebug.reduction_config import ReductionConfig
from smdebug.rules.builtin_rule import BuiltinRule
from smdebug.rules.rule import Rule

if TYPE_CHECKING:
    from smdebug.hook import BaseHook
    from smdebug.rules.judge import Judge


def core_rule(
    rule: Any, make_judge: Callable[[type[Rule], dict[str, Any]], Judge]
) -> tuple[str | Judge, dict[str, str]]:
    """A pair for the core: the name of a built-in rule and its parameters, or a judge and {}.

    `rule` is the name of a built-in rule ("VanishingGradient"), the result of `builtin`,
    a class derived from smdebug.rules.Rule, or a pair of a name or a class and its parameters:
    ("VanishingGradient", {"threshold": 1e-6}). `make_judge(class, parameters)` makes the judge.

    Raises SMDebugTypeError if `rule` is none of these, and SMDebugValueError for parameters that
    the class does not accept and for a rule in a file, which the command line takes.
    """
    if isinstance(rule, BuiltinRule):
        return rule.rule_name, rule.parameters
    rule, parameters = rule if isinstance(rule, (tuple, list)) and len(rule) == 2 else (rule, {})
    if isinstance(rule, dict) and (isinstance(parameters, str) or inspect.isclass(parameters)):
        first = repr(parameters) if isinstance(parameters, str) else parameters.__name__
        raise SMDebugTypeError(
            f"the rule comes first, then its parameters: use ({first}, {shown(rule)})"
        )
    if not isinstance(parameters, dict):
        name = rule if isinstance(rule, str) else getattr(rule, "__name__", shown(rule))
        raise SMDebugTypeError(
            f"the parameters of rule {name} are a dict such as {{'threshold': 1e-6}}, "
            f"found {shown(parameters)}"
        )
    if isinstance(rule, str) and ".py:" in rule:
        file, _, name = rule.partition(":")
        raise SMDebugValueError(
            f"'{rule}' is a rule of the command line; here, import {name} from {file} and pass the "
            "class itself"
        )
    if isinstance(rule, str):
        return rule, {str(name): str(value) for name, value in parameters.items()}
    if not (inspect.isclass(rule) and issubclass(rule, Rule)):
        raise SMDebugTypeError(
            "a rule is the name of a built-in one, a class derived from smdebug.rules.Rule, or "
            f"a pair of one of these and its parameters, found {shown(rule)}"
            + (f"; pass the class {type(rule).__name__}" if isinstance(rule, Rule) else "")
        )
    return make_judge(rule, parameters), {}


def request_tensors(hook: BaseHook, request: str) -> None:
    """Configures `hook` to save the tensors that rules need, at the steps that it saves anyway, and
    only statistics where these suffice. `request` is JSON, a CaptureRequest of the core. Does not
    change the settings of the user."""
    if hook.save_all:
        return
    asked = set(hook.include_collections)
    framework = hook.make_framework()
    for wanted in json.loads(request)["collections"]:
        if wanted["name"] in asked:
            continue
        collection = hook.get_collection(wanted["name"])
        # The verdict of a rule names what it lacks; a user does not know its collections.
        is_of_rule = not framework.knows(wanted["name"])
        collection.is_optional = is_of_rule or wanted.get("optional", False)
        if wanted.get("include_regex"):
            collection.include(wanted["include_regex"])
        is_plain = collection.reduction_config is None and hook.reduction_config is None
        if wanted["summary"] and is_plain:
            collection.reduction_config = ReductionConfig(summary=True)
        hook.include_collections.append(wanted["name"])
