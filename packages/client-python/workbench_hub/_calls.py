"""Requests to the REST interface: tokens, retries, and errors of the hub as exceptions."""

from __future__ import annotations

import json
import random
import re
import time
import urllib.parse
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple, TypeVar, Union, cast

from ._errors import HubError, HubUnreachable, LostAnswer, NotAHub, refusal
from ._reasons import LOGGER
from ._response import Body, Response
from ._scope import Broken, NotSent, current_scope, last_move
from ._session import Access
from ._transport import Transport

Result = TypeVar("Result")
Query = Mapping[str, Union[str, int, bool, None, Sequence[str]]]

MAX_ERROR_BYTES = 64 * 1024
LONGEST_DELAY_S = 5.0
LONG_TRY_S = 10.0
SHORTEST_TRY_S = 1.0
MAX_LONG_TRIES = 20
TRIES_OF_A_STRANGER = 2
ITEMS_OF_A_PAGE = 2000
UNKNOWN = "it is unknown whether the hub has done what was asked"
ERROR_FIELDS = ("status", "error", "message", "path")
# Answers that a proxy gives while the hub behind it restarts.
PROXY_STATUSES = (502, 503, 504)
# The text of one value of the header `Warning`.
WARNING = re.compile(r'299 - "([^"]*)"')
USER_AGENT = "workbench-hub-python"


class Calls:
    """Calls of one hub, by any number of threads.

    A request that is safe to repeat is sent again after a lost connection and after a 503, with growing delays, until
    `retry_for` seconds have passed since the first failure, or since a hub fell silent that accepts connections. Before the hub has answered once, a connection that cannot be
    made is reported at once: the address may be wrong.
    """

    def __init__(self, transport: Transport, access: Access, retry_for: float) -> None:
        self.transport = transport
        self._access = access
        self._retry_for = retry_for
        self._has_answered = False
        self._warned: Set[str] = set()
        access.attach(self)

    def open(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Query] = None,
        body: Union[bytes, Body, None] = None,
        headers: Optional[Mapping[str, str]] = None,
        poll_s: float = 0,
        is_repeatable: Optional[Callable[[], bool]] = None,
        has_token: bool = True,
        silence_s: Optional[float] = None,
        attempts: Optional[Attempts] = None,
    ) -> Response:
        """The response of a request that succeeded; the caller reads or closes it.

        `is_repeatable` is asked after an answer was lost; without it, all methods but POST are. `poll_s` is the time for
        which the hub may hold back its response, which the query names as `timeout`; after a silence, it is asked to hold back
        nothing, so that one that hangs is told from one that waits. `silence_s` is the longest time between parts of the body.
        `attempts` are those of a reader that repeats the request itself when its body breaks (`again`).
        """
        may_repeat = is_repeatable or (lambda: method != "POST")
        attempt = attempts or Attempts(self._retry_for)
        has_renewed = False
        failure: Exception
        while True:
            token = self._access.token() if has_token else None
            all_headers = {"User-Agent": USER_AGENT, "Accept": "*/*", **(headers or {})}
            if token is not None:
                all_headers["Authorization"] = f"Bearer {token}"
            try:
                held_s = 0 if attempt.was_silent and "timeout" in (query or {}) else poll_s
                asked: Optional[Query] = {**(query or {}), "timeout": 0} if held_s != poll_s else query
                target = path + _query_text(asked)
                response = self.transport.send(
                    method, target, all_headers, body, held_s, attempt.left_s, silence_s
                )
                if response.status < 300 or response.status == 304:
                    self._has_answered = True
                    return response
                failure = self._failure_of(response, method, path)
            except NotSent:
                if not self._has_answered or not attempt.next():
                    raise
                continue
            except Broken as error:
                failure = error
            if isinstance(failure, Broken):
                if not may_repeat():
                    raise LostAnswer(f"{failure}; {UNKNOWN}") from failure
                if not self._may_go_on(attempt) or not attempt.next(silent_s=failure.silent_s):
                    raise HubUnreachable(str(failure)) from failure
                attempt.was_lost = True
                continue
            if isinstance(failure, HubError):
                self._has_answered = True
                if failure.status == 401 and token is not None and not has_renewed:
                    has_renewed = self._access.renew(token)
                    if has_renewed:
                        continue
                if attempt.was_lost and _was_done_before(method, path, failure):
                    return response
                if failure.status == 503 and attempt.next(failure.retry_after):
                    continue
            raise failure

    def json(self, method: str, path: str, *, document: object = None, **options: Any) -> Any:
        """The JSON value that the hub responds with. `document` is sent as JSON."""
        if document is not None:
            options["body"] = json.dumps(document).encode()
            options["headers"] = {"Content-Type": "application/json", **options.get("headers", {})}
        response, body = self._whole(method, path, options)
        self._tell_warnings(response)
        try:
            return json.loads(body)
        except ValueError as error:
            raise self._no_hub(response, method, path) from error

    def text(self, method: str, path: str, **options: Any) -> str:
        """The text that the hub responds with; empty for a response without a body."""
        return self._whole(method, path, options)[1].decode("utf-8", "replace")

    def text_from(self, path: str, position: int) -> Tuple[str, Optional[int]]:
        """The text of a log from a position on, and where it begins, if the hub tells that (contract 12.17)."""
        response, body = self._whole("GET", path, {"query": {"offset": position}})
        start = response.header("Log-Offset") or ""
        return body.decode("utf-8", "replace"), int(start) if start.isdigit() else None

    def done(self, method: str, path: str, **options: Any) -> None:
        """Makes a request whose response has no body."""
        self._whole(method, path, options)

    def again(self, read: Callable[[Attempts], Result]) -> Result:
        """Runs `read`, which may be repeated, until no connection breaks under it. Its requests get these attempts."""
        attempt = Attempts(self._retry_for)
        while True:
            try:
                return read(attempt)
            except Broken as error:
                if not attempt.next(silent_s=error.silent_s):
                    raise

    def pages(
        self, path: str, query: Query, limit: Optional[int] = None, *, key: str = "id"
    ) -> List[Dict[str, Any]]:
        """The items of all pages of a list, at most `limit` of them. An item that moved to the next page meanwhile, as its `key`
        tells, is given once."""
        found: Dict[object, Dict[str, Any]] = {}
        size = ITEMS_OF_A_PAGE if limit is None else min(ITEMS_OF_A_PAGE, limit)
        number = 0
        while True:
            page = self.json("GET", path, query={**query, "page": number, "size": size})
            for item in page["content"]:
                found.setdefault(item[key], item)
            if page["last"] or (limit is not None and len(found) >= limit):
                return list(found.values())[:limit]
            number += 1

    def _whole(self, method: str, path: str, options: Dict[str, Any]) -> Tuple[Response, bytes]:
        may_repeat = options.get("is_repeatable") or (lambda: method != "POST")

        def read(attempts: Attempts) -> Tuple[Response, bytes]:
            response = self.open(method, path, **options, attempts=attempts)
            try:
                return response, response.read()
            except Broken as error:
                if may_repeat():
                    raise
                raise LostAnswer(f"{error}; {UNKNOWN}") from error

        return self.again(read)

    def _tell_warnings(self, response: Response) -> None:
        """Logs what the hub warns of, such as a job that fits instances of different kinds; the same once only."""
        for text in WARNING.findall(response.header("Warning") or ""):
            if text not in self._warned:
                self._warned.add(text)
                LOGGER.warning("%s", text)

    def _may_go_on(self, attempt: Attempts) -> bool:
        """Whether a server that breaks connections may be a hub: one that never answered is asked a few times only."""
        return self._has_answered or attempt.count < TRIES_OF_A_STRANGER

    def _failure_of(self, response: Response, method: str, path: str) -> Exception:
        body = _json_or_none(response.read(MAX_ERROR_BYTES))
        if isinstance(body, dict) and all(name in body for name in ERROR_FIELDS):
            retry_after = response.header("Retry-After") or ""
            seconds = float(retry_after) if retry_after.isdigit() else None
            return refusal(cast(Dict[str, object], body), response.header("X-Request-Id"), seconds)
        if response.status in PROXY_STATUSES:
            return Broken(f"a proxy answered {response.status} in place of {self.transport.url}")
        return self._no_hub(response, method, path)

    def _no_hub(self, response: Response, method: str, path: str) -> NotAHub:
        kind = response.header("Content-Type") or "no content"
        place = response.header("Location")
        leads = f", which leads to {place}" if place else ""
        return NotAHub(
            f"{self.transport.url} is no Workbench Hub: {method} {path} was answered with {response.status} "
            f"and {kind}{leads}; check the address, and proxies in between"
        )


class Attempts:
    """Delays between the tries of one call: growing, with chance, within a budget of seconds.

    A try that moved parts of a body for long has transferred much: the budget begins again after it, at most `MAX_LONG_TRIES`
    times. A try in which the hub was silent counts with its silence.
    """

    def __init__(self, budget_s: float) -> None:
        self._budget_s = budget_s
        self._failing_since: Optional[float] = None
        self._began = time.monotonic()
        self._long_tries = 0
        self.count = 0
        self.was_lost = False
        self.was_silent = False

    @property
    def left_s(self) -> Optional[float]:
        """Longest time for the next try; `None` for the first one."""
        if self._failing_since is None:
            return None
        return max(SHORTEST_TRY_S, self._failing_since + self._budget_s - time.monotonic())

    def next(self, least_s: Optional[float] = None, silent_s: float = 0) -> bool:
        """Waits until the next try is due. False, at once, when there is none. The last one ended with a silence of `silent_s`."""
        now = time.monotonic()
        self.was_silent = silent_s > 0
        if last_move() - self._began > LONG_TRY_S and self._long_tries < MAX_LONG_TRIES:
            self._failing_since = None
            self._long_tries += 1
            self.count = 0
        if self._failing_since is None:
            self._failing_since = now - silent_s
        delay = min(LONGEST_DELAY_S, 0.1 * 2.0**self.count) * random.uniform(0.5, 1)
        delay = max(delay, least_s or 0)
        if now + delay > self._failing_since + self._budget_s:
            return False
        self.count += 1
        current_scope().sleep(delay)
        self._began = time.monotonic()
        return True


def _was_done_before(method: str, path: str, failure: HubError) -> bool:
    """Whether a repeated deletion finds that an earlier try, whose answer was lost, has succeeded."""
    return method == "DELETE" and failure.status == 404 and not path.endswith("/cancel")


def _query_text(query: Optional[Query]) -> str:
    pairs: List[Tuple[str, str]] = []
    for name, value in (query or {}).items():
        if value is None:
            continue
        if isinstance(value, bool):
            pairs.append((name, "true" if value else "false"))
        elif isinstance(value, (str, int)):
            pairs.append((name, str(value)))
        else:
            pairs.extend((name, each) for each in value)
    return "?" + urllib.parse.urlencode(pairs) if pairs else ""


def _json_or_none(text: bytes) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def quoted(name: str) -> str:
    """A name as one part of a path."""
    return urllib.parse.quote(name, safe="")
