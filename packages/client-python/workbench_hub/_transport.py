"""Connections to a hub: TLS, proxies, reuse, and bodies that are streamed."""

from __future__ import annotations

import base64
import contextlib
import http.client
import ipaddress
import select
import socket
import ssl
import threading
import time
import urllib.parse
import urllib.request
from typing import Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Set, Union

from ._early_answer import answer_before_body, push_back
from ._errors import HubUnreachable, NotAHub, UsageError

CHUNK_BYTES = 256 * 1024
CONNECT_TIMEOUT_S = 10.0
# Longest idle time after which a connection is used again; servers and proxies close idle ones without notice.
MAX_IDLE_S = 4.0


class NotSent(HubUnreachable):
    """The connection could not be made, so that the request did not reach the hub."""


class Broken(HubUnreachable):
    """The connection ended after the request was begun and before its answer was complete."""


class Ended(HubUnreachable):
    """The requests of a scope were ended by another thread."""


class Body(NamedTuple):
    """A request body that is written chunk by chunk, and again from its beginning at each try."""

    size: int
    chunks: Callable[[], Iterator[bytes]]


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
        if self._ended.wait(seconds):
            raise Ended("the requests were ended")

    def hold(self, connected: socket.socket) -> None:
        with self._lock:
            self._sockets.add(connected)
        if self.has_ended:
            self.end()

    def release(self, connected: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(connected)


_scopes = threading.local()


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


class Response:
    """A response whose body is read in chunks. `read_chunk` returns no bytes at the end, and raises `Broken` for a body that
    ends too early."""

    def __init__(
        self,
        response: http.client.HTTPResponse,
        release: Callable[[bool], None],
        broken: Callable[[BaseException], Exception],
    ) -> None:
        self._response = response
        self._release: Optional[Callable[[bool], None]] = release
        self._broken = broken
        self.status = response.status
        length = response.getheader("Content-Length")
        self._left = int(length) if length is not None and length.isdigit() else None
        if response.status in (204, 304):
            self._left = 0

    def header(self, name: str) -> Optional[str]:
        return self._response.getheader(name)

    def headers(self, name: str) -> List[str]:
        return self._response.headers.get_all(name) or []

    def read_chunk(self, limit: int = CHUNK_BYTES) -> bytes:
        if self._release is None:
            return b""
        try:
            chunk = self._response.read(limit)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise self._broken(error) from error
        if self._left is not None:
            self._left -= len(chunk)
        if chunk:
            return chunk
        if self._left:
            self.close()
            raise self._broken(http.client.IncompleteRead(b"", self._left))
        self._finish(not self._response.will_close)
        return b""

    def read(self, limit: Optional[int] = None) -> bytes:
        """The rest of the body, at most `limit` bytes of it."""
        chunks: List[bytes] = []
        size = 0
        while limit is None or size < limit:
            chunk = self.read_chunk(CHUNK_BYTES if limit is None else min(CHUNK_BYTES, limit - size))
            if not chunk:
                return b"".join(chunks)
            chunks.append(chunk)
            size += len(chunk)
        self.close()
        return b"".join(chunks)

    def close(self) -> None:
        """Ends the connection, unless the body was read to its end."""
        self._finish(False)

    def _finish(self, is_reusable: bool) -> None:
        release, self._release = self._release, None
        if release is not None:
            release(is_reusable)


class _Idle(NamedTuple):
    connection: http.client.HTTPConnection
    since: float


class _Proxy(NamedTuple):
    host: str
    port: int
    headers: Dict[str, str]


class Transport:
    """Sends requests to the hub at `url`. Threads share it."""

    def __init__(self, url: str, ca_file: Optional[str], read_timeout_s: float) -> None:
        self._lock = threading.Lock()
        self._idle: List[_Idle] = []
        parts = _parts_of(url)
        self.url = urllib.parse.urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
        self._is_tls = parts.scheme == "https"
        self._host = str(parts.hostname)
        self._port = parts.port or (443 if self._is_tls else 80)
        self._prefix = parts.path.rstrip("/")
        self._context = _context_of(ca_file) if self._is_tls else None
        self._ca_file = ca_file
        self._proxy = _proxy_of(parts.scheme, self._host)
        self._read_timeout_s = read_timeout_s

    def send(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Union[bytes, Body, None] = None,
        extra_timeout_s: float = 0,
    ) -> Response:
        """Sends one request and reads the head of its response. Raises `NotSent`, `Broken` or `NotAHub`."""
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
            connected.settimeout(self._read_timeout_s + extra_timeout_s)
            self._write(connection, method, target, headers, body)
            return Response(connection.getresponse(), release, self._broken_by)
        except (http.client.BadStatusLine, http.client.UnknownProtocol) as error:
            release(False)
            if isinstance(error, http.client.RemoteDisconnected):
                raise self._broken_by(error) from error
            raise NotAHub(f"{self.url} is no Workbench Hub: it does not answer by HTTP; if it has TLS, the address begins with https://") from error
        except (OSError, http.client.HTTPException) as error:
            release(False)
            raise self._broken_by(error) from error
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
            path = f"http://{_netloc(self._host, self._port)}{path}"
            all_headers.update(self._proxy.headers)
        if self._proxy is not None:
            all_headers["Host"] = _netloc(self._host, self._port if _is_unusual(self._port) else None)
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
            except OSError:
                # A server that refuses the body on its way answers and closes: its answer may have arrived.
                return

    def _take(self) -> http.client.HTTPConnection:
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
            by_proxy = f" by the proxy {_netloc(host, port)}" if self._proxy else ""
            raise NotSent(f"{self.url} cannot be reached{by_proxy}: {_reason(error)}") from error
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
        return Broken(f"the connection to {self.url} broke: {_reason(error)}")


def _parts_of(url: str) -> urllib.parse.SplitResult:
    try:
        parts = urllib.parse.urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} is no address of a hub: {error}") from error
    if not is_usable:
        raise UsageError(f"{url!r} is no address of a hub: it must begin with http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise UsageError("the address of the hub must hold no password; give user= and password=")
    if parts.query or parts.fragment:
        raise UsageError(f"{url!r} is no address of a hub: it must end after host, port and path")
    return parts


def _context_of(ca_file: Optional[str]) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"ca_file {ca_file} cannot be read as certificates: {_reason(error)}") from error


def _proxy_of(scheme: str, host: str) -> Optional[_Proxy]:
    """The proxy of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`); loopback addresses never have one."""
    address = urllib.request.getproxies().get(scheme)
    if not address or _is_loopback(host) or urllib.request.proxy_bypass(host):
        return None
    parts = urllib.parse.urlsplit(address if "://" in address else f"http://{address}")
    if parts.scheme != "http" or not parts.hostname:
        shown = f"{parts.scheme}://{parts.hostname}"
        raise UsageError(f"the proxy {shown} of the environment cannot be used: it must begin with http://")
    headers = {}
    if parts.username is not None:
        pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        headers["Proxy-Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode("ascii")
    return _Proxy(parts.hostname, parts.port or 80, headers)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _is_readable(connected: socket.socket) -> bool:
    try:
        readable, _, _ = select.select([connected], [], [], 0)
    except (OSError, ValueError):
        return True
    return bool(readable)


def _is_unusual(port: int) -> bool:
    return port not in (80, 443)


def _netloc(host: str, port: Optional[int]) -> str:
    name = f"[{host}]" if ":" in host else host
    return name if port is None else f"{name}:{port}"


def _reason(error: BaseException) -> str:
    if isinstance(error, (socket.timeout, TimeoutError)):
        return "no answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
