"""The part of docs/rules.md that is written by hand; `tools/check` holds the generated part."""

import pathlib
import re

from smdebug import _core

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs/rules.md").read_text()


def sections():
    """Name of a rule -> the text of its section that is written by hand."""
    by_hand = re.sub(r"<!-- generated -->.*?<!-- end -->", "", PAGE, flags=re.DOTALL)
    parts = re.split(r"^## (\w+)$", by_hand, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_rule_has_a_section_that_lists_what_it_reads():
    found = sections()
    assert list(found) == [rule["name"] for rule in _core.builtin_rules()]
    assert [name for name, text in found.items() if "*Reads*" not in text] == []


def test_every_rule_has_a_section_that_says_what_it_cannot_see():
    assert [name for name, text in sections().items() if "*Cannot see*:" not in text] == []


def test_every_link_within_the_page_leads_to_a_section():
    targets = re.findall(r"\]\(#([\w-]+)\)", PAGE)
    assert targets
    assert set(targets) <= {name.lower() for name in sections()}


def test_every_name_in_code_that_looks_like_a_parameter_is_one():
    """Text written by hand does not mention a parameter that was renamed."""
    rules = {rule["name"]: rule for rule in _core.builtin_rules()}
    known = {row["name"] for rule in rules.values() for row in rule["parameters"]}
    assignments = re.findall(r"`(\w+)=[^`]*`", "".join(sections().values()))
    assert len(assignments) > 5
    # Of Keras, XGBoost and PyTorch.
    elsewhere = {"activation", "batch_first", "from_logits", "grow_policy", "maximize", "training"}
    assert set(assignments) - known <= elsewhere
