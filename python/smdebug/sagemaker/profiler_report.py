"""Reads the reports that the cloud's rule ProfilerReport wrote: `read_profiler_report(folder)`.

smdebug writes none. The fields that published reports have, and their units, are
`smdebug.sagemaker.profiler_report_fields.FIELDS`.
"""

import copy
import json
import os
import pathlib
from typing import NamedTuple

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


def read_profiler_report(path):
    """The documents of a report, a ProfilerReportDocuments.

    `path` (str or path-like) is a folder `ProfilerReport-<time>`, its `profiler-output`, its
    `profiler-reports`, or one `<Rule>.json`, on a disk. Any of the eleven documents may be missing,
    and any key of one.

    Values are those of the file, known mistakes too: in BatchSize the limits `upper` and `lower` of
    a `<gpu>_memory` were made with the lower quartile of the GPU's use, and may lie below 0, above
    100, or the wrong way round.

    A folder's document that cannot be read, or is no JSON object, is told in `damaged`, and the
    others are read. Raises SMDebugTypeError for a path that is none, and SMDebugRuntimeError: with
    the code "not_found" where there is no such folder or no rule's document in it, "corrupt" for a
    single file that is damaged, "io" where a folder cannot be listed.
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
            "io", f"profiler report '{asked}': {error.strerror}: it must be readable for this user"
        ) from None
    for file in files:
        try:
            _keep(report, _read_document(file))
        except SMDebugRuntimeError as error:
            report.damaged[file.stem] = str(error)
    return report


class RuleDocument:
    """What one rule found: `<Rule>.json`.

    `rule` is the rule's name, `document` (dict) the parsed file. Every answer but `quantities` and
    `unknown_fields` is as the file has it, None where it has none.
    """

    def __init__(self, rule, document):
        self.rule = rule
        self._document = document

    def __repr__(self):
        return f"RuleDocument({self.rule!r}, triggered {self.times_triggered} times)"

    @property
    def datapoints(self):
        """`Datapoints`: how many data points were judged."""
        return self._document.get("Datapoints")

    @property
    def times_triggered(self):
        """`RuleTriggered`: how many evaluations found what the rule looks for."""
        return self._document.get("RuleTriggered")

    @property
    def violations(self):
        """`Violations`, a count."""
        return self._document.get("Violations")

    @property
    def parameters(self):
        """`RuleParameters`, a dict by name.

        Taken are an object, whose values stay as they are, and a text with a "key:value" in each
        line, whose values are text ("70", "None"); a line without a colon is a key whose value is
        "". Empty where there are none. Anything else is in `unknown_fields`.
        """
        given = self._document.get("RuleParameters")
        if isinstance(given, dict):
            return dict(given)
        if not isinstance(given, str):
            return {}
        lines = (line.partition(":") for line in given.splitlines() if line.strip())
        return {key.strip(): value.strip() for key, _, value in lines}

    @property
    def details(self):
        """`Details`, a dict; empty where there are none."""
        return self._document.get("Details", {})

    def quantities(self):
        """All values of `details` with their units: a list of Quantity."""
        return quantities_of(self.rule, self.details)

    @property
    def unknown_fields(self):
        """Paths (tuples, from the top of the document) of what published reports do not have, or
        have without telling its unit: a list. They are read like the others; their unit is None.
        """
        unknown = [("Details", *field.path) for field in self.quantities() if field.unit is None]
        for key, value in self._document.items():
            if key != "Details" and not _is_known(key, value):
                unknown += [(key, *path) for path, _ in leaves(value)]
        return unknown

    def as_document(self):
        """A copy of what the file held, for `json.dumps`."""
        return copy.deepcopy(self._document)


class RuleSummary(NamedTuple):
    """A line of a report's summary.

    `times_triggered`, `violations`, `datapoints`: counts, as the file has them, None where it has
    none. `parameters`: a dict. `damage`: None, or why the rule's document could not be read, which
    leaves the others empty.
    """

    rule: str
    times_triggered: object
    violations: object
    datapoints: object
    parameters: dict
    damage: str | None


class ProfilerReportDocuments(NamedTuple):
    """A report that was read.

    `path`: what was asked for. `documents`: a RuleDocument by the name of each rule that is there.
    `unknown`: the same of JSON files that are named after no rule; all of their fields are unknown.
    `damaged`: by name, why a file could not be read.
    """

    path: str
    documents: dict
    unknown: dict
    damaged: dict

    def summary(self):
        """A RuleSummary of each rule, a list: those triggered most come first, equals by name,
        damaged ones last."""
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

    def summary_table(self):
        """`summary` as text, a line for each rule; then one for files named after no rule."""
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
            text.append(f"named after no rule: {', '.join(self.unknown)}")
        return "\n".join(text)


def _as_path(path):
    try:
        return pathlib.Path(os.fsdecode(path))
    except TypeError:
        raise SMDebugTypeError(
            f"profiler report: the path of a folder or a file was expected, found {path!r}"
        ) from None


def _files_of(asked):
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


def _json_files(folder):
    if not folder.is_dir():
        return []
    files = (file for file in folder.iterdir() if not file.name.startswith("."))
    return sorted(file for file in files if file.suffix == ".json")


def _keep(report, document):
    named_alike = report.documents if document.rule in FIELDS else report.unknown
    named_alike[document.rule] = document


def _read_document(file):
    try:
        if not file.is_file():
            raise _damage(file, "something that is no file")
        document = json.loads(file.read_bytes())
    except OSError as error:
        raise _damage(file, f"a file that cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise _damage(file, f"text that is no JSON ({error})") from None
    if not isinstance(document, dict):
        raise _damage(file, f"JSON that is no object but a {type(document).__name__}")
    if any(len(path) > _DEEPEST for path, _ in leaves(document)):
        raise _damage(file, f"JSON of more than {_DEEPEST} levels")
    return RuleDocument(file.stem, document)


def _damage(file, found):
    return _error(
        "corrupt",
        f"profiler report '{file}': expected a JSON object, found {found}: download it again",
    )


def _error(code, message):
    error = SMDebugRuntimeError(message)
    error.code = code
    return error


def _is_known(key, value):
    if key == "RuleParameters":
        return isinstance(value, (str, dict))
    return key in DOCUMENT_FIELDS and not isinstance(value, (dict, list))


def _times_triggered(document):
    """For sorting: what is no number comes after 0."""
    times = document.times_triggered
    return times if isinstance(times, (int, float)) else -1


def _shown(value):
    return "-" if value is None else str(value)
