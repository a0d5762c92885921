"""Reads the reports of the cloud's rule ProfilerReport: `read_profiler_report(folder)`.

smdebug does not write such reports. `smdebug.sagemaker.profiler_report_fields.FIELDS` lists the
fields of published reports and their units.
"""

from __future__ import annotations

import copy
import json
import os
import pathlib
from typing import Any, NamedTuple

from smdebug.exceptions import SMDebugRuntimeError, SMDebugTypeError
from smdebug.sagemaker.profiler_report_fields import (
    DOCUMENT_FIELDS,
    FIELDS,
    Fields,
    Quantity,
    leaves,
    quantities_of,
)

__all__ = [
    "DOCUMENT_FIELDS",
    "FIELDS",
    "Fields",
    "ProfilerReportDocuments",
    "Quantity",
    "RuleDocument",
    "RuleSummary",
    "read_profiler_report",
]

# Published documents are five levels deep.
_DEEPEST = 100
_FOLDERS = ("profiler-output/profiler-reports", "profiler-reports", ".")


def read_profiler_report(path: str | os.PathLike[str]) -> ProfilerReportDocuments:
    """The documents of a report.

    `path` is a local folder `ProfilerReport-<time>`, its `profiler-output` or `profiler-reports`,
    or a single `<Rule>.json`. Any of the eleven documents may be missing, and any key of one.

    Values are those of the file, including known mistakes of the service: in BatchSize, the limits
    `upper` and `lower` of a `<gpu>_memory` were computed with the lower quartile of the GPU's
    utilization. They may be below 0, above 100, or swapped.

    If a document of a folder cannot be read or is not a JSON object, `damaged` lists it, and the
    others are read. Raises SMDebugTypeError for an invalid path and SMDebugRuntimeError with the
    code "not_found" if the folder does not exist or has no document of a rule, "corrupt" for a
    single damaged file, and "io" if a folder cannot be listed.
    """
    asked = _as_path(path)
    report = ProfilerReportDocuments(str(asked), {}, {}, {})
    try:
        if asked.is_file():
            _keep(report, _read_document(asked))
            return report
        files = _files_of(asked)
    except OSError as error:
        raise _error(
            "io", f"profiler report '{asked}': {error.strerror}: this user must be able to read it"
        ) from None
    for file in files:
        try:
            _keep(report, _read_document(file))
        except SMDebugRuntimeError as error:
            report.damaged[file.stem] = str(error)
    return report


class RuleDocument:
    """The findings of one rule: `<Rule>.json`.

    `rule` is the name of the rule and `document` the parsed file. All values except `quantities`
    and `unknown_fields` are those of the file, or None if the file lacks them.
    """

    def __init__(self, rule: str, document: dict[str, Any]) -> None:
        self.rule = rule
        self._document = document

    def __repr__(self) -> str:
        return f"RuleDocument({self.rule!r}, triggered {self.times_triggered} times)"

    @property
    def datapoints(self) -> Any:
        """`Datapoints`: the number of data points that the rule evaluated."""
        return self._document.get("Datapoints")

    @property
    def times_triggered(self) -> Any:
        """`RuleTriggered`: the number of evaluations that met the condition of the rule."""
        return self._document.get("RuleTriggered")

    @property
    def violations(self) -> Any:
        """`Violations`, a count."""
        return self._document.get("Violations")

    @property
    def parameters(self) -> dict[str, Any]:
        """`RuleParameters`, a dict by name.

        Accepts an object, whose values it keeps, and text with one "key:value" per line, whose
        values are text ("70", "None"); a line without a colon is a key with the value "". Empty if
        there are none. `unknown_fields` lists any other form.
        """
        given = self._document.get("RuleParameters")
        if isinstance(given, dict):
            return dict(given)
        if not isinstance(given, str):
            return {}
        lines = (line.partition(":") for line in given.splitlines() if line.strip())
        return {key.strip(): value.strip() for key, _, value in lines}

    @property
    def details(self) -> Any:
        """`Details`, a dict; empty if there are none."""
        return self._document.get("Details", {})

    def quantities(self) -> list[Quantity]:
        """All values of `details` with their units."""
        return quantities_of(self.rule, self.details)

    @property
    def unknown_fields(self) -> list[tuple[Any, ...]]:
        """The paths, from the top of the document, of fields that published reports lack or have
        without a unit. They are read like the others; their unit is None.
        """
        unknown = [("Details", *field.path) for field in self.quantities() if field.unit is None]
        for key, value in self._document.items():
            if key != "Details" and not _is_known(key, value):
                unknown += [(key, *path) for path, _ in leaves(value)]
        return unknown

    def as_document(self) -> dict[str, Any]:
        """A copy of the content of the file, for `json.dumps`."""
        return copy.deepcopy(self._document)


class RuleSummary(NamedTuple):
    """One line of the summary of a report.

    `times_triggered`, `violations`, `datapoints`: counts as in the file, or None. `damage`: None,
    or the reason why the document could not be read; the other fields are empty then.
    """

    rule: str
    times_triggered: Any
    violations: Any
    datapoints: Any
    parameters: dict[str, Any]
    damage: str | None


class ProfilerReportDocuments(NamedTuple):
    """The documents of a report.

    `path`: the requested path. `documents`: by rule name, a RuleDocument for each rule in the
    report. `unknown`: the same for JSON files whose name is not that of a rule; all of their fields
    are unknown. `damaged`: by name, the reason why a file could not be read.
    """

    path: str
    documents: dict[str, RuleDocument]
    unknown: dict[str, RuleDocument]
    damaged: dict[str, str]

    def summary(self) -> list[RuleSummary]:
        """One entry per rule: most triggered first, ties by name, damaged ones last."""
        read = sorted(self.documents.values(), key=_times_triggered, reverse=True)
        return [
            RuleSummary(
                found.rule,
                found.times_triggered,
                found.violations,
                found.datapoints,
                found.parameters,
                None,
            )
            for found in read
        ] + [RuleSummary(rule, None, None, None, {}, why) for rule, why in self.damaged.items()]

    def summary_table(self) -> str:
        """`summary` as text, one line per rule, then a line for the files of unknown rules."""
        rows = [("rule", "times triggered", "data points", "parameters")]
        for line in self.summary():
            parameters = ", ".join(f"{key}: {value}" for key, value in line.parameters.items())
            rows.append(
                (line.rule, "damaged", "", line.damage)
                if line.damage
                else (line.rule, _shown(line.times_triggered), _shown(line.datapoints), parameters)
            )
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        text = [
            f"{rule:<{widths[0]}}  {times:>{widths[1]}}  {points:>{widths[2]}}  {rest}".rstrip()
            for rule, times, points, rest in rows
        ]
        if self.unknown:
            text.append(f"not named after a rule: {', '.join(self.unknown)}")
        return "\n".join(text)


def _as_path(path: Any) -> pathlib.Path:
    try:
        return pathlib.Path(os.fsdecode(path))
    except TypeError:
        raise SMDebugTypeError(
            f"profiler report: expected the path of a folder or a file, found {path!r}"
        ) from None


def _files_of(asked: pathlib.Path) -> list[pathlib.Path]:
    """The JSON files of a report, sorted by name."""
    if not asked.is_dir():
        raise _error(
            "not_found",
            f"profiler report '{asked}': there is no such folder or file: give a downloaded folder "
            "'ProfilerReport-<time>', or a '<Rule>.json' of it",
        )
    found = []
    for folder in _FOLDERS:
        files = _json_files(asked / folder)
        if any(file.stem in FIELDS for file in files):
            return files
        found += [file.name for file in files]
    names = ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
    raise _error(
        "not_found",
        f"profiler report '{asked}': expected '<Rule>.json', such as BatchSize.json, here, in "
        f"profiler-reports or in profiler-output/profiler-reports, found {names or 'no JSON file'}"
        ": give the folder 'ProfilerReport-<time>'",
    )


def _json_files(folder: pathlib.Path) -> list[pathlib.Path]:
    if not folder.is_dir():
        return []
    files = (file for file in folder.iterdir() if not file.name.startswith("."))
    return sorted(file for file in files if file.suffix == ".json")


def _keep(report: ProfilerReportDocuments, document: RuleDocument) -> None:
    named_alike = report.documents if document.rule in FIELDS else report.unknown
    named_alike[document.rule] = document


def _read_document(file: pathlib.Path) -> RuleDocument:
    try:
        if not file.is_file():
            raise _damage(file, "something that is not a file")
        document = json.loads(file.read_bytes())
    except OSError as error:
        raise _damage(file, f"a file that cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise _damage(file, f"text that is not JSON ({error})") from None
    if not isinstance(document, dict):
        raise _damage(file, f"JSON that is a {type(document).__name__}, not an object")
    if any(len(path) > _DEEPEST for path, _ in leaves(document)):
        raise _damage(file, f"JSON of more than {_DEEPEST} levels")
    return RuleDocument(file.stem, document)


def _damage(file: pathlib.Path, found: str) -> SMDebugRuntimeError:
    return _error(
        "corrupt",
        f"profiler report '{file}': expected a JSON object, found {found}: download it again",
    )


def _error(code: str, message: str) -> SMDebugRuntimeError:
    error = SMDebugRuntimeError(message)
    error.code = code
    return error


def _is_known(key: str, value: object) -> bool:
    if key == "RuleParameters":
        return isinstance(value, (str, dict))
    return key in DOCUMENT_FIELDS and not isinstance(value, (dict, list))


def _times_triggered(document: RuleDocument) -> float:
    """A sort key: a value that is not a number sorts after 0."""
    times = document.times_triggered
    return times if isinstance(times, (int, float)) else -1


def _shown(value: object) -> str:
    return "-" if value is None else str(value)
