"""`FileReader`: reads one event file from start to end, without the run around it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from smdebug import _core
from smdebug._core import ModeKeys, RecordCheck
from smdebug.aws_credentials import use_boto3_credentials
from smdebug.exceptions import SMDebugValueError
from smdebug.log import get_logger
from smdebug.trials.arrays import Array, array_from

_logger = get_logger()

_CHECKS = {"minimal": RecordCheck.MINIMAL, True: RecordCheck.MINIMAL, "full": RecordCheck.FULL}


class FileReader:
    """Reads the event file at `fname`, which stays unchanged.

    Damaged ranges of bytes are skipped. Each reading ends with a warning that counts them, and
    `skipped` lists them. A file that holds bytes but no intact record raises SMDebugRuntimeError,
    as does one that cannot be read.

    `check` selects what an intact record needs: "minimal" or True, the checksum of its length and
    either the constant that event files have after a message or the true checksum; "full", both
    true checksums, which only files written with `checksum="crc32c"` have; anything else, no
    checksum at all.

    `wtype` has one value, "tfevent"; raises SMDebugValueError for any other.
    """

    def __init__(self, fname: str | os.PathLike[str], wtype: str = "tfevent") -> None:
        if wtype != "tfevent":
            raise SMDebugValueError(f"wtype must be 'tfevent', found {wtype!r}")
        self._path = os.fspath(fname)
        self._skipped: list[tuple[int, int, str]] = []
        self._skipped_count = 0

    @property
    def skipped(self) -> list[tuple[int, int, str]]:
        """The first 20 ranges that the last reading skipped: (first byte, bytes, reason)."""
        return list(self._skipped)

    @property
    def skipped_count(self) -> int:
        """The number of ranges that the last reading skipped."""
        return self._skipped_count

    def read_tensors(
        self, check: bool | str = "minimal"
    ) -> Iterator[tuple[str, int, Array, ModeKeys, int]]:
        """Yields (name, global step, array, mode, mode step) of each record, in file order.

        The caller owns the arrays. Raises SMDebugValueError for a record that is not a tensor.
        """
        for name, step, mode, mode_step, _, value in self._read(check):
            yield name, step, array_from(*value), mode, mode_step

    def read_events(
        self, check: bool | str = "minimal", regex_list: Iterable[str] | None = None
    ) -> list[dict[str, Any]]:
        """The tensors as dicts: `timestamp` (seconds since the epoch), `step`, `name`, `value`.

        `regex_list` restricts them to names that one of the patterns finds. Skips records that are
        not tensors. Raises SMDebugValueError for a pattern that does not compile.
        """
        patterns = None if regex_list is None else list(regex_list)
        return [
            {"timestamp": timestamp, "step": step, "name": name, "value": array_from(*value)}
            for name, step, _, _, timestamp, value in self._read(check, patterns, skip_others=True)
        ]

    def _read(
        self, check: bool | str, patterns: list[str] | None = None, skip_others: bool = False
    ) -> Iterator[tuple[Any, ...]]:
        """Yields the parts of each record."""
        level = _CHECKS.get(check, RecordCheck.NONE)
        use_boto3_credentials(self._path)
        reader = _core.FileReader.open(self._path, level, patterns)
        while True:
            try:
                record = reader.next(skip_others)
            finally:
                self._skipped, self._skipped_count = reader.skipped, reader.skipped_count
            if record is None:
                break
            yield record
        if self._skipped_count:
            start, size, what = self._skipped[0]
            _logger.warning(
                "event file '%s': skipped %d damaged ranges, the first of %d bytes at byte %d: %s",
                self._path,
                self._skipped_count,
                size,
                start,
                what,
            )
