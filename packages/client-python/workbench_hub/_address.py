"""Where a hub is: its address, the proxy that leads there, and the authorities that vouch for it."""

from __future__ import annotations

import base64
import ipaddress
import socket
import ssl
import urllib.parse
import urllib.request
from typing import Dict, NamedTuple, Optional

from ._errors import UsageError


class Proxy(NamedTuple):
    host: str
    port: int
    headers: Dict[str, str]


def parts_of(url: str) -> urllib.parse.SplitResult:
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


def context_of(ca_file: Optional[str]) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"ca_file {ca_file} cannot be read as certificates: {reason_of(error)}") from error


def proxy_of(scheme: str, host: str) -> Optional[Proxy]:
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
    return Proxy(parts.hostname, parts.port or 80, headers)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def netloc(host: str, port: Optional[int]) -> str:
    name = f"[{host}]" if ":" in host else host
    return name if port is None else f"{name}:{port}"


def reason_of(error: BaseException) -> str:
    if isinstance(error, (socket.timeout, TimeoutError)):
        return "no answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
