"""`FileReader`: reads one event file from start to end, without the run around it."""

import logging
import os
import re

from smdebug import _core
from smdebug._core import RecordCheck
from smdebug.exceptions import SMDebugError, SMDebugValueError
from smdebug.trials.tensor import array_from

logger = logging.getLogger("smdebug")

_CHECKS = {"minimal": RecordCheck.MINIMAL, True: RecordCheck.MINIMAL, "full": RecordCheck.FULL}


class FileReader:
    """Reads the event file at `fname`, which is not changed.

    What is damaged is skipped; how often is logged at the end of a reading, and the stretches are
    in `skipped`. A file that holds bytes but no sound record raises SMDebugRuntimeError, as does
    one that cannot be read.

    `check` of the methods says what makes a record sound: "minimal" or True, the checksum of its
    length and the constant that event files have behind a message, or the true checksum; "full",
    both true checksums, which event files have only if they were written with
    `checksum="crc32c"`; anything else, no checksum at all.
    """

    def __init__(self, fname):
        self._path = os.fspath(fname)
        self._skipped = []
        self._skipped_count = 0

    @property
    def skipped(self):
        """(first byte, bytes, reason) of what the last reading skipped: the first 20."""
        return list(self._skipped)

    @property
    def skipped_count(self):
        """How many stretches the last reading skipped."""
        return self._skipped_count

    def read_tensors(self, check="minimal"):
        """Yields (name, global step, array, mode, mode step) of each record, in file order.

        The arrays are the caller's own. Raises SMDebugValueError at a record that is no tensor.
        """
        for record in self._read(check):
            if isinstance(record, SMDebugError):
                raise SMDebugValueError(str(record)) from record
            name, step, mode, mode_step, _, value = record
            yield name, step, array_from(*value), mode, mode_step

    def read_events(self, check="minimal", regex_list=None):
        """The tensors as dicts: `timestamp` (seconds since the epoch), `step`, `name`, `value`.

        With `regex_list` only those whose name one of the patterns finds. Records that are no
        tensors are left out.
        """
        events = []
        for record in self._read(check):
            if isinstance(record, SMDebugError):
                continue
            name, step, _, _, timestamp, value = record
            if regex_list is None or any(re.search(pattern, name) for pattern in regex_list):
                value = array_from(*value)
                events.append({"timestamp": timestamp, "step": step, "name": name, "value": value})
        return events

    def _read(self, check):
        """Yields the parts of each record; of one that is no tensor, the error that says so."""
        level = _CHECKS.get(check, RecordCheck.NONE)
        reader = _core.FileReader.open(self._path, level)
        while True:
            try:
                record = reader.next()
            except SMDebugError as error:
                if error.code != "unsupported":
                    raise
                record = error
            self._skipped, self._skipped_count = reader.skipped, reader.skipped_count
            if record is None:
                break
            yield record
        if self._skipped_count:
            start, size, what = self._skipped[0]
            logger.warning(
                "event file '%s': %d damaged stretches were skipped, the first of %d bytes at "
                "byte %d: %s",
                self._path,
                self._skipped_count,
                size,
                start,
                what,
            )
