"""How pytest files are grouped: none is lost, and long folders are split evenly."""

import pytest
import pytest_groups

FILES = ["a/test_x.py", "a/test_y.py", "a/test_z.py", "b/test_x.py", "tests/mxnet/test_m.py"]


def times(**seconds):
    return {"torch": {f"a/test_{name}.py": value for name, value in seconds.items()}}


def test_a_folder_runs_in_one_interpreter():
    groups = pytest_groups.group_files(FILES, times(x=1, y=2, z=3))
    assert {group.name: len(group.files) for group in groups} == {
        "a": 3,
        "b": 1,
        "tests/mxnet (mxnet)": 1,
    }


def test_the_longest_group_comes_last():
    groups = pytest_groups.group_files(FILES, times(x=100, y=20, z=3))
    assert groups[-1].name == "a"
    assert groups[-1].seconds == 123


def test_a_long_folder_is_split_into_parts_of_about_equal_time():
    limit = pytest_groups.GROUP_SECONDS
    groups = pytest_groups.group_files(FILES[:3], times(x=limit, y=limit * 0.6, z=limit * 0.4))
    assert [group.files for group in groups] == [tuple(FILES[:1]), tuple(FILES[1:3])]


def test_each_file_runs_once_in_each_of_its_environments():
    files = pytest_groups.test_files()
    groups = pytest_groups.group_files(files, pytest_groups.read_seconds())
    runs = [(file, group.environment) for group in groups for file in group.files]
    assert len(runs) == len(set(runs))
    assert {file for file, _ in runs} == set(files)
    keras = {environment for file, environment in runs if file.startswith("tests/tensorflow/")}
    assert keras == {"tensorflow", "tensorflow-2.15"}
    assert len(files) > 100


def test_a_file_that_one_environment_leaves_to_the_long_tests_runs_there_whole():
    files = pytest_groups.test_files()
    short = pytest_groups.group_files(files, {})
    long = {(group.files[0], group.environment): group for group in pytest_groups.long_files(files)}
    for environment, left_out in pytest_groups.LONG_IN.items():
        assert left_out <= set(files)
        for file in left_out:
            runs_in = {group.environment for group in short if file in group.files}
            folder = file.rpartition("/")[0]
            assert runs_in == set(pytest_groups.ENVIRONMENTS_OF[folder]) - {environment}
            assert long[file, environment].runs_all


def test_the_long_tests_are_those_that_are_marked_and_those_left_to_them():
    for group in pytest_groups.long_files(pytest_groups.test_files()):
        text = (pytest_groups.ROOT / group.files[0]).read_text()
        assert group.runs_all or "pytest.mark.long" in text


def test_a_file_that_must_run_alone_does():
    files = pytest_groups.test_files()
    assert pytest_groups.ALONE.keys() <= set(files)
    for group in pytest_groups.group_files(files, {}):
        assert len(group.files) == 1 or not pytest_groups.ALONE.keys() & set(group.files)


REPORT = """<testsuites><testsuite>
<testcase classname="a.test_x" name="b" time="1.5"/>
<testcase classname="a.test_x.TestClass" name="c" time="0.5"/>
<testcase classname="a.test_y" name="b" time="4"/>
</testsuite></testsuites>"""


def test_seconds_are_added_up_by_file(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    measured = pytest_groups.seconds_by_file(report, tuple(FILES[:3]))
    assert measured == {"a/test_x.py": 2.0, "a/test_y.py": 4.0, "a/test_z.py": 0.0}


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("", None),
        ("a/test_x.py::test_b PASSED [ 1%]\na/test_x.py::test_c[1-x] ", "a/test_x.py::test_c[1-x]"),
    ],
)
def test_the_test_that_an_interpreter_died_in_is_named(output, expected):
    assert pytest_groups.last_test(output) == expected


def test_files_that_share_imports_are_in_groups_of_several():
    groups = pytest_groups.group_files(pytest_groups.test_files(), {})
    preloads = {group.preload for group in groups if "tensorflow" in group.environment}
    assert preloads == {"tests/tensorflow/preloaded.py"}
    assert (pytest_groups.ROOT / "tests/tensorflow/preloaded.py").exists()
