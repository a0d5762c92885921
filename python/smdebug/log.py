"""The log: what Python code of ours says goes where the core's lines go.

The core's logger follows SMDEBUG_LOG_LEVEL, _CONTEXT, _ALL_TO_STDOUT and _PATH. Lines are not
passed on to the root logger: a script that configures `logging` would show them twice.
"""

import logging

from smdebug import _core


class CoreHandler(logging.Handler):
    """Hands each line to the core's logger."""

    def emit(self, record):
        try:
            _core.log(record.levelno, self.format(record))
        except Exception:
            self.handleError(record)


def get_logger(name="smdebug"):
    """The logger of that name, connected to the core's. Levels are the core's business."""
    logger = logging.getLogger(name)
    if not any(isinstance(handler, CoreHandler) for handler in logger.handlers):
        logger.addHandler(CoreHandler())
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
    return logger
