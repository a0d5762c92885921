"""The log: `get_logger` connects Python's loggers to the logger of the core.

The core's logger follows SMDEBUG_LOG_LEVEL, _CONTEXT, _ALL_TO_STDOUT and _PATH. Lines do not
propagate to the root logger: a script that configures `logging` would show them twice.
"""

from __future__ import annotations

import logging

from smdebug import _core


class CoreHandler(logging.Handler):
    """Passes each line to the core's logger."""

    def emit(self, record: logging.LogRecord) -> None:
        """Logs `record`. Never raises."""
        try:
            _core.log(record.levelno, self.format(record))
        except Exception:
            self.handleError(record)


def get_logger(name: str = "smdebug") -> logging.Logger:
    """The logger `name`, connected to the core. It passes on every level; the core selects."""
    logger = logging.getLogger(name)
    if not any(isinstance(handler, CoreHandler) for handler in logger.handlers):
        logger.addHandler(CoreHandler())
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
    return logger
