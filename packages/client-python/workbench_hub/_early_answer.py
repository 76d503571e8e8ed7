"""Answers that arrive before the body of a request is sent, so that a refused file is not sent for nothing."""

from __future__ import annotations

import http.client
import io
import socket
from typing import Any

from ._steps import SteppingResponse, raw_file

# Time for which a server may think about the head of a request; one that does not know `Expect` says nothing.
PATIENCE_S = 1.0


def answer_before_body(connected: socket.socket) -> bytes:
    """Beginning of the answer to a head with `Expect: 100-continue`; empty when the body is to be sent."""
    timeout = connected.gettimeout()
    connected.settimeout(PATIENCE_S)
    read = b""
    try:
        while not read.endswith(b"\r\n"):
            piece = connected.recv(1)
            if not piece:
                return read
            read += piece
        connected.settimeout(timeout)
        if b" 100 " not in read:
            return read
        while not read.endswith(b"\r\n\r\n"):
            piece = connected.recv(1)
            if not piece:
                return b""
            read += piece
    except socket.timeout:
        return read
    finally:
        connected.settimeout(timeout)
    return b""


def push_back(connection: http.client.HTTPConnection, read: bytes) -> None:
    """Makes the next response of a connection begin with bytes that were read already."""

    def response_of(connected: socket.socket, *positional: Any, **named: Any) -> http.client.HTTPResponse:
        connection.response_class = SteppingResponse
        pushed: Any = _PushedBack(connected, read)
        return http.client.HTTPResponse(pushed, *positional, **named)

    connection.__dict__["response_class"] = response_of


class _PushedBack:
    """What a response needs of a socket."""

    def __init__(self, connected: socket.socket, read: bytes) -> None:
        self._connected = connected
        self._read = read

    def makefile(self, mode: str) -> io.BufferedReader:
        assert mode == "rb"
        return io.BufferedReader(_Joined(raw_file(self._connected), self._read))


class _Joined(io.RawIOBase):
    def __init__(self, rest: Any, first: bytes) -> None:
        super().__init__()
        self._rest = rest
        self._first = first

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Any:
        if not self._first:
            return self._rest.readinto(buffer)
        count = min(len(buffer), len(self._first))
        buffer[:count] = self._first[:count]
        self._first = self._first[count:]
        return count

    def close(self) -> None:
        self._rest.close()
        super().close()
