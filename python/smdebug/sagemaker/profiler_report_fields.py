"""Fields of the cloud's `profiler-reports/<Rule>.json` and their units.

`FIELDS` lists the fields of published reports. `smdebug.sagemaker.profiler_report` uses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

__all__ = ["DOCUMENT_FIELDS", "FIELDS", "Fields", "Quantity", "quantities_of"]


class Fields(NamedTuple):
    """Sibling keys in `Details` that share one unit.

    `within`: the keys above them, without the node, which may appear at any depth. `<gpu>` is gpu0,
    gpu1...; `<seconds>` is a time since 1970 in s; `<name>` is the name of a phase, an operator or
    another measured thing. `keys`: their own names, or one such placeholder. `unit`: "%",
    "percentage points", "count", "bytes", "us" or "s"; "none" for values without a unit (texts,
    heights of a histogram, step numbers); None if published reports do not give it.
    """

    within: tuple[str, ...]
    keys: tuple[str, ...]
    unit: str | None


class Quantity(NamedTuple):
    """One value in the details of a document.

    `node`: "algo-1", or "algo-1-27" with the process in StepOutlier; None outside of nodes.
    `path`: the keys (str) from `details` to the value, including the node, and indices (int) into
    lists of objects or lists. `value`: the value in the file; a list of plain values is one value.
    `unit`: as in `Fields`; None if unknown. `key_unit`: "s" if a key of the path is a time, else
    None.
    """

    node: str | None
    path: tuple[str | int, ...]
    value: Any
    unit: str | None
    key_unit: str | None


DOCUMENT_FIELDS: dict[str, str] = {
    "Datapoints": "count",
    "RuleTriggered": "count",
    "Violations": "count",
    "RuleParameters": "none",
}
"""The keys of every document except `Details`, with their units."""

_BOX = ("p25", "p50", "p75", "p95", "upper", "lower")
_SPREAD = ("max", "p99", "p95", "p50", "min")
_OF_FRAMEWORK = (
    Fields(("phase",), ("<name>",), "%"),
    Fields(("CPU",), ("<name>",), "%"),
    Fields(("GPU",), ("<name>",), "%"),
    Fields(("ratio",), ("<name>",), None),
    Fields(("phase_time",), ("<name>",), None),
    Fields(("general",), ("<name>",), None),
)
_OF_A_BOTTLENECK = (
    Fields((), ("low_gpu_utilization",), "count"),
    Fields(("bottlenecks", "<seconds>"), ("GPUs", "CPUs"), "count"),
    *_OF_FRAMEWORK,
)

FIELDS: dict[str, tuple[Fields, ...]] = {
    "BatchSize": (
        Fields(("cpu",), _BOX, "%"),
        Fields(("<gpu>",), _BOX, "%"),
        Fields(("<gpu>_memory",), _BOX, "%"),
        Fields((), ("last_timestamp",), "us"),
    ),
    "CPUBottleneck": _OF_A_BOTTLENECK,
    "Dataloader": (
        Fields((), ("pin_memory",), "none"),
        Fields((), ("num_workers", "cores"), "count"),
        Fields((), ("dataloaders",), None),
        Fields(("dataloading_time",), ("probs",), "none"),
        Fields(("dataloading_time",), ("p25", "p50", "p95", "binedges"), None),
    ),
    "GPUMemoryIncrease": (
        Fields(("<gpu>",), ("increase",), "percentage points"),
        Fields(("<gpu>",), ("gpu_max", "p05", *_BOX), "%"),
    ),
    "IOBottleneck": _OF_A_BOTTLENECK,
    "LoadBalancing": (Fields(("workloads",), ("<gpu>",), "count"),),
    "LowGPUUtilization": (
        Fields(
            ("<gpu>",), ("gpu_max", "gpu_95", "gpu_5", "p25", "p50", "p75", "upper", "lower"), "%"
        ),
    ),
    "MaxInitializationTime": (
        Fields(("step_num",), ("first", "last"), "us"),
        Fields((), ("job_start", "job_end"), "s"),
    ),
    "OverallFrameworkMetrics": (
        *_OF_FRAMEWORK,
        Fields(("CPU_total",), ("<name>",), None),
        Fields(("GPU_total",), ("<name>",), None),
    ),
    "OverallSystemUsage": (
        Fields(("Network",), _SPREAD, "bytes"),
        Fields(("GPU",), _SPREAD, "%"),
        Fields(("CPU",), _SPREAD, "%"),
        Fields(("CPU memory",), _SPREAD, "%"),
        Fields(("GPU memory",), _SPREAD, "%"),
        Fields(("I/O",), _SPREAD, "%"),
    ),
    "StepOutlier": (
        Fields(("step_details", "step_stats"), ("mean", *_SPREAD), "s"),
        # Standard deviation of the durations, not the rule's parameter of that name.
        Fields(("step_details",), ("stddev", "binedges"), "s"),
        Fields(("step_details",), ("number_of_outliers",), "count"),
        Fields(("step_details",), ("phase", "probs", "step_numbers"), "none"),
    ),
}
"""The eleven rules of a report, in the order of their names, each with its `Fields`."""

_Keys = tuple[str | int, ...]

_NODE = re.compile(r"algo-[0-9]+(-[0-9]+)?")
_PLACEHOLDERS = {
    "<gpu>": re.compile(r"gpu[0-9]+"),
    "<gpu>_memory": re.compile(r"gpu[0-9]+_memory"),
    "<seconds>": re.compile(r"[0-9]+(\.[0-9]+)?"),
    "<name>": re.compile(r".*", re.DOTALL),
}


def quantities_of(rule: str, details: object) -> list[Quantity]:
    """Every value of `details`, the `Details` of a document of `rule`, in the order of the file.

    An empty object counts as a value if published reports do not have one there.
    """
    fields = FIELDS.get(rule, ())
    found: list[Quantity] = []
    for path, value in leaves(details):
        at = next((i for i, key in enumerate(path) if _matches(key, _NODE)), None)
        node, keys = (None, path) if at is None else (path[at], path[:at] + path[at + 1 :])
        if isinstance(value, dict) and _leads_to_fields(keys, fields):
            continue
        unit, key_unit = _units(keys, value, fields)
        found.append(Quantity(node, path, value, unit, key_unit))
    return found


def leaves(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The path and value of every leaf of `value`, parsed JSON of any depth, in order.

    A list of plain values and an empty object are one leaf each.
    """
    ahead = [((), value)]
    while ahead:
        path, value = ahead.pop()
        members = _members(value)
        if members:
            ahead.extend(((*path, key), member) for key, member in reversed(members))
        else:
            yield path, value


def _members(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list) and any(isinstance(member, (dict, list)) for member in value):
        return list(enumerate(value))
    return []


def _units(keys: _Keys, value: Any, fields: Iterable[Fields]) -> tuple[str | None, str | None]:
    """The units of the value at `keys` and of one of the keys; None if unknown."""
    if not keys or isinstance(value, dict):
        return None, None
    for field in fields:
        if len(keys) == len(field.within) + 1 and _begins(keys, field.within):
            if any(_is(keys[-1], wanted) for wanted in field.keys):
                return field.unit, "s" if "<seconds>" in field.within else None
    return None, None


def _leads_to_fields(keys: _Keys, fields: Iterable[Fields]) -> bool:
    return any(
        len(keys) <= len(field.within) and _begins(keys, field.within[: len(keys)])
        for field in fields
    )


def _begins(keys: _Keys, within: _Keys) -> bool:
    return all(_is(key, wanted) for key, wanted in zip(keys, within, strict=False))


def _is(key: str | int, wanted: str | int) -> bool:
    pattern = _PLACEHOLDERS.get(wanted)
    return key == wanted if pattern is None else _matches(key, pattern)


def _matches(key: str | int, pattern: re.Pattern[str]) -> bool:
    return isinstance(key, str) and pattern.fullmatch(key) is not None
