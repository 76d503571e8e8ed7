"""Changes of tasks as they happen, over restarts of the hub."""

from __future__ import annotations

import codecs
import json
from typing import TYPE_CHECKING, Any, Dict, Iterator, NamedTuple, Optional, Sequence, Tuple, Union, cast

from ._calls import Calls, Query
from ._errors import NotAHub, TooManyAttempts
from ._response import Response
from ._scope import Broken, current_scope

if TYPE_CHECKING:
    from . import schemas

PATH = "/api/x/events"
# A stream without a comment for this long is dead; the hub sends one every 15 seconds.
SILENCE_S = 45
SHORTEST_DELAY_S = 0.2
LONGEST_DELAY_S = 10.0


class Event(NamedTuple):
    """What happened to a task, and the place after it.

    `type` is `task`: it was created or has changed; `removed`: it was deleted, or no longer matches; `hello`: the stream begins
    here; `reset`: changes before this place cannot be told, so list the tasks again.
    """

    type: str
    cursor: str
    id: Optional[str] = None
    # As it is, for the type `task`.
    task: Optional[schemas.TaskItem] = None
    # For the type `removed`.
    deleted: bool = False


class EventMethods:
    """The part of `Hub` that follows tasks."""

    _calls: Calls

    def events(
        self,
        *,
        since: Optional[str] = None,
        status: Union[str, Sequence[str]] = (),
        name: Optional[str] = None,
        creator: Optional[str] = None,
        note: Optional[str] = None,
        priority: Optional[str] = None,
        type: Optional[str] = None,
        id: Optional[str] = None,
        instance: Union[str, Sequence[str]] = (),
        study: Optional[str] = None,
    ) -> Iterator[Event]:
        """Every change of tasks that match, at least once and in order, as it happens, without an end.

        `study` is the id of a study, or `none` for tasks that no study created. `since` is the `cursor` of an earlier event, to continue there; the present by default. The stream goes on after a
        restart of the hub, and waits while other streams of the user have taken its place; `HubUnreachable` ends it when the hub is
        away for longer than `retry_for`.
        """
        query: Query = {
            "status": [status] if isinstance(status, str) else list(status),
            "instance": [instance] if isinstance(instance, str) else list(instance),
            **{"name": name, "creator": creator, "note": note, "priority": priority, "type": type, "id": id},
            "study": study,
        }
        return _follow(self._calls, query, since)


def _follow(calls: Calls, query: Query, since: Optional[str]) -> Iterator[Event]:
    cursor = since
    delay = SHORTEST_DELAY_S
    has_opened = False
    while True:
        place = {} if cursor is None else {"Last-Event-ID": cursor}
        headers = {"Accept": "text/event-stream", **place}
        try:
            response = calls.open("GET", PATH, query=query, headers=headers, silence_s=SILENCE_S)
        except TooManyAttempts as refusal:
            # Other streams of the user have taken its place.
            if not has_opened:
                raise
            current_scope().sleep(max(delay, refusal.retry_after or 0))
            continue
        has_opened = True
        try:
            if not (response.header("Content-Type") or "").startswith("text/event-stream"):
                raise NotAHub(f"{calls.transport.url} does not send events: is there a proxy in between?")
            for cursor, event in _events_of(response, cursor):
                delay = SHORTEST_DELAY_S
                if event is not None:
                    yield event
        except Broken:
            # Cut, or silent for too long.
            pass
        finally:
            response.close()
        current_scope().sleep(delay)
        delay = min(2 * delay, LONGEST_DELAY_S)


def _events_of(response: Response, cursor: Optional[str]) -> Iterator[Tuple[Optional[str], Optional[Event]]]:
    """Each event of a stream with the place after it; comments move the place alone (WHATWG HTML, section 9.2)."""
    fields: Dict[str, str] = {}
    for line in _lines_of(response):
        if line:
            name, _, value = line.partition(":")
            fields[name] = value[1:] if value.startswith(" ") else value
            continue
        cursor = fields.get("id", cursor)
        yield cursor, _event_of(fields, cursor or "")
        fields = {}


def _event_of(fields: Dict[str, str], cursor: str) -> Optional[Event]:
    if "data" not in fields:
        return None
    data: Dict[str, Any] = json.loads(fields["data"])
    kind = fields.get("event", "")
    if kind == "task":
        return Event(kind, cursor, data["id"], cast("schemas.TaskItem", data))
    if kind == "removed":
        return Event(kind, cursor, data["id"], None, data["deleted"] is True)
    return Event(kind, data.get("cursor", cursor)) if kind in ("hello", "reset") else None


def _lines_of(response: Response) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest = ""
    while True:
        chunk = response.read_available()
        if not chunk:
            return
        *lines, rest = (rest + decoder.decode(chunk)).split("\n")
        yield from lines
