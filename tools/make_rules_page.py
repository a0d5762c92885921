#!/usr/bin/env python3
"""Writes the generated blocks of docs/rules.md from the rules themselves.

    tools/make_rules_page.py [--check]     --check prints the difference instead

Each section of the page is a rule. Its summary and condition open the section;
its parameters, the usual cause and the advice close it. The text in between is
written by hand and preserved. Reads the rules from the package in .venv/torch.
"""

import argparse
import difflib
import json
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/rules.md"
WIDTH = 100
SECTION = re.compile(r"^## (\w+)\n", re.MULTILINE)
BLOCK = re.compile(r"<!-- generated -->\n.*?<!-- end -->\n*", re.DOTALL)
# Parameters of every rule, explained once at the top of the page.
SHARED = ("start_step", "end_step", "preset")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    old = PAGE.read_text()
    new = updated(old, rules())
    if not options.check:
        PAGE.write_text(new)
        return 0
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), "docs/rules.md", "generated", lineterm=""
    )
    print("\n".join(lines))
    return old != new


def rules() -> list[dict]:
    """The rules as `smdebug rules --json` prints them."""
    command = [ROOT / ".venv/torch/bin/smdebug", "rules", "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def updated(page: str, rules: list[dict]) -> str:
    """`page` with new blocks, and its sections in the order of `rules`.

    A rule without a section gets one; a section without a rule is removed.
    """
    introduction, *parts = SECTION.split(page)
    by_hand = dict(zip(parts[::2], parts[1::2], strict=True))
    sections = [section(rule, by_hand.get(rule["name"], "")) for rule in rules]
    return "\n\n".join([introduction.strip(), *sections]) + "\n"


def section(rule: dict, old: str) -> str:
    """One rule, with the handwritten text of its `old` section."""
    by_hand = BLOCK.sub("", old).strip()
    parts = [f"## {rule['name']}", block(summary(rule)), by_hand, block(details(rule))]
    return "\n\n".join(part for part in parts if part)


def block(text: str) -> str:
    return f"<!-- generated -->\n{text}\n<!-- end -->" if text else ""


def summary(rule: dict) -> str:
    return wrapped(marked(f"{rule['summary']} {rule['condition']}", rule))


def details(rule: dict) -> str:
    parts = [table(rule), *(advice_text(advice, rule) for advice in rule["advice"])]
    return "\n\n".join(part for part in parts if part)


def table(rule: dict) -> str:
    """The parameters that differ from those of every rule; empty if there are none."""
    rows = [row for row in rule["parameters"] if row["name"] not in SHARED or is_own(row)]
    if not rows:
        return ""
    has_tuned = any(row["tuned"] != row["default"] for row in rows)
    columns = ["parameter", "default", *(["tuned"] if has_tuned else []), "meaning"]
    lines = [columns, ["---"] * len(columns)]
    for row in rows:
        cells = [code(row["name"]), value_text(row, row["default"])]
        if has_tuned:
            is_tuned = row["tuned"] != row["default"]
            cells.append(value_text(row, row["tuned"]) if is_tuned else "")
        lines.append([*cells, meaning(row, rule)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def is_own(parameter: dict) -> bool:
    """Whether a rule has its own value of a shared parameter."""
    return parameter["name"] != "preset" and parameter["tuned"] is not None


def value_text(parameter: dict, value: str | None) -> str:
    if not value:
        return "none"
    values = value.split(",") if parameter["type"] == "list" else [value]
    return ", ".join(map(code, values))


def meaning(parameter: dict, rule: dict) -> str:
    text = marked(parameter["description"], rule)
    low, high = parameter["minimum"], parameter["maximum"]
    if low is not None and high is not None:
        return f"{text} {low:g} to {high:g}."
    return text if low is None else f"{text} At least {low:g}."


def advice_text(advice: dict, rule: dict) -> str:
    when = f" ({advice['when']})" if advice["when"] else ""
    return "\n".join(
        [
            wrapped(marked(f"*Usual cause*{when}: {advice['cause']}.", rule)),
            wrapped(marked(f"*What to try*: {advice['advice']}.", rule)),
        ]
    )


def marked(text: str, rule: dict) -> str:
    """`text` with quoted names of parameters as code."""
    names = "|".join(re.escape(row["name"]) for row in rule["parameters"])
    return re.sub(rf"(?<!\w)'({names})'(?!\w)", r"`\1`", text)


def code(text: str) -> str:
    """A code span that is safe in a table."""
    return "`" + text.replace("|", r"\|") + "`"


def wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    sys.exit(main())
