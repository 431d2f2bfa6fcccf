"""Ports of this machine, for what it serves to itself only."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"
HIGHEST = 65_535


def check_free(port: int) -> None:
    """Raise ValueError with one sentence if `port` can't be listened to."""
    reason = _why_not(port)
    if reason is not None:
        raise ValueError(
            f"--port {port} cannot be used: {reason}. Choose another, or leave it out."
        )


def first_free(port: int) -> int:
    """Return the first port from `port` on that can be listened to; ValueError if none can."""
    for each in range(port, HIGHEST + 1):
        if _why_not(each) is None:
            return each
    raise ValueError(f"--port must be a free one, and from {port} on there is none.")


def _why_not(port: int) -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            return error.strerror or str(error)
    return None
