"""The credentials of AWS that boto3 uses in this process, where boto3 or botocore is installed.

botocore is asked in the thread of the user: when a run in S3 is opened, and by a hook when a step
begins and when it closes. The threads of the core see a snapshot. Without one, the core looks for
credentials itself (docs/storage.md).
"""

from __future__ import annotations

import getpass
import os
import sys
import time
from typing import Any, NoReturn

from smdebug import _core
from smdebug.log import get_logger

_logger = get_logger()
_PAUSE_SECONDS = 60  # between two renewals
# After so many failures in a row, steps do not ask again: each may take a minute.
_MOST_FAILURES = 3
# Names of botocore for the metadata service, and for roles.
_INSTANCE = "iam-role"
_ROLE = "assume-role"


class _Botocore:
    """Takes snapshots of the credentials of one session: the default session of boto3 if the
    script has one, else a session of its own."""

    def __init__(self) -> None:
        self._session: Any = None
        self._variables: dict[str, str] = {}  # when `_session` was made
        self._empty: Any = None  # a default session without credentials
        self._expires: float | None = None
        self._failures = 0
        self._next_renewal = 0.0  # on the monotonic clock
        self._has_warned = False

    def start(self) -> None:
        """Takes a snapshot, or removes the one of before if there are no credentials."""
        self._failures = 0
        self._next_renewal = 0.0
        try:
            self._take_snapshot()
        except Exception as error:
            self._remove_snapshot()
            self._warn(error)

    def renew(self) -> None:
        """Replaces a snapshot that is about to expire. If that fails, it stays."""
        now = time.monotonic()
        if self._failures >= _MOST_FAILURES or now < self._next_renewal:
            return
        before = self._expires
        try:
            self._take_snapshot()
        except Exception as error:
            self._warn(error)
        is_new = self._expires != before
        self._failures = 0 if is_new else self._failures + 1
        self._next_renewal = time.monotonic() + _PAUSE_SECONDS

    def _take_snapshot(self) -> None:
        session = getattr(sys.modules.get("boto3"), "DEFAULT_SESSION", None)
        is_default = session is not None
        found = self._of_default(session) if is_default else self._of_own()
        # The core reads the variables itself, at each request.
        if found is None or getattr(found, "method", "") == "env":
            return self._remove_snapshot()
        keys = found.get_frozen_credentials()
        # No public attribute has it, and only credentials that can be renewed have it.
        expiry = getattr(found, "_expiry_time", None)
        self._expires = None if expiry is None else expiry.timestamp()
        _core.set_aws_snapshot(
            keys.access_key, keys.secret_key, keys.token or "", self._expires, is_default
        )

    def _remove_snapshot(self) -> None:
        self._expires = None
        _core.remove_aws_snapshot()

    def _of_default(self, session: Any) -> Any:
        """Asks a session without credentials once: the metadata service, which it then asks, may
        keep it waiting."""
        state = (session, _aws_variables())
        if state == self._empty:
            return None
        found = session.get_credentials()
        self._empty = state if found is None else None
        return found

    def _of_own(self) -> Any:
        """Makes a session, without the metadata service, which the core asks. It is made again if
        a variable changes, and if it had no credentials."""
        if os.environ.get("AWS_ACCESS_KEY_ID"):
            return None
        try:
            from botocore.session import Session
        except ImportError:
            return None
        variables = _aws_variables()
        if self._session is None or variables != self._variables:
            session = Session()
            sources = session.get_component("credential_provider")
            sources.remove(_INSTANCE)
            # By default the function that getpass had when botocore was imported, not a notebook's.
            prompt = getpass.getpass if _can_prompt() else _refuse_to_prompt
            sources.get_provider(_ROLE)._prompter = prompt
            self._session, self._variables = session, variables
        found = self._session.get_credentials()
        if found is None:
            self._session = None
        return found

    def _warn(self, error: Exception) -> None:
        if not self._has_warned:
            self._has_warned = True
            text = (
                "AWS credentials: botocore cannot provide them (%s: %s); smdebug looks for them "
                "itself (docs/storage.md)"
            )
            _logger.warning(text, type(error).__name__, error)


_botocore = _Botocore()


def use_boto3_credentials(*locations: str | None) -> bool:
    """If one of `locations` is an address in S3, or has one in it, makes requests to AWS use the
    credentials that boto3 would use, and returns True. Never raises: an error of botocore is logged
    once, and the core looks for credentials itself."""
    if not any(location and "s3://" in location for location in locations):
        return False
    _botocore.start()
    return True


def renew_credentials() -> None:
    """Renews the credentials of `use_boto3_credentials` if they expire within 15 minutes: at most
    once a minute, until three renewals in a row have failed. Never raises. In other steps, this is
    one call of the core."""
    if _core.is_aws_renewal_due():
        _botocore.renew()


def _can_prompt() -> bool:
    """Whether someone may type the code of an MFA device. A prompt of a process in the background
    stops it, and one without a terminal waits for its standard input."""
    if getpass.getpass.__module__ != getpass.__name__:  # that of a notebook
        return True
    try:
        with open("/dev/tty") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _refuse_to_prompt(prompt: str) -> NoReturn:
    raise RuntimeError(
        f"found no terminal for the prompt {prompt!r}; start the program in the foreground, or "
        "select a profile that needs no code"
    )


def _aws_variables() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if name.startswith("AWS_")}
