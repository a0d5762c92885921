"""Which pytest files share an interpreter.

Importing torch or TensorFlow takes seconds, so the files of a folder run
together, as far as their frameworks allow.
"""

import dataclasses
import math
import pathlib
import re
import xml.etree.ElementTree

import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The environments of a folder's tests, if not only `torch`.
ENVIRONMENTS_OF = {
    "tests/tensorflow": ("tensorflow-2.15", "tensorflow"),
    "tests/mxnet": ("mxnet",),
}
# Files that need a separate interpreter, and why.
ALONE = {
    "python/tests/test_keras_on_torch.py": "selects Keras's backend for the process",
    "python/tests/test_pytorch_device_copies.py": "replaces torch's DLPack exchange table",
    "python/tests/test_pytorch_device_statistics.py": "replaces torch's DLPack exchange table",
    "python/tests/test_tensor_kinds_on_device.py": "replaces torch's DLPack exchange table",
}
# Folders whose files each run in a process forked after the imports of the named file
# (run_forked.py): some split the CPU before TensorFlow starts, which happens once per process.
PRELOADS = {"tests/tensorflow": "tests/tensorflow/preloaded.py"}
# Files whose tests expect the same of every environment of their folder. `make test` runs them in
# the other ones, and `make long` in these as well.
LONG_IN = {
    environment: frozenset(f"tests/tensorflow/test_{name}.py" for name in names.split())
    for environment, names in {
        "tensorflow-2.15": """
            keras_captured_beside keras_facts keras_random_configurations keras_replicas
            keras_rules_fire keras_run_losses keras_series launch_native sparse_tensors
        """,
        "tensorflow": "keras_harmless",
    }.items()
}
# A folder that takes longer than this is split into groups of about equal time.
GROUP_SECONDS = 150
# Time limit of a test in seconds: one that hangs fails, with the stacks of its threads, and the
# others still run. Tests that are marked `long` have none but that of their group.
TEST_SECONDS = 300
# Assumed for a file that was never measured.
UNMEASURED_SECONDS = 5.0
# Measured times, by environment and file; `tools/test --save-seconds python` writes them.
SECONDS_FILE = ROOT / "tools/test_seconds.toml"


@dataclasses.dataclass(frozen=True)
class Group:
    """Files of one folder that share an interpreter, or its imports."""

    name: str
    environment: str
    files: tuple[str, ...]  # relative to the repository
    seconds: float
    # The file with the imports of a folder whose files run in forked processes.
    preload: str | None = None
    runs_all: bool = False  # tests that are marked `long`, and those that are not


def time_limit(mark: str) -> list[str]:
    """The options of pytest that limit the time of each test."""
    return [f"--timeout={TEST_SECONDS}"] if mark == "not long" else []


def package_environments() -> list[str]:
    """The environments that smdebug is installed into."""
    return ["torch", *(name for names in ENVIRONMENTS_OF.values() for name in names)]


def test_files() -> list[str]:
    """All pytest files, relative to the repository."""
    return sorted(
        path.relative_to(ROOT).as_posix()
        for tree in ("tools", "python/tests", "tests")
        for pattern in ("test_*.py", "*_test.py")
        for path in (ROOT / tree).rglob(pattern)
    )


def group_files(files: list[str], seconds: dict[str, dict[str, float]]) -> list[Group]:
    """Groups files by folder and environment, shortest group first: if time runs out, few are left
    out.

    `seconds` maps an environment to the measured time of each of its files.
    """
    groups = []
    folders = sorted({str(pathlib.PurePosixPath(file).parent) for file in files})
    for folder in folders:
        members = [file for file in files if str(pathlib.PurePosixPath(file).parent) == folder]
        for environment in ENVIRONMENTS_OF.get(folder, ("torch",)):
            known = seconds.get(environment, {})
            left_out = LONG_IN.get(environment, frozenset())
            times = {
                file: known.get(file, UNMEASURED_SECONDS)
                for file in members
                if file not in left_out
            }
            groups += groups_of_folder(folder, environment, times)
    return sorted(groups, key=lambda group: group.seconds)


def long_files(files: list[str]) -> list[Group]:
    """One group per file and environment, of the files with tests that are marked `long` and of
    those in LONG_IN."""
    groups = []
    for file in files:
        is_marked = "pytest.mark.long" in (ROOT / file).read_text()
        folder = str(pathlib.PurePosixPath(file).parent)
        for environment in ENVIRONMENTS_OF.get(folder, ("torch",)):
            runs_all = file in LONG_IN.get(environment, ())
            if is_marked or runs_all:
                name = title(file.removesuffix(".py"), environment)
                groups.append(Group(name, environment, (file,), 0, runs_all=runs_all))
    return groups


def groups_of_folder(folder: str, environment: str, times: dict[str, float]) -> list[Group]:
    alone = [file for file in times if file in ALONE]
    groups = [
        Group(title(file.removesuffix(".py"), environment), environment, (file,), times[file])
        for file in alone
    ]
    together = {file: times[file] for file in times if file not in alone}
    if together:
        count = max(1, math.ceil(sum(together.values()) / GROUP_SECONDS))
        for number, part in enumerate(split_evenly(together, count), 1):
            name = folder if count == 1 else f"{folder} {number} of {count}"
            total = sum(together[file] for file in part)
            preload = PRELOADS.get(folder)
            groups.append(Group(title(name, environment), environment, part, total, preload))
    return groups


def split_evenly(times: dict[str, float], count: int) -> list[tuple[str, ...]]:
    """Splits files into `count` parts: each file joins the part with the least time so far,
    longest file first."""
    parts: list[list[str]] = [[] for _ in range(count)]
    totals = [0.0] * count
    for file in sorted(times, key=lambda file: (-times[file], file)):
        least = totals.index(min(totals))
        parts[least].append(file)
        totals[least] += times[file]
    return [tuple(sorted(part)) for part in parts if part]


def title(name: str, environment: str) -> str:
    return name if environment == "torch" else f"{name} ({environment})"


def read_seconds() -> dict[str, dict[str, float]]:
    return tomllib.loads(SECONDS_FILE.read_text()) if SECONDS_FILE.exists() else {}


def write_seconds(seconds: dict[str, dict[str, float]]) -> None:
    lines = ["# Seconds per test file. `tools/test --save-seconds python` writes this file."]
    for environment in sorted(seconds):
        lines += ["", f'["{environment}"]']
        times = seconds[environment]
        files = [file for file in sorted(times) if (ROOT / file).exists()]
        lines += [f'"{file}" = {times[file]:.1f}' for file in files]
    SECONDS_FILE.write_text("\n".join(lines) + "\n")


def seconds_by_file(report: pathlib.Path, files: tuple[str, ...]) -> dict[str, float]:
    """Adds up the times of a JUnit report, by file."""
    modules = {file.removesuffix(".py").replace("/", "."): file for file in files}
    times = dict.fromkeys(files, 0.0)
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        # The class name is the module, and the class where a test has one.
        module = case.get("classname", "")
        while module and module not in modules:
            module = module.rpartition(".")[0]
        if module:
            times[modules[module]] += float(case.get("time", 0))
    return times


def last_test(output: str) -> str | None:
    """The test that ran last, from pytest's verbose output."""
    tests = re.findall(r"^([\w/.-]+\.py::\S+)", output, re.MULTILINE)
    return tests[-1] if tests else None
