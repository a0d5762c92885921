"""The command `smdebug`: the C++ command line, which here can also load rules in Python."""

import signal
import sys

from smdebug import _core
from smdebug.rules.judge import load_judge


def main(arguments=None):
    # As in any program: Python's own settings would keep Ctrl-C and a closed pipe from the C++.
    for name in ("SIGINT", "SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    return _core.run_command_line(sys.argv[1:] if arguments is None else arguments, load_judge)


if __name__ == "__main__":
    sys.exit(main())
