#!/usr/bin/env python3
"""Runs pytest files one after another, each in a process forked from this one.

    python tools/run_forked.py PRELOAD REPORT MARK FILE...

Executes the Python file PRELOAD first, so that its imports happen once and not per file. Each FILE
then runs its tests that match MARK in a separate process. Writes one JUnit report of all files to
REPORT; a process that dies is a failed test there. Exits with 1 if a test failed.
"""

import atexit
import ctypes
import gc
import os
import pathlib
import runpy
import shutil
import signal
import sys
import tempfile
import time
import traceback
import xml.etree.ElementTree as xml

import pytest
import pytest_groups

# Time limit of a file in seconds, so that none blocks the others.
FILE_LIMIT = 600
PR_SET_PDEATHSIG = 1


def main() -> int:
    preload, report, mark, *files = sys.argv[1:]
    sys.path.insert(0, os.getcwd())
    runpy.run_path(preload)
    if len(os.listdir("/proc/self/task")) > 1:
        sys.exit(f"{preload} started threads, which a forked process would lack")
    # The objects of the imports stay alive, so collections need not visit them.
    gc.collect()
    gc.freeze()
    merged, failed = xml.Element("testsuites"), False
    # No TemporaryDirectory: each forked process would remove it at its end.
    folder = pathlib.Path(tempfile.mkdtemp())
    for number, file in enumerate(files):
        own_report, output = folder / f"{number}.xml", folder / f"{number}.txt"
        status = run_file(file, mark, own_report, output)
        text = output.read_text(errors="replace")
        print(text, flush=True)
        merged.append(suite_of(file, own_report, status, text))
        failed |= status not in (0, pytest.ExitCode.NO_TESTS_COLLECTED)
    shutil.rmtree(folder)
    xml.ElementTree(merged).write(report)
    return int(failed)


def run_file(file: str, mark: str, report: pathlib.Path, output: pathlib.Path) -> int:
    """Runs one file; returns the exit code, which is negative if a signal ended the process."""
    child = os.fork()
    if not child:
        run_child(file, mark, report, output)
    end = time.monotonic() + FILE_LIMIT
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.05)


def run_child(file: str, mark: str, report: pathlib.Path, output: pathlib.Path) -> None:
    code = 1
    try:
        # If the runner is killed, its tests end too.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        opened = os.open(output, os.O_WRONLY | os.O_CREAT)
        os.dup2(opened, 1)
        os.dup2(opened, 2)
        # Verbose: if the process dies, the last line names the test.
        options = ["-vv", "-m", mark, f"--junitxml={report}", *pytest_groups.time_limit(mark)]
        code = int(pytest.main([*options, file]))
        # Like an interpreter that exits: hooks close their runs.
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def suite_of(file: str, report: pathlib.Path, status: int, output: str) -> xml.Element:
    """Returns the tests of one file; a process that left no report is one failed test."""
    if report.exists() and status >= 0:
        return xml.parse(report).getroot()
    suite = xml.Element("testsuite")
    last = pytest_groups.last_test(output) or file
    case = xml.SubElement(suite, "testcase", classname=file, name=f"{last} ended with {status}")
    xml.SubElement(case, "failure", message=f"the process ended with {status}")
    return suite


if __name__ == "__main__":
    sys.exit(main())
