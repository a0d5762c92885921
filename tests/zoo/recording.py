"""Records the trainings of the zoo with `smdebug run`: the only way in which the zoo records.

`smdebug run` starts a command that only waits. Meanwhile a process of the zoo, which has already
imported its framework, trains: it sets the environment variable that the command was given and
imports `smdebug_ng.autostart`, as every process of a real command does. So what is recorded, judged
and printed is exactly what a user gets, without the seconds that a new interpreter takes.
"""

import contextlib
import dataclasses
import json
import multiprocessing
import os
import sys
import tempfile
import traceback

from smdebug import cli, current_hook

VARIABLE = "SMDEBUG_RUN"
FORK = multiprocessing.get_context("fork")
# Tells its value of the variable, and ends with the standard input.
_WAITING = ["sh", "-c", f'printf "%s\\n" "${VARIABLE}"; cat']


@dataclasses.dataclass
class Launched:
    """A call of `smdebug run`. `request` is its value of SMDEBUG_RUN; after the training,
    `summary` is what `--json` prints, and `lines` counts those on the console."""

    request: str
    summary: dict = dataclasses.field(default_factory=dict)
    lines: int = 0


@contextlib.contextmanager
def smdebug_run(out_dir, words=()):
    """Within the context, `smdebug run WORDS` waits for a training, which is recorded to
    `out_dir`. Yields a `Launched`."""
    command = ["run", "--json", "--out", str(out_dir), *words, "--", *_WAITING]
    to_read, to_write = os.pipe(), os.pipe()
    with tempfile.TemporaryFile("w+") as console:
        process = FORK.Process(target=_execute, args=(command, to_read, to_write, console.fileno()))
        process.start()
        os.close(to_read[0])
        os.close(to_write[1])
        with os.fdopen(to_write[0]) as told, os.fdopen(to_read[1], "wb") as ending:
            launched = Launched(told.readline().strip())
            if not launched.request:
                process.join()
                console.seek(0)
                raise RuntimeError(f"smdebug {' '.join(command)}: {console.read()}")
            try:
                yield launched
            finally:
                ending.close()
                said = told.read()
                process.join()
            launched.summary = json.loads(said)
        console.seek(0)
        launched.lines = sum(line.startswith(("smdebug: ", "  ")) for line in console)


def _execute(command, to_read, to_write, console):
    """The process of `smdebug`. The pipe that ends its command must not be kept open by it."""
    os.close(to_read[1])
    os.close(to_write[0])
    for kept, number in ((to_read[0], 0), (to_write[1], 1), (console, 2)):
        os.dup2(kept, number)
    os._exit(cli.main(command))


def start(request):
    """Makes this process, which has imported its framework, one of the command that `smdebug run`
    started."""
    if "smdebug_ng.autostart" in sys.modules:
        raise RuntimeError("this process has recorded a training: use a new one")
    os.environ[VARIABLE] = request
    import smdebug_ng.autostart  # noqa: F401  what the .pth file does


def end():
    """Ends what is recorded, as the end of the interpreter does."""
    for hook in list(current_hook.open_hooks()):
        hook.close()


def in_own_process(function, *arguments):
    """Returns what `function(*arguments)` returns in a fork of this process. Raises RuntimeError if
    it fails there."""
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_answer, args=(sender, function, arguments))
    process.start()
    sender.close()
    try:
        answer, error = receiver.recv()
    except EOFError:
        answer, error = None, "it told nothing"
    process.join()
    if error:
        raise RuntimeError(f"the process ended with {process.exitcode}: {error}")
    return answer


def _answer(sender, function, arguments):
    try:
        sender.send((function(*arguments), None))
    except Exception:
        sender.send((None, traceback.format_exc()))


def recorded(request, function, *arguments):
    """Returns what `function(*arguments)` returns in a process that `smdebug run` records, with
    `request` of a `Launched`. If the function returns before its process has ended what is
    recorded, this does."""
    return in_own_process(_record, request, function, arguments)


def _record(request, function, arguments):
    start(request)
    try:
        return function(*arguments)
    finally:
        end()
