"""Tokens of requests: none, a given one, or those of a session that a login opens and refreshes continue."""

from __future__ import annotations

import http.cookies
import json
import shutil
import subprocess
import threading
from typing import TYPE_CHECKING, Optional, Sequence

from ._errors import HubError, NotAHub, Unauthenticated, UsageError

if TYPE_CHECKING:
    from ._calls import Calls
    from ._response import Response

LOGIN = "/api/2.0/auth/login"
REFRESH = "/api/2.0/auth/refresh"
LOGOUT = "/api/2.0/auth/logout"
COOKIE = "refreshToken"
COMMAND_TIMEOUT_S = 120


class Access:
    """A hub without login, or a token that somebody else renews."""

    def __init__(self, token: Optional[str] = None) -> None:
        self._token = token

    def attach(self, calls: Calls) -> None:
        """Receives the calls by which a session renews itself."""

    def token(self) -> Optional[str]:
        """The token of the next request."""
        return self._token

    def renew(self, rejected: str) -> bool:
        """Called when the hub rejected a token. True when there is another one."""
        return False

    def close(self) -> None:
        """Ends what this access has begun."""


class CommandAccess(Access):
    """Tokens of the company's sign-on, which a command prints and renews. Threads share one."""

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__()
        self._command = list(command)
        self._lock = threading.Lock()

    def token(self) -> Optional[str]:
        with self._lock:
            if self._token is None:
                self._token = self._printed()
            return self._token

    def renew(self, rejected: str) -> bool:
        with self._lock:
            if self._token == rejected:
                self._token = self._printed()
            return self._token != rejected

    def _printed(self) -> str:
        text = " ".join(self._command)
        name, *words = self._command
        # On Windows it is a batch file (wb.cmd), which is found with its ending only.
        program = shutil.which(name)
        if program is None:
            raise UsageError(f"there is no {name}, whose `{text}` gives tokens of the sign-on")
        try:
            done = subprocess.run(
                [program, *words],
                capture_output=True,
                # The encoding of wb, which need not be that of this system.
                encoding="utf-8",
                errors="replace",
                timeout=COMMAND_TIMEOUT_S,
                check=False,
            )
        except OSError as error:
            raise UsageError(f"`{text}` cannot be started: {error}") from error
        except subprocess.TimeoutExpired as error:
            raise UsageError(f"`{text}` gave no token within {COMMAND_TIMEOUT_S} s") from error
        if done.returncode != 0:
            raise UsageError(f"`{text}` gave no token: {done.stderr.strip()}")
        return done.stdout.strip()


class PasswordAccess(Access):
    """Logs in at the first request, refreshes in silence, and logs in again when the session has ended.

    Threads share one session: the first that finds its token rejected renews it, the others wait for that.
    """

    def __init__(self, user: str, password: str) -> None:
        super().__init__()
        self._user = user
        self._password = password
        self._cookie: Optional[str] = None
        self._lock = threading.Lock()
        self._calls: Optional[Calls] = None

    def attach(self, calls: Calls) -> None:
        self._calls = calls

    def token(self) -> Optional[str]:
        with self._lock:
            if self._token is None:
                self._log_in()
            return self._token

    def renew(self, rejected: str) -> bool:
        with self._lock:
            if self._token == rejected and not self._refresh():
                self._log_in()
            return True

    def close(self) -> None:
        with self._lock:
            if self._calls is None or self._cookie is None:
                return
            headers = {"Cookie": f"{COOKIE}={self._cookie}"}
            self._token = self._cookie = None
            try:
                self._calls.done("GET", LOGOUT, headers=headers, has_token=False)
            except (HubError, ConnectionError):
                # The session ends by itself.
                pass

    def _log_in(self) -> None:
        assert self._calls is not None
        body = json.dumps({"username": self._user, "password": self._password}).encode()
        headers = {"Content-Type": "application/json"}
        # A repeated login opens another session, and the first one ends unused.
        self._take(
            self._calls.open(
                "POST", LOGIN, body=body, headers=headers, has_token=False, is_repeatable=lambda: True
            )
        )

    def _refresh(self) -> bool:
        """False when the session has ended. After a lost answer, the hub gives the same cookie again for some seconds."""
        assert self._calls is not None
        if self._cookie is None:
            return False
        headers = {"Cookie": f"{COOKIE}={self._cookie}"}
        try:
            self._take(self._calls.open("GET", REFRESH, headers=headers, has_token=False))
        except Unauthenticated:
            return False
        return True

    def _take(self, response: Response) -> None:
        try:
            token = json.loads(response.read())["accessToken"]
        except (ValueError, KeyError, TypeError) as error:
            raise NotAHub("the server answered a login without an access token; it is no Workbench Hub") from error
        self._token = str(token)
        for text in response.headers("Set-Cookie"):
            cookies: http.cookies.SimpleCookie[str] = http.cookies.SimpleCookie()
            cookies.load(text)
            if COOKIE in cookies:
                self._cookie = cookies[COOKIE].value
