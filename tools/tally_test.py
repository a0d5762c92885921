"""The total that tools/test prints: it must include every failure."""

import pathlib
import threading

import pytest
from load_program import load_program


@pytest.fixture
def tally():
    module = load_program("test")
    tally = module.Tally()
    tally.program = module
    return tally


def report(folder: pathlib.Path, cases: str) -> pathlib.Path:
    path = folder / "report.xml"
    path.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    return path


PASSED = '<testcase classname="a" name="b"/>'
FAILED = '<testcase classname="a" name="c"><failure/></testcase>'
BROKEN = '<testcase classname="a" name="d"><error/></testcase>'
SKIPPED = '<testcase classname="a" name="e"><skipped/></testcase>'


def counts(tally) -> tuple[int, int, int]:
    return tally.passed, tally.failed, tally.skipped


def test_each_case_counts_once(tally, tmp_path):
    tally.add_report("x", report(tmp_path, PASSED * 2 + FAILED + BROKEN + SKIPPED), 1)
    assert counts(tally) == (2, 2, 1)
    assert tally.failures == ["x: a c", "x: a d"]


def test_a_program_that_leaves_no_report_failed(tally, tmp_path):
    tally.add_report("x", tmp_path / "missing.xml", 0)
    assert counts(tally) == (0, 1, 0)


def test_a_report_that_is_cut_off_failed(tally, tmp_path):
    path = report(tmp_path, PASSED)
    path.write_text(path.read_text()[:40])
    tally.add_report("x", path, 0)
    assert counts(tally) == (0, 1, 0)


def test_a_program_that_passes_its_tests_and_then_crashes_failed(tally, tmp_path):
    tally.add_report("x", report(tmp_path, PASSED), -11)
    assert counts(tally) == (1, 1, 0)


def test_a_program_that_ctest_ran_counts_as_its_cases(tally, tmp_path):
    cases = tmp_path / "cases"
    cases.mkdir()
    report(cases, PASSED * 3 + FAILED).rename(cases / "read.1.xml")
    ctest = report(
        tmp_path, '<testcase name="read.1"><failure/></testcase><testcase name="Fuzz.json"/>'
    )
    tally.add_ctest("asan", ctest, cases, 8)
    assert counts(tally) == (4, 1, 0)
    assert tally.failures == ["asan: read.1: a c"]


@pytest.mark.parametrize("outcome", ["", "<failure/>"])
def test_a_program_that_listed_no_cases_failed(tally, tmp_path, outcome):
    ctest = report(tmp_path, f'<testcase name="read.1">{outcome}</testcase>')
    tally.add_ctest("asan", ctest, tmp_path / "cases", 8 if outcome else 0)
    assert counts(tally) == (0, 1, 0)


def test_a_fuzzer_that_fails_counts_once(tally, tmp_path):
    ctest = report(tmp_path, '<testcase name="Fuzz.json"><failure/></testcase>')
    tally.add_ctest("asan", ctest, tmp_path, 8)
    assert tally.failures == ["asan: Fuzz.json"]


def test_a_program_that_ctest_could_not_run_failed(tally, tmp_path):
    ctest = report(tmp_path, '<testcase name="Fuzz.json"><skipped/></testcase>')
    tally.add_ctest("asan", ctest, tmp_path, 8)
    assert tally.failures == ["asan: ctest ended with 8 after 1 programs"]


def test_ctest_that_ran_nothing_failed(tally, tmp_path):
    tally.add_ctest("asan", tmp_path / "missing.xml", tmp_path, 0)
    assert counts(tally) == (0, 1, 0)


def test_an_interpreter_that_died_names_its_last_test(tally, tmp_path):
    tally.add_report("x", tmp_path / "missing.xml", -11, "a/test_b.py::test_c")
    assert tally.failures == ["x: ended with -11 after 0 tests, in a/test_b.py::test_c"]


def test_a_step_counts_only_when_it_fails(tally):
    assert tally.add_step("x", "true")
    assert not tally.add_step("x", "false")
    assert counts(tally) == (0, 1, 0)


# Prints another version of numpy once it has installed something.
PIP = """#!/bin/sh
case $1 in
  install) echo $2 > {0} ;;
  freeze) echo "smdebug-ng @ file:///x.whl"; test -e {0} && echo numpy==2 || echo numpy==1 ;;
esac
"""


def test_an_installation_that_changes_another_package_is_a_failure(tally, tmp_path):
    pip = tmp_path / "pip"
    pip.write_text(PIP.format(tmp_path / "installed"))
    pip.chmod(0o755)
    tally.program.install_beside(tally, [pip], "x.whl")
    assert tally.failures == [f"package: {pip} install changed numpy==1, numpy==2"]
    tally.program.install_beside(tally, [pip], "x.whl")
    assert tally.failed == 1


def test_only_ci_begins_nothing_after_its_time_and_notes_it(tally, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    long_ago = tally.program.START - tally.program.LATEST_START_SECONDS - 1
    monkeypatch.setattr(tally.program, "START", long_ago)
    assert not tally.leaves_out("x")
    monkeypatch.setenv("CI", "true")
    assert tally.leaves_out("asan")
    monkeypatch.setattr(tally.program, "START", long_ago + 600)
    assert not tally.leaves_out("tsan")
    assert tally.left_out == ["asan"]


def test_the_parts_that_need_no_environment_run_beside_the_environments(tally, monkeypatch):
    ended, is_released = [], threading.Event()
    parts = {
        "environments": lambda _: (is_released.wait(10), ended.append("environments")),
        "release": lambda _: (ended.append("release"), is_released.set()),
        "package": lambda _: ended.append("package"),
    }
    monkeypatch.setattr(tally.program, "PARTS", parts)
    assert set(tally.program.run_parts(tally, list(parts))) == set(parts)
    assert ended == ["release", "environments", "package"]
