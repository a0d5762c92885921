"""What the wheel adds beside the package: the gate that Python runs at its
start, and one version in every place that names it."""

import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GATE = ROOT / "python/smdebug_autostart.pth"


def start_python(path: pathlib.Path, program: str, **environment: str):
    """Runs the gate as `site` does, line by line, then `program`."""
    text = f"exec(open({str(GATE)!r}).read())\n{program}"
    environment["PYTHONPATH"] = str(path)
    return subprocess.run(
        [sys.executable, "-S", "-c", text],
        env={**{k: v for k, v in os.environ.items() if k != "SMDEBUG_RUN"}, **environment},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def package(tmp_path):
    """A package named smdebug_ng, whose `autostart` a test may write."""
    (tmp_path / "smdebug_ng").mkdir()
    (tmp_path / "smdebug_ng/__init__.py").touch()
    return tmp_path


def test_the_gate_is_one_line_that_site_executes():
    lines = GATE.read_text().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("import ")


def test_nothing_is_imported_without_the_variable(package):
    program = "print([m for m in sys.modules if m.startswith('smdebug')])"
    done = start_python(package, program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


def test_the_variable_starts_the_watch_once(package):
    (package / "smdebug_ng/autostart.py").write_text("print('started')")
    done = start_python(package, f"exec(open({str(GATE)!r}).read())", SMDEBUG_RUN="{}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "started\n", "")


def test_a_broken_package_is_one_line_and_the_program_runs(package):
    (package / "smdebug_ng/autostart.py").write_text("raise SystemError('no such symbol')")
    done = start_python(package, "print('trained')", SMDEBUG_RUN="{}")
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert done.stderr == "smdebug: error: cannot watch this program: no such symbol\n"


def test_a_missing_package_is_one_line_and_the_program_runs(tmp_path):
    done = start_python(tmp_path, "print('trained')", SMDEBUG_RUN="{}")
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert done.stderr.count("\n") == 1


def test_installing_the_package_cannot_replace_the_numpy_of_a_framework():
    required = [
        each for each in importlib.metadata.requires("smdebug-ng") or [] if "extra ==" not in each
    ]
    assert required == ["numpy"]


@pytest.mark.parametrize("environment", ["torch", "tensorflow", "tensorflow-2.15", "mxnet"])
def test_resolving_dependencies_beside_a_framework_installs_nothing_else(environment):
    python = ROOT / f".venv/{environment}/bin/python"
    if not python.exists():
        pytest.skip(f"there is no environment {environment}")
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "install", "--dry-run", "--no-index", "--quiet", "--report", "-", "smdebug-ng"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["install"] == []


@pytest.mark.parametrize(
    "command",
    [[sys.executable, "-m", "smdebug"], [pathlib.Path(sys.executable).with_name("smdebug")]],
    ids=["python -m smdebug", "smdebug"],
)
def test_the_command_names_the_package_that_has_headers_and_libraries(command):
    done = subprocess.run([*command, "--cmake-dir"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert "libsmdebug-dev" in done.stderr
    assert done.stderr.count("\n") == 1
    commands = re.findall(r"'([^']+)'", done.stderr)
    assert len(commands) == 3
    page = (ROOT / "docs/cpp.md").read_text()
    assert all(each in page for each in commands)


def test_the_package_has_no_headers_and_no_libraries_to_link():
    files = importlib.metadata.files("smdebug-ng")
    assert {"_core.pyi", "cli.py"} <= {file.name for file in files}
    assert [file for file in files if file.suffix in {".h", ".a", ".cmake", ".pc"}] == []


def test_one_version_everywhere():
    def found(file: str, pattern: str) -> str:
        return re.search(pattern, (ROOT / file).read_text())[1]

    versions = {
        found("CMakeLists.txt", r"project\(smdebug VERSION ([\d.]+)"),
        found("pyproject.toml", r'(?m)^version = "([\d.]+)"'),
        found("include/smdebug/base/version.h", r'kVersion = "([\d.]+)"'),
        importlib.metadata.version("smdebug-ng"),
    }
    assert versions == {"2.0.0"}
