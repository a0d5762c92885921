"""Starts programs whose file system stops responding at one system call."""

import pathlib
import shutil
import signal
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).with_name("hanging_files.c")
DEADLINE = 120  # seconds; what hangs would never end


def make_library(folder):
    """Compiles the library that is preloaded into the programs."""
    return compile_library(SOURCE, folder / "hang.so")


def compile_library(source, path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    options = ["-shared", "-fPIC", "-pthread"]
    subprocess.run([compiler, *options, source, "-o", path, "-ldl"], check=True)
    return path


def start_hanging(library, tmp_path, call, command, *, timeout=1):
    """Starts `command`, in which `call` blocks forever on files below `tmp_path/hanging/run` once
    `tmp_path/switch` exists. smdebug waits `timeout` seconds for each call."""
    return subprocess.Popen(
        [str(word) for word in command],
        env={
            "LD_PRELOAD": str(library),
            "HANG_CALL": call,
            "HANG_PATH": "/hanging/run",
            "HANG_SWITCH": str(tmp_path / "switch"),
            "SMDEBUG_STORAGE_TIMEOUT": str(timeout),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background ignores Ctrl-C, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def finished(process):
    """Waits for the end of a program and returns its exit code and output."""
    try:
        out, err = process.communicate(timeout=DEADLINE)
    finally:
        process.kill()
    return process.returncode, out, err
