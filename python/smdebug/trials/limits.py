"""Limits of waiting that users set by environment variables."""

import os

from smdebug.log import get_logger

logger = get_logger()


def number_from(variable, default):
    """The whole number in an environment variable; `default` where there is none."""
    text = os.environ.get(variable)
    try:
        return int(text) if text else default
    except ValueError:
        logger.warning("%s must be a whole number, found '%s'; using %d", variable, text, default)
        return default
