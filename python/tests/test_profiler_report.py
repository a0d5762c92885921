"""Reports of the cloud's profiler are read: every key, with its unit, and nothing else.

The documents under tests/corpus/profiler_report are ours. They have the fields, and where they are
known the values, that are on record of published reports.
"""

import copy
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

import pytest

from smdebug.exceptions import SMDebugRuntimeError, SMDebugTypeError
from smdebug.sagemaker import profiler_configs
from smdebug.sagemaker.profiler_report import FIELDS, RuleDocument, read_profiler_report

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPORT = ROOT / "tests/corpus/profiler_report/ProfilerReport-1606239000"
FOLDER = REPORT / "profiler-output/profiler-reports"
RULES = [
    "BatchSize",
    "CPUBottleneck",
    "Dataloader",
    "GPUMemoryIncrease",
    "IOBottleneck",
    "LoadBalancing",
    "LowGPUUtilization",
    "MaxInitializationTime",
    "OverallFrameworkMetrics",
    "OverallSystemUsage",
    "StepOutlier",
]


def boxes(*places, keys="p25 p50 p75 p95 upper lower"):
    return {f"{place} > {key}": "%" for place in places for key in keys.split()}


def of_frameworks():
    return {
        "ratio > forward": None,
        "ratio > backward": None,
        "phase > TRAIN": "%",
        "phase > EVAL": "%",
        "phase > others": "%",
        "phase_time > TRAIN": None,
        "phase_time > EVAL": None,
        "CPU > aten::conv2d": "%",
        "CPU > aten::copy_": "%",
        "GPU > volta_sgemm_128x64_nn": "%",
        "general > DataIterator::next": None,
    }


def of_bottlenecks(**seconds_by_node):
    return {
        f"{node.replace('_', '-')} > {path}": "count"
        for node, seconds in seconds_by_node.items()
        for path in (
            "low_gpu_utilization",
            *(f"bottlenecks > {at} > {what}" for at in seconds for what in ("GPUs", "CPUs")),
        )
    }


def of_steps(node):
    durations = "mean max p99 p95 p50 min".split()
    return {
        **{f"step_details > {node} > step_stats > {key}": "s" for key in durations},
        f"step_details > {node} > number_of_outliers": "count",
        f"step_details > {node} > phase": "none",
        f"step_details > {node} > stddev": "s",
        f"step_details > {node} > probs": "none",
        f"step_details > {node} > binedges": "s",
        f"step_details > {node} > step_numbers": "none",
    }


GPUS = ["algo-1 > gpu0", "algo-1 > gpu1", "algo-2 > gpu0"]
METRICS = ["GPU", "CPU", "CPU memory", "GPU memory", "I/O"]
NODES = ["algo-1", "algo-2"]

# Written out from what is on record of published reports, without the table of the code.
KEYS_AND_UNITS = {
    "BatchSize": {
        **boxes("algo-1 > cpu", "algo-2 > cpu", *GPUS, *(f"{gpu}_memory" for gpu in GPUS)),
        "algo-1 > last_timestamp": "us",
        "algo-2 > last_timestamp": "us",
    },
    "CPUBottleneck": {
        **of_bottlenecks(algo_1=[1606239120, 1606239180], algo_2=[]),
        **of_frameworks(),
    },
    "Dataloader": {
        "algo-1 > pin_memory": "none",
        "algo-1 > num_workers": "count",
        "algo-1 > cores": "count",
        "algo-1 > dataloaders": None,
        "algo-1 > dataloading_time > p25": None,
        "algo-1 > dataloading_time > p50": None,
        "algo-1 > dataloading_time > p95": None,
        "algo-1 > dataloading_time > probs": "none",
        "algo-1 > dataloading_time > binedges": None,
    },
    "GPUMemoryIncrease": {
        **{f"{gpu} > increase": "percentage points" for gpu in GPUS},
        **boxes(*GPUS, keys="gpu_max p05 p25 p50 p75 p95 upper lower"),
    },
    "IOBottleneck": of_bottlenecks(algo_1=[1606239120], algo_2=[1606239240]),
    "LoadBalancing": {
        **{f"algo-1 > workloads > gpu{i}": "count" for i in range(4)},
        "algo-2 > workloads > gpu0": "count",
    },
    "LowGPUUtilization": boxes(*GPUS, keys="gpu_max gpu_95 gpu_5 p25 p50 p75 upper lower"),
    "MaxInitializationTime": {
        "step_num > first": "us",
        "step_num > last": "us",
        "job_start": "s",
        "job_end": "s",
    },
    "OverallFrameworkMetrics": {
        **of_frameworks(),
        "CPU_total > aten::conv2d": None,
        "CPU_total > aten::copy_": None,
        "GPU_total > volta_sgemm_128x64_nn": None,
    },
    "OverallSystemUsage": {
        **{
            f"Network > {node} > {key}": "bytes"
            for node in NODES
            for key in "max p99 p95 p50 min".split()
        },
        **boxes(
            *(f"{metric} > {node}" for metric in METRICS for node in NODES),
            keys="max p99 p95 p50 min",
        ),
    },
    "StepOutlier": {**of_steps("algo-1-27"), **of_steps("algo-2-31")},
}


@pytest.fixture
def report():
    return read_profiler_report(REPORT)


@pytest.fixture
def mine(tmp_path):
    """A copy of the report that a test may harm: its folder `profiler-reports`."""
    shutil.copytree(REPORT, tmp_path / REPORT.name)
    return tmp_path / REPORT.name / "profiler-output/profiler-reports"


def parsed(rule, folder=FOLDER):
    return json.loads((folder / f"{rule}.json").read_text())


def at(value, path):
    for key in path:
        value = value[key]
    return value


@pytest.mark.parametrize("rule", RULES)
def test_a_published_document_has_the_same_keys_and_units(report, rule):
    document = report.documents[rule]
    read = {" > ".join(found.path): found.unit for found in document.quantities()}
    assert read == KEYS_AND_UNITS[rule]
    assert [tuple(path) for path in document.unknown_fields] == [
        ("Details", *path.split(" > ")) for path, unit in read.items() if unit is None
    ]


@pytest.mark.parametrize("rule", RULES)
def test_a_published_document_comes_back_whole(report, rule):
    document, file = report.documents[rule], parsed(rule)
    assert document.rule == rule
    assert document.as_document() == file
    assert list(document.as_document()) == list(file)
    assert document.details == file["Details"]
    assert document.datapoints == file["Datapoints"]
    assert document.times_triggered == file["RuleTriggered"]
    assert document.violations == file["Violations"]
    for found in document.quantities():
        assert found.value == at(file["Details"], found.path)


def test_what_is_done_to_a_copy_does_not_change_the_document(report):
    document = report.documents["BatchSize"]
    document.as_document()["Details"].clear()
    assert document.as_document() == parsed("BatchSize")


def test_a_quantity_says_its_node_and_the_unit_of_a_key(report):
    by_rule = {name: document.quantities() for name, document in report.documents.items()}
    assert {found.node for found in by_rule["BatchSize"]} == {"algo-1", "algo-2"}
    assert {found.node for found in by_rule["OverallSystemUsage"]} == {"algo-1", "algo-2"}
    assert {found.node for found in by_rule["StepOutlier"]} == {"algo-1-27", "algo-2-31"}
    assert {found.node for found in by_rule["MaxInitializationTime"]} == {None}
    for rule, quantities in by_rule.items():
        for found in quantities:
            is_at_a_time = rule in ("CPUBottleneck", "IOBottleneck") and "bottlenecks" in found.path
            assert found.key_unit == ("s" if is_at_a_time else None)


def test_a_node_may_stand_at_any_depth():
    box = {"p25": 1}
    assert {
        RuleDocument("BatchSize", {"Details": details}).quantities()[0].unit
        for details in ({"algo-1": {"cpu": box}}, {"cpu": {"algo-1": box}}, {"cpu": box})
    } == {"%"}


@pytest.mark.parametrize("name", ["aten::conv2d", "I/O", "", "of\ntwo lines"])
def test_an_operator_may_have_any_name(name):
    document = RuleDocument("OverallFrameworkMetrics", {"Details": {"CPU": {name: 1.5}}})
    assert document.quantities() == [(None, ("CPU", name), 1.5, "%", None)]


def test_values_that_the_service_got_wrong_are_read_as_they_are(report):
    values = {found.path: found.value for found in report.documents["BatchSize"].quantities()}
    assert values["algo-1", "gpu0_memory", "upper"] == -102.0
    assert values["algo-1", "gpu0_memory", "lower"] == 125.0


@pytest.mark.parametrize(
    "path", [REPORT, REPORT / "profiler-output", FOLDER, str(REPORT), f"{FOLDER}/"]
)
def test_a_report_is_found_from_any_of_its_folders(path):
    read = read_profiler_report(path)
    assert sorted(read.documents) == RULES
    assert not read.damaged and not read.unknown


def test_a_single_document_is_read():
    read = read_profiler_report(FOLDER / "Dataloader.json")
    assert list(read.documents) == ["Dataloader"]
    assert read.documents["Dataloader"].as_document() == parsed("Dataloader")


def test_there_are_fields_for_the_rules_that_can_be_configured_and_one_more():
    configured = set(profiler_configs.__all__) - {"InvalidProfilerRule", "ProfilerReport"}
    assert set(FIELDS) == set(RULES) == configured | {"OverallFrameworkMetrics"}


# Where a published report differs from what its rule is configured with alone.
DIFFERENT = {"LoadBalancing": {"threshold": "0.2"}, "StepOutlier": {"threshold": "3"}}


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "OverallFrameworkMetrics"])
def test_parameters_are_the_defaults_of_the_rule_but_for_two_known_differences(report, rule):
    defaults = getattr(profiler_configs, rule)().rule_parameters
    expected = {
        name: str(value)
        for name, value in defaults.items()
        if name not in ("rule_to_invoke", "scan_interval_us")
    }
    read = report.documents[rule].parameters
    assert read == {**expected, **DIFFERENT.get(rule, {})}
    assert (read == expected) == (rule not in DIFFERENT)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a:1\nmode:None", {"a": "1", "mode": "None"}),
        ("a: 1\r\n\r\npath:b:c\nalone\n", {"a": "1", "path": "b:c", "alone": ""}),
        ("", {}),
        ({"a": 1, "mode": None}, {"a": 1, "mode": None}),
    ],
)
def test_parameters_are_read_from_a_text_and_from_an_object(given, expected):
    document = RuleDocument("StepOutlier", {"RuleParameters": given})
    assert document.parameters == expected
    assert document.unknown_fields == []


def test_parameters_of_another_kind_are_an_unknown_field():
    document = RuleDocument("StepOutlier", {"RuleParameters": [3]})
    assert document.parameters == {} and document.unknown_fields == [("RuleParameters",)]


def test_missing_keys_are_no_error(mine):
    (mine / "BatchSize.json").write_text("{}")
    read = read_profiler_report(mine)
    document = read.documents["BatchSize"]
    assert (document.datapoints, document.times_triggered, document.violations) == (None,) * 3
    assert document.details == {} and document.parameters == {}
    assert document.quantities() == [] and document.unknown_fields == []
    assert document.as_document() == {}
    assert re.search(r"^BatchSize +- +-$", read.summary_table(), re.MULTILINE)


def test_unknown_keys_are_kept_and_listed():
    document = {
        "Datapoints": 4,
        "Version": {"major": 2},
        "Details": {
            "algo-1": {"cpu": {"p25": 1, "p33": 2, "p50": {}}, "tpu0": {"p25": 3}, "gpu1": []},
            "when": "now",
            "bottlenecks": {"Tuesday": {"GPUs": 1}},
        },
    }
    read = RuleDocument("BatchSize", copy.deepcopy(document))
    assert read.unknown_fields == [
        ("Details", "algo-1", "cpu", "p33"),
        ("Details", "algo-1", "cpu", "p50"),
        ("Details", "algo-1", "tpu0", "p25"),
        ("Details", "algo-1", "gpu1"),
        ("Details", "when"),
        ("Details", "bottlenecks", "Tuesday", "GPUs"),
        ("Version", "major"),
    ]
    assert read.as_document() == document
    bottleneck = RuleDocument("CPUBottleneck", document)
    assert ("Details", "bottlenecks", "Tuesday", "GPUs") in bottleneck.unknown_fields


@pytest.mark.parametrize("details", [None, 7, "text", [1, 2], [{"a": 1}]])
def test_details_that_are_no_object_are_an_unknown_field(details):
    read = RuleDocument("BatchSize", {"Details": details})
    assert read.details == details
    path = ("Details", 0, "a") if details == [{"a": 1}] else ("Details",)
    assert read.unknown_fields == [path]
    assert [found.value for found in read.quantities()] == [1 if len(path) > 1 else details]


def random_value(draw, depth):
    kind = draw.randrange(4 if depth < 5 else 2)
    if kind < 2:
        plain = [None, True, draw.random(), -draw.randrange(10**20), "12.5", "ä\n", math.inf]
        return draw.choice(plain)
    if kind == 2:
        return [random_value(draw, depth + 1) for _ in range(draw.randrange(4))]
    return random_object(draw, depth + 1)


def random_object(draw, depth):
    known = "algo-1 algo-2-9 cpu gpu0 gpu12_memory p25 upper CPU I/O step_details step_stats mean"
    known += " bottlenecks 1606239120 GPUs workloads step_num first phase increase last_timestamp"
    keys = draw.sample([*known.split(), "", "CPU memory", "ключ", "a\nb"], draw.randrange(6))
    return {key: random_value(draw, depth) for key in keys}


def plain_values(value):
    """All of JSON's plain values in `value`, in its order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [plain for member in value for plain in plain_values(member)]
    return [value]


KNOWN_BESIDE = {"Datapoints", "RuleTriggered", "Violations", "RuleParameters", "Details"}


def test_no_field_of_a_random_document_is_lost(tmp_path):
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    with_unit = 0
    for _ in range(400):
        rule = draw.choice([*RULES, "Unheard"])
        document = {"Datapoints": draw.randrange(99), "Details": {}, **random_object(draw, 0)}
        if rule in RULES and draw.random() < 0.5:
            document = {**parsed(rule), **document, "Details": parsed(rule)["Details"]}
        place = document["Details"]
        while draw.random() < 0.5 and (inner := [v for v in place.values() if type(v) is dict]):
            place = draw.choice(inner)
        place.update(random_object(draw, 0))
        file = tmp_path / f"{rule}.json"
        file.write_text(json.dumps(document))
        report = read_profiler_report(file)
        read = {**report.documents, **report.unknown}[rule]
        assert read.as_document() == document
        quantities = read.quantities()
        assert plain_values([found.value for found in quantities]) == plain_values(read.details)
        unknown = set(read.unknown_fields)
        assert len(unknown) == len(read.unknown_fields)
        for found in quantities:
            assert at(document["Details"], found.path) == found.value
            assert (found.unit is None) == (("Details", *found.path) in unknown)
            with_unit += found.unit is not None
        beside = [at(document, path) for path in read.unknown_fields if path[0] != "Details"]
        rest = {key: value for key, value in document.items() if key not in KNOWN_BESIDE}
        assert plain_values(beside) == plain_values(rest)
    assert with_unit > 1000


def test_the_summary_lists_rules_by_times_triggered(report):
    assert [(line.rule, line.times_triggered, line.datapoints) for line in report.summary()] == [
        ("BatchSize", 218, 4022),
        ("LowGPUUtilization", 47, 4022),
        ("CPUBottleneck", 11, 37615),
        ("GPUMemoryIncrease", 3, 4022),
        ("StepOutlier", 2, 1712),
        ("Dataloader", 1, 2),
        ("IOBottleneck", 0, 37615),
        ("LoadBalancing", 0, 37615),
        ("MaxInitializationTime", 0, 1),
        ("OverallFrameworkMetrics", 0, 37615),
        ("OverallSystemUsage", 0, 37615),
    ]
    for line in report.summary():
        assert line.parameters == report.documents[line.rule].parameters
        assert line.violations == report.documents[line.rule].violations and line.damage is None


def test_the_table_of_the_summary_stands_in_columns(report):
    header, *lines = report.summary_table().splitlines()
    points, parameters = header.index("data points"), header.index("parameters")
    for line, summary in zip(lines, report.summary(), strict=True):
        assert line.startswith(summary.rule)
        assert line[: points - 2].split() == [summary.rule, str(summary.times_triggered)]
        assert line[points:parameters].split() == [str(summary.datapoints)]
    assert lines[2].endswith("threshold: 50, gpu_threshold: 10, cpu_threshold: 90, patience: 1000")


def test_a_text_for_a_count_stays_a_text_and_sorts_last(mine):
    document = {**parsed("BatchSize"), "RuleTriggered": "218"}
    (mine / "BatchSize.json").write_text(json.dumps(document))
    last = read_profiler_report(mine).summary()[-1]
    assert (last.rule, last.times_triggered) == ("BatchSize", "218")


DAMAGE = {
    "cut off": (b'{"Datapoints": 40', "not JSON"),
    "empty": (b"", "not JSON"),
    "of another encoding": (b'{"a": "\xff"}', "not JSON"),
    "nested too deep for the parser": (b'{"Details":' + b"[" * 200_000, "not JSON"),
    "nested deeper than any report": (b'{"a":' * 150 + b"1" + b"}" * 150, "100 levels"),
    "a number of ten thousand digits": (b'{"a": ' + b"9" * 10_000 + b"}", "not JSON"),
    "a list": (b"[1]", "a list"),
    "null": (b"null", "a NoneType"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_document_is_shown_and_the_others_are_read(mine, damage):
    content, said = DAMAGE[damage]
    (mine / "LoadBalancing.json").write_bytes(content)
    report = read_profiler_report(mine.parent)
    assert sorted([*report.documents, "LoadBalancing"]) == RULES
    assert list(report.damaged) == ["LoadBalancing"]
    *_, last = report.summary()
    assert last.rule == "LoadBalancing" and said in last.damage
    assert last.damage == report.damaged["LoadBalancing"]
    line = report.summary_table().splitlines()[-1]
    assert line.split()[:2] == ["LoadBalancing", "damaged"] and said in line

    with pytest.raises(SMDebugRuntimeError, match=said) as raised:
        read_profiler_report(mine / "LoadBalancing.json")
    assert raised.value.code == "corrupt"
    assert str(mine / "LoadBalancing.json") in str(raised.value)


def test_a_document_that_is_no_file_is_damaged(mine):
    (mine / "BatchSize.json").unlink()
    os.mkfifo(mine / "BatchSize.json")  # opening it would wait for ever
    (mine / "StepOutlier.json").unlink()
    (mine / "StepOutlier.json").mkdir()
    assert set(read_profiler_report(mine).damaged) == {"BatchSize", "StepOutlier"}


def test_a_file_named_after_no_rule_is_kept_as_unknown(mine):
    (mine / "Hoverboard.json").write_text('{"Datapoints": 3, "Details": {"algo-1": {"cpu": 1}}}')
    (mine / "._BatchSize.json").write_bytes(b"\0")
    report = read_profiler_report(mine)
    assert sorted(report.documents) == RULES and not report.damaged
    assert list(report.unknown) == ["Hoverboard"]
    assert report.unknown["Hoverboard"].datapoints == 3
    assert report.unknown["Hoverboard"].unknown_fields == [("Details", "algo-1", "cpu")]
    assert report.summary_table().endswith("not named after a rule: Hoverboard")
    alone = read_profiler_report(mine / "Hoverboard.json")
    assert list(alone.unknown) == ["Hoverboard"] and not alone.documents


def test_a_document_with_a_byte_order_mark_is_read(mine):
    text = (mine / "BatchSize.json").read_text()
    (mine / "BatchSize.json").write_text(text, encoding="utf-8-sig")
    assert read_profiler_report(mine).documents["BatchSize"].as_document() == parsed("BatchSize")


def test_a_path_where_nothing_is_says_what_to_give(tmp_path):
    for path in (tmp_path / "nowhere", "s3://bucket/ProfilerReport-1606239000"):
        with pytest.raises(SMDebugRuntimeError, match=r"no such.*give a downloaded") as raised:
            read_profiler_report(path)
        assert raised.value.code == "not_found"


def test_a_folder_without_a_report_says_what_it_holds(tmp_path):
    with pytest.raises(SMDebugRuntimeError, match=r"BatchSize\.json.*found no JSON file") as raised:
        read_profiler_report(tmp_path)
    assert raised.value.code == "not_found" and str(tmp_path) in str(raised.value)
    for name in "abcde":
        (tmp_path / f"{name}.json").write_text("{}")
    with pytest.raises(SMDebugRuntimeError, match=r"found a\.json, b\.json, c\.json and 2 more"):
        read_profiler_report(tmp_path)


def refuse(*arguments):
    raise PermissionError(13, "Permission denied")


def test_a_folder_that_cannot_be_listed_is_told(monkeypatch):
    monkeypatch.setattr(pathlib.Path, "iterdir", refuse)
    with pytest.raises(SMDebugRuntimeError, match="Permission denied: this user must be") as raised:
        read_profiler_report(REPORT)
    assert raised.value.code == "io" and str(REPORT) in str(raised.value)


def test_a_file_that_cannot_be_opened_is_damaged(monkeypatch):
    monkeypatch.setattr(pathlib.Path, "read_bytes", refuse)
    report = read_profiler_report(REPORT)
    assert sorted(report.damaged) == RULES and not report.documents
    assert all("Permission denied" in line.damage for line in report.summary())


@pytest.mark.parametrize("path", [None, 3, ["a"]])
def test_a_path_that_is_none_is_a_type_error(path):
    with pytest.raises(SMDebugTypeError, match="expected the path"):
        read_profiler_report(path)


def test_the_sample_of_the_page_prints_the_summary_and_quantities(report):
    sample = ROOT / "examples/profiler_report/read_report.py"
    assert sample.read_text() in (ROOT / "docs/report.md").read_text()
    done = subprocess.run(
        [sys.executable, sample, REPORT], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(report.summary_table())
    assert "algo-2 ('algo-2', 'last_timestamp') 1606239120000000 us\n" in done.stdout


def test_the_page_lists_the_fields_as_the_code_has_them():
    rows = []
    for rule, fields in FIELDS.items():
        for field in fields:
            within = " → ".join(f"`{key}`" for key in field.within)
            keys = " ".join(f"`{key}`" for key in field.keys)
            place = f"{within} → {keys}" if within else keys
            rows.append(f"| {rule} | {place} | {field.unit or 'unknown'} |")
    page = (ROOT / "docs/report.md").read_text()
    shown = re.search(r"\| rule \| in `Details`.*?\n\| --- \| --- \| --- \|\n(.*?)\n\n", page, re.S)
    assert shown[1].splitlines() == rows
