"""The command `smdebug`: the C++ command line, which here can also load rules in Python, spread
runs over a Ray cluster and write files with libraries of Python."""

from __future__ import annotations

import contextlib
import itertools
import signal
import sys
from collections.abc import Callable, Sequence

from smdebug import _core
from smdebug.aws_credentials import use_boto3_credentials
from smdebug.export_files import write_export
from smdebug.rules.judge import load_judge

# Printed by `smdebug --cmake-dir`, where other packages print a folder.
CMAKE_DIR = (
    "this Python package has no C++ headers and no libraries; the Debian package libsmdebug-dev "
    "has them: run 'cmake --preset release', 'cmake --build build/release' and "
    "'cpack --config build/release/CPackConfig.cmake' in the sources, and install the result"
)


def _judge_on_ray(
    address: str,
    commands: Sequence[Sequence[str]],
    on_judged: Callable[[int, bytes | None, str], None],
) -> None:
    from smdebug.ray_cluster import judge_on_ray  # only if asked for: it imports Ray

    judge_on_ray(address, commands, on_judged)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command with `arguments`, by default those of the process. Returns its exit code.

    A rule in Python prints to standard error, because standard output may be JSON.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Those after "--" belong to the training.
    use_boto3_credentials(*itertools.takewhile(lambda word: word != "--", given))
    # Python's own handlers would keep Ctrl-C and a closed pipe from the C++ code.
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    if given[:1] == ["--cmake-dir"]:
        print("smdebug: error:", CMAKE_DIR, file=sys.stderr)
        return 1
    with contextlib.redirect_stdout(sys.stderr):
        return _core.run_command_line(given, load_judge, _judge_on_ray, write_export)


if __name__ == "__main__":
    sys.exit(main())
