"""docs/rules.md says of each rule what its table in the code says."""

import pathlib
import re

from smdebug import _core

ROOT = pathlib.Path(__file__).resolve().parents[2]
OF_EVERY_RULE = {"start_step", "end_step", "preset"}


def sections():
    text = (ROOT / "docs/rules.md").read_text()
    parts = re.split(r"^## (\w+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_rules_stand_in_the_order_of_the_alphabet():
    assert list(sections()) == sorted(sections(), key=str.lower)


def test_every_section_names_each_parameter_of_its_rule_with_its_default():
    rules = {rule["name"]: rule for rule in _core.builtin_rules()}
    assert sections()
    for name, section in sections().items():
        rows = [line for line in section.splitlines() if line.startswith("| `")]
        for parameter in rules[name]["parameters"]:
            row = next((row for row in rows if f"`{parameter['name']}`" in row.split("|")[1]), None)
            if parameter["name"] in OF_EVERY_RULE and row is None:
                continue
            assert row, f"{name}: {parameter['name']} is not in the table"
            default = parameter["default"]
            if "regex" in parameter["name"]:
                default = default.split(",")[0]  # more of them are for other spellings
            assert default in row, f"{name}: {row}"


def plain(text):
    return " ".join(text.replace("`", "").split())


def test_every_section_says_what_a_verdict_says_of_cause_and_remedy():
    text = sections()
    for rule in _core.builtin_rules():
        section = plain(text[rule["name"]])
        never_fires = rule["name"] == "CreateXgboostReport"
        assert bool(rule["remedies"]) != never_fires, rule["name"]
        for remedy in rule["remedies"]:
            said = f"{remedy['cause']}. *What to try*: {remedy['advice']}."
            assert plain(said) in section, f"{rule['name']}: {said}"
            assert remedy["when"] in section


def test_every_section_says_what_its_rule_is_tuned_to():
    rules = {rule["name"]: rule for rule in _core.builtin_rules()}
    for name, section in sections().items():
        said = re.findall(r"^\*Tuned\*: (.*?)\.$", section, flags=re.MULTILINE)
        values = dict(re.findall(r"`(\w+)=([^`]*)`", said[0])) if said else {}
        assert values == {
            parameter["name"]: parameter["tuned"]
            for parameter in rules[name]["parameters"]
            if parameter["tuned"] != parameter["default"]
        }, name
