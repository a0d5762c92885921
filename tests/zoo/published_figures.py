"""The figures of the published faults: docs/published-faults.json, and the section of
docs/rule-quality.md that is made of it.

`tests/zoo/published/run_published.py --page` measures them.
"""

import json
import pathlib

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "docs/published-faults.json"
# Row of the table -> (the count, what it is a share of).
_ROWS = {
    "faults found": ("found", "faults"),
    "a finding names the cause": ("named", "faults"),
    "the first finding names it": ("named first", "faults"),
    "healthy with a false alarm": ("with a false alarm", "healthy"),
    "healthy with advice": ("with advice", "healthy"),
    "steps until the first finding, median": ("median step of the first finding", None),
    "lines printed, median": ("median of lines", None),
    "lines printed, most": ("most lines", None),
}
INTRODUCTION = """Faults that somebody published, as questions on StackOverflow or as issues of a
project, each reproduced as a short training beside its repaired twin (`tests/zoo/published`), and
healthy trainings of further kinds. Each ran once under `smdebug run` without options. A fault is
*found* if anything above advice fired. Rules were tuned on the first part, and the default set was
chosen by the second; the third is looked at only for this table. Left out: open_clip #573, of which
our sources have only the number."""


def write(totals: dict[str, dict], unnamed: list[dict], alarms: list[dict]) -> None:
    """Writes the results: the totals by part and, without the part `report`, the faults whose first
    finding does not name the cause and the healthy trainings with false alarms."""
    lines = [
        f" {json.dumps(name)}: {json.dumps(value)}"
        for name, value in {"totals": totals, "unnamed": unnamed, "alarms": alarms}.items()
    ]
    RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def read() -> dict:
    """The results."""
    return json.loads(RESULTS.read_text())


def rows(results: dict) -> list[list[str]]:
    """The table, a column per part."""
    parts = list(results["totals"].values())
    return [[title, *(_cell(part, *names) for part in parts)] for title, names in _ROWS.items()]


def columns(results: dict) -> list[str]:
    """The titles of the columns of parts."""
    return list(results["totals"])


def lists(results: dict) -> str:
    """The cases that are not as they should be."""
    unnamed = [
        f"- {each['case']} ({each['part']}): "
        + (f"{', '.join(each['fired'])} fired" if each["fired"] else "nothing fired")
        for each in results["unnamed"]
    ]
    alarms = [
        f"- {each['case']} ({each['part']}): {', '.join(each['fired'])}"
        for each in results["alarms"]
    ]
    return "\n".join(
        [
            "Faults of the first two parts whose first finding does not name the cause:",
            "",
            *(unnamed or ["- none"]),
            "",
            "Their healthy trainings and repaired twins with a false alarm:",
            "",
            *(alarms or ["- none"]),
        ]
    )


def _cell(part: dict, count: str, whole: str | None) -> str:
    value = part[count]
    if whole is None:
        return "-" if value is None else f"{value:g}"
    return f"{value} of {part[whole]} ({value / part[whole]:.2f})" if part[whole] else "-"
