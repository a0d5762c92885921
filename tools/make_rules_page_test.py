"""The text that docs/rules.md keeps, gains and loses when it is generated again."""

import re

import make_rules_page

RULE = {
    "name": "DeadRelu",
    "summary": "Most units are zero.",
    "condition": "Fires when more than 'limit' percent are.",
    "parameters": [
        {
            "name": "limit",
            "type": "number",
            "default": "50",
            "tuned": "80",
            "minimum": 0,
            "maximum": 100,
            "choices": [],
            "description": "How many may be zero.",
        },
        {
            "name": "regex",
            "type": "list",
            "default": r"[Uu](_?\d+)?,tanh|relu",
            "tuned": r"[Uu](_?\d+)?,tanh|relu",
            "minimum": None,
            "maximum": None,
            "choices": [],
            "description": "Which tensors to judge.",
        },
        {
            "name": "start_step",
            "type": "integer",
            "default": None,
            "tuned": None,
            "minimum": 0,
            "maximum": None,
            "choices": [],
            "description": "The first step.",
        },
    ],
    "advice": [{"when": "too large", "cause": "a bias", "advice": "lower 'limit'"}],
}
PAGE = "# Rules\n\nFor all rules.\n"


def made(page=PAGE, rules=(RULE,)):
    return make_rules_page.updated(page, rules)


def test_a_new_rule_gets_a_section():
    assert (
        made()
        == r"""# Rules

For all rules.

## DeadRelu

<!-- generated -->
Most units are zero. Fires when more than `limit` percent are.
<!-- end -->

<!-- generated -->
| parameter | default | tuned | meaning |
| --- | --- | --- | --- |
| `limit` | `50` | `80` | How many may be zero. 0 to 100. |
| `regex` | `[Uu](_?\d+)?`, `tanh\|relu` |  | Which tensors to judge. |

*Usual cause* (too large): a bias.
*What to try*: lower `limit`.
<!-- end -->
"""
    )


def test_text_written_by_hand_is_kept():
    page = made().replace("<!-- end -->\n\n<!--", "<!-- end -->\n\nBy hand.\n\nMore.\n\n<!--")
    assert "By hand." in page
    assert made(page) == page
    again = made(page, [{**RULE, "summary": "Most units are dead."}])
    assert again == page.replace("Most units are zero.", "Most units are dead.")


def test_sections_follow_the_order_of_the_rules():
    other = {**RULE, "name": "AllZero"}
    page = made(made(rules=[RULE, other]), [other, RULE])
    assert re.findall(r"^## (\w+)", page, re.MULTILINE) == ["AllZero", "DeadRelu"]


def test_a_rule_without_parameters_and_advice_has_no_empty_block():
    page = made(rules=[{**RULE, "parameters": [], "advice": []}])
    assert page.count("<!-- generated -->") == page.count("<!-- end -->") == 1


def test_a_shared_parameter_with_a_value_of_its_own_is_listed():
    start = {**RULE["parameters"][2], "tuned": "10"}
    page = made(rules=[{**RULE, "parameters": [start]}])
    assert "| `start_step` | none | `10` | The first step. At least 0. |" in page
