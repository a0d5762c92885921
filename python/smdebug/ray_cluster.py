"""`smdebug check --ray`: passes runs to the workers of a Ray cluster, one task per run."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from smdebug.exceptions import SMDebugRuntimeError

# Of a task: the result in bytes and the printed text, or None and the reason.
Returned = tuple[bytes | None, str]

# How often Ray judges a run again whose process was killed.
_RETRIES = 3
# After so long without a result, the user learns that tasks may wait for each other.
_PATIENCE_SECONDS = 30
_CONNECT_SECONDS = 10
_REMEDY = "check the address, or use --ray local for the processors of this machine"
# Of the objects of a cluster on this machine: results are small.
_STORE_BYTES = 100 * 1024 * 1024
# The variables of this process that a worker needs to read the same runs.
_VARIABLES = re.compile(r"AWS_\w+|SMDEBUG_LOG_LEVEL|SMDEBUG_STORAGE_TIMEOUT")


def judge_on_ray(
    address: str,
    commands: Sequence[Sequence[str]],
    on_judged: Callable[[int, bytes | None, str], None],
) -> None:
    """Judges the run of each command line in a task, and calls `on_judged` with its index and what
    the task returned, as the results arrive. `address` is that of a cluster; "local" starts one on
    this machine, which ends with the call. Raises SMDebugRuntimeError if the cluster cannot be
    used."""
    ray = _imported_ray()
    with _shutdown_before_interrupt(ray):
        _connect(ray, address)
        try:
            _judge(ray, commands, on_judged)
        except ray.exceptions.RayError as error:
            text = f"the Ray cluster at '{address}' failed: {_one_line(error)}"
            raise SMDebugRuntimeError(text) from error


@contextlib.contextmanager
def _shutdown_before_interrupt(ray: ModuleType) -> Iterator[None]:
    """Lets Ray end its tasks and processes after the block, and before Ctrl-C ends this one."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        ray.shutdown()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        ray.shutdown()
        signal.signal(signal.SIGINT, before)


def _imported_ray() -> ModuleType:
    # Ray reports its use to its makers otherwise, and the devices of idle tasks.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        raise SMDebugRuntimeError(
            f"--ray needs Ray, which cannot be imported ({error}); run pip install 'ray[client]', "
            "or omit --ray to judge the runs in this process"
        ) from error
    return ray


def _connect(ray: ModuleType, address: str) -> None:
    _check_reachable(address)
    options: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if address == "local":
        options |= {"include_dashboard": False, "object_store_memory": _STORE_BYTES}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what the exception says, too
            ray.init(address=address, **options)
    except Exception as error:
        raise SMDebugRuntimeError(
            f"cannot use the Ray cluster at '{address}': {_one_line(error)}; {_REMEDY}. A cluster "
            "that asks for a token needs RAY_AUTH_MODE=token in the environment of this command"
        ) from error


def _check_reachable(address: str) -> None:
    # Ray itself tries for minutes.
    named = re.fullmatch(r"(?:ray://)?\[?([^/\[\]]+)\]?:(\d+)", address)
    if not named:
        return
    try:
        socket.create_connection((named[1], int(named[2])), _CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        text = f"no Ray cluster at '{address}': {reason}; {_REMEDY}"
        raise SMDebugRuntimeError(text) from error


def _judge(
    ray: ModuleType,
    commands: Sequence[Sequence[str]],
    on_judged: Callable[[int, bytes | None, str], None],
) -> None:
    task = ray.remote(num_cpus=1, max_retries=_RETRIES)(_task())
    variables = {name: text for name, text in os.environ.items() if _VARIABLES.fullmatch(name)}
    folder = os.getcwd()
    # Results are passed on and released one by one.
    numbers = {
        task.remote(list(command), folder, variables): number
        for number, command in enumerate(commands)
    }
    patience: float | None = _PATIENCE_SECONDS
    while numbers:
        done, _ = ray.wait(list(numbers), timeout=patience)
        if not done:
            print(
                f"smdebug: no result in {_PATIENCE_SECONDS} s; each run waits for a free CPU of "
                "the cluster: 'ray status' there shows what uses them",
                file=sys.stderr,
                flush=True,
            )
        patience = None
        for result in done:
            on_judged(numbers.pop(result), *_returned(ray, result))


def _task() -> Callable[[list[str], str, dict[str, str]], Returned]:
    # Ray sends an inner function itself, not its name, so it also runs on workers without smdebug.
    def judge(command: list[str], folder: str, variables: dict[str, str]) -> Returned:
        import os

        os.environ.update(variables)
        try:
            from smdebug.ray_worker import judge_run
        except ImportError as error:
            return None, (
                f"a worker of the Ray cluster cannot import smdebug ({error}); install the same "
                "version of smdebug-ng there"
            )
        return judge_run(command, folder)

    return judge


def _returned(ray: ModuleType, result: Any) -> Returned:
    """The result of a task, or None and the reason why there is none."""
    try:
        return ray.get(result)
    except ray.exceptions.OutOfMemoryError as error:
        return None, f"the Ray cluster has too little memory to judge it: {_one_line(error)}"
    except ray.exceptions.WorkerCrashedError:
        return None, (
            f"the process that judged it was killed in each of {_RETRIES + 1} attempts; judge it "
            "without --ray, or see the logs of the Ray cluster"
        )
    except ray.exceptions.RayError as error:
        return None, f"the Ray cluster could not judge it: {_one_line(error)}"


def _one_line(error: BaseException) -> str:
    """The message of an exception of Ray without colors, on one line. Of a task that raised, only
    the exception: the message has a traceback before it."""
    error = getattr(error, "cause", None) or error
    text = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", str(error)).split()).rstrip(".")
    return text or type(error).__name__
