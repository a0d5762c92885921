"""Ports for servers that cannot choose one themselves."""

import pathlib
import random
import socket

_RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 20_000


def free_port() -> int:
    """A port of this machine that no program listens on. The system gives it to no connection of
    another program either, unless its own ports begin very low."""
    end = max(int(_RANGE.read_text().split()[0]), _LOWEST + 1000)
    while True:
        port = random.SystemRandom().randrange(_LOWEST, end)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
