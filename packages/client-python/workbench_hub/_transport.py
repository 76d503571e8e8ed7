"""Connections to a hub: TLS, proxies, and reuse."""

from __future__ import annotations

import http.client
import os
import select
import socket
import ssl
import threading
import time
import urllib.parse
from typing import List, Mapping, NamedTuple, Optional, Union

from ._address import context_of, netloc, parts_of, proxy_of, reason_of
from ._early_answer import answer_before_body, push_back
from ._errors import NotAHub, UsageError
from ._response import CHUNK_BYTES, Body, Response
from ._scope import Broken, Ended, NotSent, bytes_moved, current_scope
from ._steps import SteppingResponse

CONNECT_TIMEOUT_S = 10.0
# Longest idle time after which a connection is used again; servers and proxies close idle ones without notice.
MAX_IDLE_S = 4.0


class _Idle(NamedTuple):
    connection: http.client.HTTPConnection
    since: float


class Transport:
    """Sends requests to the hub at `url`. Threads share it, and a process that is forked goes on with it."""

    def __init__(self, url: str, ca_file: Optional[str], read_timeout_s: float) -> None:
        self._lock = threading.Lock()
        self._idle: List[_Idle] = []
        self._process_id = os.getpid()
        parts = parts_of(url)
        self.url = urllib.parse.urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
        self._is_tls = parts.scheme == "https"
        self._host = str(parts.hostname)
        self._port = parts.port or (443 if self._is_tls else 80)
        self._prefix = parts.path.rstrip("/")
        self._context = context_of(ca_file) if self._is_tls else None
        self._ca_file = ca_file
        self._proxy = proxy_of(parts.scheme, self._host)
        self._read_timeout_s = read_timeout_s

    def send(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Union[bytes, Body, None] = None,
        poll_s: float = 0,
        most_s: Optional[float] = None,
        silence_s: Optional[float] = None,
    ) -> Response:
        """Sends one request and reads the head of its response. Raises `NotSent`, `Broken` or `NotAHub`.

        The hub may be silent for `most_s` (the timeout of this object, if that is less) beyond the `poll_s` for which it holds
        its response back, and then for `silence_s` between the parts of a body.
        """
        patience_s = self._read_timeout_s if most_s is None else min(self._read_timeout_s, most_s)
        scope = current_scope()
        if scope.has_ended:
            raise Ended("the requests were ended")
        connection = self._take()
        connected = connection.sock
        scope.hold(connected)

        def release(is_reusable: bool) -> None:
            scope.release(connected)
            if is_reusable and not scope.has_ended:
                with self._lock:
                    self._idle.append(_Idle(connection, time.monotonic()))
            else:
                connection.close()

        try:
            connected.settimeout(patience_s + poll_s)
            self._write(connection, method, target, headers, body)
            head = connection.getresponse()
            connected.settimeout(silence_s or self._read_timeout_s)
            return Response(head, release, self._broken_by)
        except (http.client.BadStatusLine, http.client.UnknownProtocol) as error:
            release(False)
            if isinstance(error, http.client.RemoteDisconnected):
                raise self._broken_by(error) from error
            advice = "if it has TLS, the address begins with https://"
            raise NotAHub(f"{self.url} is no Workbench Hub: it does not answer by HTTP; {advice}") from error
        except (OSError, http.client.HTTPException) as error:
            release(False)
            broken = self._broken_by(error)
            if isinstance(broken, Broken) and broken.silent_s > 0:
                broken.silent_s = patience_s
            raise broken from error
        except BaseException:
            release(False)
            raise

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for each in idle:
            each.connection.close()

    def __del__(self) -> None:
        self.close()

    def _write(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Union[bytes, Body, None],
    ) -> None:
        all_headers = dict(headers)
        path = self._prefix + target
        if self._proxy is not None and not self._is_tls:
            path = f"http://{netloc(self._host, self._port)}{path}"
            all_headers.update(self._proxy.headers)
        if self._proxy is not None:
            all_headers["Host"] = netloc(self._host, self._port if _is_unusual(self._port) else None)
        if not isinstance(body, Body):
            connection.request(method, path, body=body, headers=all_headers)
            return
        connection.putrequest(method, path, skip_host="Host" in all_headers, skip_accept_encoding=True)
        for name, value in {**all_headers, "Content-Length": str(body.size)}.items():
            connection.putheader(name, value)
        is_large = body.size > CHUNK_BYTES
        if is_large:
            connection.putheader("Expect", "100-continue")
        connection.endheaders()
        answer = answer_before_body(connection.sock) if is_large else b""
        if answer:
            push_back(connection, answer)
            return
        for chunk in body.chunks():
            try:
                connection.send(chunk)
                bytes_moved()
            except OSError:
                # A server that refuses the body on its way answers and closes: its answer may have arrived.
                return

    def _leave_those_of_parent(self) -> None:
        """After a fork, the idle connections are those of the parent as well: its answers would reach this process."""
        if self._process_id == os.getpid():
            return
        self._process_id = os.getpid()
        # A thread of the parent may have held the lock.
        self._lock = threading.Lock()
        idle, self._idle = self._idle, []
        for each in idle:
            each.connection.close()

    def _take(self) -> http.client.HTTPConnection:
        self._leave_those_of_parent()
        while True:
            with self._lock:
                idle = self._idle.pop() if self._idle else None
            if idle is None:
                return self._connect()
            connected = idle.connection.sock
            is_fresh = time.monotonic() - idle.since < MAX_IDLE_S
            # An idle connection on which something arrived was closed by the server.
            if connected is not None and is_fresh and not _is_readable(connected):
                return idle.connection
            idle.connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        host, port = (self._proxy.host, self._proxy.port) if self._proxy else (self._host, self._port)
        connection: http.client.HTTPConnection
        if self._context is not None:
            connection = http.client.HTTPSConnection(
                host, port, timeout=CONNECT_TIMEOUT_S, context=self._context
            )
            if self._proxy is not None:
                connection.set_tunnel(self._host, self._port, headers=self._proxy.headers)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=CONNECT_TIMEOUT_S)
        connection.response_class = SteppingResponse
        try:
            connection.connect()
        except ssl.SSLCertVerificationError as error:
            connection.close()
            raise self._untrusted(error) from error
        except ssl.SSLError as error:
            connection.close()
            reason = "it does not answer by TLS; if it has none, the address begins with http://"
            raise NotAHub(f"{self.url} is no Workbench Hub: {reason} ({error})") from error
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            by_proxy = f" by the proxy {netloc(host, port)}" if self._proxy else ""
            raise NotSent(f"{self.url} cannot be reached{by_proxy}: {reason_of(error)}") from error
        return connection

    def _untrusted(self, error: ssl.SSLCertVerificationError) -> Exception:
        advice = (
            f"the authority in {self._ca_file} did not sign it"
            if self._ca_file
            else "give the certificate of a private authority as ca_file"
        )
        return UsageError(f"the certificate of {self.url} is not trusted: {error.verify_message}; {advice}")

    def _broken_by(self, error: BaseException) -> Exception:
        if current_scope().has_ended:
            return Ended("the requests were ended")
        if isinstance(error, (socket.timeout, TimeoutError)):
            silent = Broken(f"{self.url} accepts connections and does not answer: {reason_of(error)}")
            silent.silent_s = self._read_timeout_s
            return silent
        return Broken(f"the connection to {self.url} broke: {reason_of(error)}")


def _is_readable(connected: socket.socket) -> bool:
    try:
        readable, _, _ = select.select([connected], [], [], 0)
    except (OSError, ValueError):
        return True
    return bool(readable)


def _is_unusual(port: int) -> bool:
    return port not in (80, 443)
