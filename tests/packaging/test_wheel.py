"""The wheel of tools/wheel: what it needs of the system that it is installed on.

`make test` builds it for the interpreter of the tests, and `make long` for aarch64 as well. The
versions of its symbols show here that it loads with an older C library. test_older_userland.py
runs it with such a library.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from built_wheels import NATIVE, PYTHONS, ROOT, built_wheel, printed

TORCH = next((ROOT / ".venv/torch/lib").glob("python*/site-packages"))
# Of the C library; every Linux with glibc has them.
SYSTEM_LIBRARIES = {
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
}
LOADERS = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}
MOST_BYTES = 8_000_000
BUGGY_TRAINING = """
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
inputs = torch.randn(200, 4)
labels = (inputs.sum(1) > 0).long()
for _ in range(100):
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()  # without zero_grad()
    optimizer.step()
"""


@pytest.fixture(scope="module", params=[NATIVE, pytest.param("aarch64", marks=pytest.mark.long)])
def machine(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def wheel(machine) -> pathlib.Path:
    return built_wheel(machine)


@pytest.fixture(scope="module")
def extension(wheel, tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [each for each in archive.namelist() if each.endswith(".so")]
        return pathlib.Path(archive.extract(name, folder))


def test_the_tag_promises_glibc_2_28(wheel, machine):
    tag = f"manylinux_2_28_{machine}"
    python = PYTHONS[machine]
    assert wheel.stem.split("-")[2:] == [python, python, tag]
    shown = printed(ROOT / ".venv/wheel/bin/auditwheel", "show", wheel)
    assert f'"{tag}"' in shown.replace("\n", " ")


def test_it_is_small(wheel):
    assert wheel.stat().st_size <= MOST_BYTES


def test_no_symbol_is_newer_than_glibc_2_28(extension):
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", printed("objdump", "-T", extension))
    assert (2, 17) <= max((int(a), int(b)) for a, b in versions) <= (2, 28)


def test_no_symbol_without_a_version_is_missing(extension):
    needed = printed("nm", "-D", "--undefined-only", "--with-symbol-versions", extension).split(
        "\n"
    )
    unversioned = {line.split()[-1] for line in needed if line and "@" not in line}
    assert {name for name in unversioned if not name.startswith(("Py", "_Py"))} == {
        "__cxa_pure_virtual"  # weak
    }


def test_it_needs_no_library_but_those_of_the_c_library(extension, machine):
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", printed("readelf", "-d", extension)))
    assert needed
    assert needed <= SYSTEM_LIBRARIES | {LOADERS[machine]}


def test_it_exports_nothing_but_the_function_of_the_module(extension):
    defined = printed("nm", "-D", "--defined-only", extension).split("\n")
    assert [line.split()[-1] for line in defined if line] == ["PyInit__core"]


def test_it_contains_no_path_of_the_build(extension):
    assert str(ROOT).encode() not in extension.read_bytes()


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> pathlib.Path:
    """An environment with the wheel, and torch of the tests' own environment behind it."""
    folder = tmp_path_factory.mktemp("environment")
    printed(sys.executable, "-m", "venv", "--without-pip", folder)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin/python", "--quiet"]
    printed(*pip, "install", "--no-deps", "--disable-pip-version-check", built_wheel(NATIVE))
    (site,) = (folder / "lib").glob("python*/site-packages")
    (site / "torch_of_the_tests.pth").write_text(f"{TORCH}\n")
    return folder


def run(environment, *arguments, cwd):
    """Runs a command of the environment, with no other program on PATH."""
    path = environment / "bin"
    return subprocess.run(
        [path / arguments[0], *arguments[1:]],
        env={"PATH": str(path), "HOME": str(cwd)},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_it_finds_a_bug_where_there_is_no_compiler(environment, tmp_path):
    assert not any(shutil.which(name, path=environment / "bin") for name in ("cc", "c++", "gcc"))
    (tmp_path / "train.py").write_text(BUGGY_TRAINING)
    done = run(environment, "smdebug", "run", "--", "python", "train.py", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "found     GradientsNotCleared" in done.stderr


def test_its_exceptions_are_caught(environment, tmp_path):
    code = """
import smdebug.pytorch as smd
from smdebug.exceptions import SMDebugValueError
try:
    smd.Hook("run", include_regex="([")
except SMDebugValueError as error:
    print("caught:", error)
"""
    done = run(environment, "python", "-c", code, cwd=tmp_path)
    assert "caught: collection 'default': include_regex: pattern '(['" in done.stdout, done.stderr
