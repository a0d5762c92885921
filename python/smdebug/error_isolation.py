"""Keeps the errors of smdebug out of the training: `isolate_errors` and `CallsUntilError`."""

from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

Result = TypeVar("Result")


class isolate_errors:
    """A context manager that reports an exception instead of raising it.

    `report(where, error)` takes it; `where` says in which part of a training it happened, such as
    "after a batch". Exceptions of the classes `passing`, and those that do not derive from
    `Exception`, such as KeyboardInterrupt, are raised as usual. It is a class because some blocks
    run in every step, where a generator would take twice the time.
    """

    __slots__ = ("_passing", "_report", "_where")

    def __init__(
        self,
        report: Callable[[str, Exception], None],
        where: str,
        passing: type[Exception] | tuple[type[Exception], ...] = (),
    ) -> None:
        self._report = report
        self._where = where
        self._passing = passing

    def __enter__(self) -> None:
        """Starts to watch the block."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Returns whether the exception was reported, and so must not be raised."""
        if not isinstance(error, Exception) or isinstance(error, self._passing):
            return False
        self._report(self._where, error)
        return True


class CallsUntilError:
    """Calls functions until one of them fails. `report(text)` takes the first error; from then on
    nothing is called any more."""

    def __init__(self, report: Callable[[str], Any]) -> None:
        self._report = report
        self._has_failed = False

    def __call__(self, function: Callable[[], Result]) -> Result | None:
        """Returns what `function()` returns; None if it fails or something failed before."""
        if self._has_failed:
            return None
        try:
            return function()
        except Exception as error:
            self._has_failed = True
            self._report(repr(error))
            return None
