"""Requests of threads that another thread can end, and the failures of connections."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from typing import Iterator, Optional, Set

from ._errors import HubUnreachable

# Longest time for which a thread waits at once, `None` for any. On Windows nothing interrupts a thread that waits for a
# socket or an event: Ctrl-C would count only at the end of a long poll.
STEP_S: Optional[float] = 0.2 if os.name == "nt" else None


class NotSent(HubUnreachable):
    """The connection could not be made, so that the request did not reach the hub."""


class Broken(HubUnreachable):
    """The connection ended after the request was begun and before its answer was complete.

    `silent_s` is the time for which the hub had said nothing when the client gave the connection up; 0 when the other side ended it.
    """

    silent_s: float = 0


class Ended(HubUnreachable):
    """The requests of a scope were ended by another thread."""


class Scope:
    """The requests of the threads that entered it, which any thread can end at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: Set[socket.socket] = set()
        self._ended = threading.Event()

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def end(self) -> None:
        self._ended.set()
        with self._lock:
            for each in self._sockets:
                try:
                    # Of the base class: that of a TLS socket changes its state under the thread that reads.
                    socket.socket.shutdown(each, socket.SHUT_RDWR)
                except OSError:
                    pass

    def sleep(self, seconds: float) -> None:
        """Waits, and raises `Ended` when the scope has ended."""
        if self._wait(seconds):
            raise Ended("the requests were ended")

    def _wait(self, seconds: float) -> bool:
        if STEP_S is None:
            return self._ended.wait(seconds)
        until = time.monotonic() + seconds
        while not self._ended.wait(max(0.0, min(STEP_S, until - time.monotonic()))):
            if time.monotonic() >= until:
                return False
        return True

    def hold(self, connected: socket.socket) -> None:
        with self._lock:
            self._sockets.add(connected)
        if self.has_ended:
            self.end()

    def release(self, connected: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(connected)


_scopes = threading.local()
_moves = threading.local()


def bytes_moved() -> None:
    """Notes that this thread has just sent or received a part of a body."""
    _moves.at = time.monotonic()


def last_move() -> float:
    """When this thread last sent or received a part of a body, by the monotonic clock."""
    at: float = getattr(_moves, "at", float("-inf"))
    return at


def current_scope() -> Scope:
    """The scope that this thread entered, or one of its own that nobody ends."""
    scope: Optional[Scope] = getattr(_scopes, "scope", None)
    if scope is None:
        scope = Scope()
        _scopes.scope = scope
    return scope


def enter_scope(scope: Optional[Scope]) -> None:
    _scopes.scope = scope


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """Requests within it do not end with the scope of the thread."""
    scope = current_scope()
    enter_scope(None)
    try:
        yield
    finally:
        enter_scope(scope)
