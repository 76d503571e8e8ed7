"""Reads of responses that Ctrl-C, and another thread, can end on every system: on Windows they wait in steps."""

from __future__ import annotations

import http.client
import io
import select
import socket
import ssl
import time
from typing import Any

from . import _scope


class SteppingResponse(http.client.HTTPResponse):
    """A response that is read in steps, where that is needed."""

    def __init__(self, connected: socket.socket, *positional: Any, **named: Any) -> None:
        source: Any = _Source(connected)
        super().__init__(source, *positional, **named)


def raw_file(connected: socket.socket) -> io.RawIOBase:
    """The bytes that arrive on a socket."""
    raw: io.RawIOBase = connected.makefile("rb", buffering=0)
    return raw if _scope.STEP_S is None else _Steps(connected, raw, _scope.STEP_S)


class _Source:
    """What a response needs of a socket."""

    def __init__(self, connected: socket.socket) -> None:
        self._connected = connected

    def makefile(self, mode: str) -> io.BufferedReader:
        assert mode == "rb"
        return io.BufferedReader(raw_file(self._connected))


class _Steps(io.RawIOBase):
    def __init__(self, connected: socket.socket, raw: io.RawIOBase, step_s: float) -> None:
        super().__init__()
        self._connected = connected
        self._raw = raw
        self._step_s = step_s

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Any:
        patience_s = self._connected.gettimeout()
        until = float("inf") if patience_s is None else time.monotonic() + patience_s
        while not _has_bytes(self._connected, self._step_s):
            if _scope.current_scope().has_ended:
                raise ConnectionAbortedError("the requests were ended")
            if time.monotonic() >= until:
                raise socket.timeout("timed out")
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _has_bytes(connected: socket.socket, within_s: float) -> bool:
    """Whether a read would not wait; true for a socket that was closed, whose read says so."""
    if isinstance(connected, ssl.SSLSocket) and connected.pending() > 0:
        return True
    try:
        readable, _, _ = select.select([connected], [], [], within_s)
    except (OSError, ValueError):
        return True
    return bool(readable)
