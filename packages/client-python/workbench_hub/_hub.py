"""The hub, as a client sees it."""

from __future__ import annotations

from typing import Optional

from ._calls import Calls
from ._errors import UsageError
from ._events import EventMethods
from ._fleet import FleetMethods
from ._profile import find_place
from ._progress import Choice
from ._service import ServiceMethods, Tokens
from ._session import Access, CommandAccess, PasswordAccess
from ._storage import Storage
from ._studies import StudyMethods
from ._tasks import TaskMethods
from ._transport import Transport


class Hub(TaskMethods, StudyMethods, EventMethods, FleetMethods, ServiceMethods):
    """A Workbench Hub. Threads share one object.

    Without arguments, address and token are those of the environment (`WB_URL`, `WB_TOKEN`, `WB_CA_FILE`) or of a profile
    (`WB_PROFILE`, or the default one). `user` and `password` open a session at the first request, which is refreshed in silence
    and ended by `close`, or at the end of a `with` block.

    `ca_file` names the certificate of a private authority. `timeout` is the longest wait for an answer, `retry_for` the longest
    time for which requests are repeated while the hub is away, both in seconds. `progress` is a function that gets `Progress`, or
    True or False for a bar on standard error; by default there is one when that is a terminal.
    """

    storage: Storage
    tokens: Tokens

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        token: Optional[str] = None,
        user: Optional[str] = None,
        password: Optional[str] = None,
        profile: Optional[str] = None,
        ca_file: Optional[str] = None,
        timeout: float = 30.0,
        retry_for: float = 60.0,
        progress: Choice = None,
    ) -> None:
        if (user is None) != (password is None):
            raise UsageError("user and password belong together")
        if user is not None and token is not None:
            raise UsageError("give either a token, or user and password")
        place = find_place(url, profile)
        transport = Transport(place.url, ca_file or place.ca_file, timeout)
        if user is not None and password is not None:
            access: Access = PasswordAccess(user, password)
        elif token is None and place.token is None and place.token_command is not None:
            access = CommandAccess(place.token_command)
        else:
            access = Access(token or place.token)
        self._access = access
        self._progress = progress
        self._calls = Calls(transport, access, retry_for)
        self.storage = Storage(self._calls, progress)
        self.tokens = Tokens(self._calls)

    @property
    def url(self) -> str:
        """Address of the hub."""
        return self._calls.transport.url

    def close(self) -> None:
        """Ends the session of a login, and all connections."""
        self._access.close()
        self._calls.transport.close()

    def __enter__(self) -> Hub:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Hub {self.url}>"
