"""The table of published faults, and a few of them under `smdebug run`."""

import ast
import pathlib

import pytest
import run_published
import table

from smdebug import _core

FAULTS = table.faults()
HEALTHY = table.healthy()
RULES = {rule["name"] for rule in _core.builtin_rules()}


def functions_of(script):
    """Name -> names of the arguments of each function of a script, which is not imported."""
    tree = ast.parse((table.HERE / script).read_text())
    return {
        node.name: [argument.arg for argument in node.args.args]
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


def test_names_are_unique():
    names = [case.name for case in [*FAULTS, *HEALTHY]]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: case.name)
def test_a_fault_has_a_twin_a_citation_and_a_cause(case):
    assert functions_of(case.script)[case.name] == ["faulty"]
    assert case.citation and "://" not in case.citation
    assert case.cause in table.Cause
    assert case.fault and case.repair and case.tell.endswith(".")
    assert case.framework in table.ENVIRONMENTS
    assert set(case.rules_that_name_it) <= RULES


@pytest.mark.parametrize("case", HEALTHY, ids=lambda case: case.name)
def test_a_healthy_training_is_in_its_script(case):
    assert functions_of(case.script)[case.name] == []
    assert case.kind and case.framework in table.ENVIRONMENTS


def test_every_script_is_in_the_table():
    scripts = {case.script for case in [*FAULTS, *HEALTHY]}
    others = {"data.py", "launch.py", "table.py", "run_published.py", pathlib.Path(__file__).name}
    assert {path.name for path in table.HERE.glob("*.py")} == scripts | others
    for script in scripts:
        named = {case.name for case in [*FAULTS, *HEALTHY] if case.script == script}
        trainings = {
            name
            for name, arguments in functions_of(script).items()
            if arguments in ([], ["faulty"]) and not name.startswith("_")
        }
        assert trainings == named


def test_the_part_of_a_case_depends_on_its_name_alone():
    assert [table.part_of(name) for name in ("no_zero_grad", "all_frozen", "zero_weights")] == [
        "tune",
        "report",
        "tune",
    ]
    assert {case.part for case in FAULTS} == set(table.PARTS)


def test_a_fault_is_found_by_the_defaults_and_its_twin_learns():
    case = next(case for case in FAULTS if case.name == "zero_weights")
    fault = run_published.run_under_smdebug(case, is_faulty=True)
    assert fault.problem == "" and not fault.learned
    assert fault.fired and fault.first in fault.fired
    assert fault.lines > 5
    twin = run_published.run_under_smdebug(case, is_faulty=False)
    assert twin.problem == "" and twin.learned


def test_totals_count_faults_and_healthy_trainings_apart():
    def result(is_faulty, fired=(), advice=(), named=(False, False)):
        return run_published.Result(
            "case", "tune", is_faulty, 0, 1.0, 10,
            {rule: [7, "message"] for rule in fired}, {rule: [0, "message"] for rule in advice},
            next(iter(fired), None), *named,
        )  # fmt: skip

    totals = run_published.totals(
        [
            result(True, ["A", "B"], named=(True, False)),
            result(True, ["A"], named=(True, True)),
            result(True, ["B"]),
            result(True, advice=["C"]),
            result(False),
            result(False, ["B"]),
            result(False, advice=["B"]),
        ]
    )
    assert [totals[name] for name in ("faults", "found", "named", "named first")] == [4, 3, 2, 1]
    assert [totals[name] for name in ("healthy", "with a false alarm", "with advice")] == [3, 1, 1]
    assert totals["median step of the first finding"] == 7
