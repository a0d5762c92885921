"""Rules as a user asks for them in Python, as the core takes them."""

import inspect
import json

from smdebug.exceptions import SMDebugTypeError, SMDebugValueError
from smdebug.reduction_config import ReductionConfig
from smdebug.rules.builtin_rule import BuiltinRule
from smdebug.rules.rule import Rule


def core_rule(rule, make_judge):
    """A pair for the core: the name of a built-in rule and its parameters, or a judge and {}.

    `rule` is the name of a built-in rule ("VanishingGradient"), what `smdebug.rules.builtin` gives,
    a class derived from smdebug.rules.Rule, or a pair of a name or a class and its parameters:
    ("VanishingGradient", {"threshold": 1e-6}). `make_judge(class, parameters)` makes the judge.

    Raises SMDebugTypeError for what is no rule, SMDebugValueError for parameters that a class
    does not take.
    """
    if isinstance(rule, BuiltinRule):
        return rule.rule_name, rule.parameters
    rule, parameters = rule if isinstance(rule, (tuple, list)) and len(rule) == 2 else (rule, {})
    if not isinstance(parameters, dict):
        raise SMDebugTypeError(f"a rule's parameters are a dict, found {parameters!r}")
    if isinstance(rule, str):
        return rule, {str(name): str(value) for name, value in parameters.items()}
    if not (inspect.isclass(rule) and issubclass(rule, Rule)):
        raise SMDebugTypeError(
            "a rule is the name of a built-in one, a class derived from smdebug.rules.Rule, or "
            f"a pair of one of these and its parameters, found {rule!r}"
        )
    try:
        inspect.signature(rule).bind(None, **parameters)
    except TypeError as error:
        raise SMDebugValueError(f"{rule.__name__} is not made with {parameters}: {error}") from None
    return make_judge(rule, parameters), {}


def request_tensors(hook, request):
    """Has `hook` save what rules look at: statistics where these suffice, as often as the hook
    saves. `request` is JSON, the core's CaptureRequest. What the user asked for stays as it is."""
    if hook.save_all:
        return
    asked = set(hook.include_collections)
    for wanted in json.loads(request)["collections"]:
        if wanted["name"] in asked:
            continue
        collection = hook.get_collection(wanted["name"])
        if wanted.get("include_regex"):
            collection.include(wanted["include_regex"])
        is_plain = collection.reduction_config is None and hook.reduction_config is None
        if wanted["summary"] and is_plain:
            collection.reduction_config = ReductionConfig(summary=True)
        hook.include_collections.append(wanted["name"])
