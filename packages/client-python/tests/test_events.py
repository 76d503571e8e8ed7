"""Changes and logs of tasks, from a server that cuts its streams and keeps the end of a log, and from a real hub."""

from __future__ import annotations

import itertools
import json
import unittest
import urllib.parse
from typing import Dict, List
from unittest import mock

from workbench_hub import Event, Hub, HubUnreachable, NotAHub, TooManyAttempts

from .server import Answer, Request, Server, error_answer, json_answer
from .site import OnSite

STREAM = {"Content-Type": "text/event-stream"}


def text_of(kind: str, cursor: str, data: object) -> str:
    return f"id: {cursor}\nevent: {kind}\ndata: {json.dumps(data)}\n\n"


def task(cursor: str, status: str) -> str:
    return text_of("task", cursor, {"id": "t", "status": status})


def stream(*texts: str, cut: bool = False) -> Answer:
    body = "".join(texts).encode()
    return 200, {**STREAM, **({"Content-Length": str(len(body) + 9)} if cut else {})}, body


class Streams(unittest.TestCase):
    def setUp(self) -> None:
        patch = mock.patch("workbench_hub._events.SHORTEST_DELAY_S", 0.01)
        patch.start()
        self.addCleanup(patch.stop)

    def test_a_stream_that_ends_or_is_cut_goes_on_after_its_last_event(self) -> None:
        answers = [
            stream("retry: 2000\n", text_of("hello", "a.1", {"cursor": "a.1"}), task("a.2", "WAITING")),
            stream(": alive\nid: a.7\n\n", "id: a.8\nevent: ta", cut=True),
            error_answer(503, "it restarts"),
            stream(task("a.9", "RUNNING"), text_of("removed", "a.10", {"id": "t", "deleted": True})),
            stream(text_of("reset", "b.1", {"cursor": "b.1"})),
        ]
        with Server(lambda _: answers.pop(0)) as server, Hub(server.url) as hub:
            found = list(itertools.islice(hub.events(status=["RUNNING", "WAITING"], name="gear *"), 5))
            places = [each.headers.get("last-event-id") for each in server.requests]
            self.assertEqual(places, [None, "a.2", "a.7", "a.7", "a.10"])
            self.assertIn("status=RUNNING&status=WAITING&name=gear+%2A", server.requests[0].target)
        running: Dict[str, str] = {"id": "t", "status": "RUNNING"}
        self.assertEqual(found[0], Event("hello", "a.1"))
        self.assertEqual(found[2], Event("task", "a.9", "t", running))  # type: ignore[arg-type]
        self.assertEqual(found[3:], [Event("removed", "a.10", "t", None, True), Event("reset", "b.1")])

    def test_it_begins_where_it_is_told(self) -> None:
        with Server(lambda _: stream(task("a.4", "FAILED"))) as server, Hub(server.url) as hub:
            self.assertEqual(next(hub.events(since="a.3")).cursor, "a.4")
            self.assertEqual(server.requests[0].headers["last-event-id"], "a.3")

    def test_it_waits_while_other_streams_have_its_place(self) -> None:
        status, headers, body = error_answer(429, "ulla has 16 streams of events open")
        refusal = (status, {**headers, "X-Error-Code": "TOO_MANY_STREAMS", "Retry-After": "1"}, body)
        answers: List[Answer] = [stream(task("a.1", "WAITING")), refusal, stream(task("a.2", "RUNNING"))]
        with Server(lambda _: answers.pop(0)) as server, Hub(server.url) as hub:
            found = [event.cursor for event in itertools.islice(hub.events(), 2)]
        self.assertEqual(found, ["a.1", "a.2"])
        with Server(lambda _: refusal) as server, Hub(server.url) as hub:
            with self.assertRaises(TooManyAttempts):
                next(hub.events())

    def test_a_hub_that_stays_away_ends_it(self) -> None:
        answers: List[Answer] = [stream(task("a.1", "WAITING"))]

        def answer(_: Request) -> Answer:
            return answers.pop(0) if answers else error_answer(503, "away")

        with Server(answer) as server, Hub(server.url, retry_for=0.3) as hub:
            events = hub.events()
            next(events)
            with self.assertRaises(Exception) as caught:
                next(events)
            self.assertEqual(getattr(caught.exception, "status", None), 503)
        with self.assertRaises(HubUnreachable):
            next(Hub("http://127.0.0.1:9").events())

    def test_a_server_without_events_is_told_as_one(self) -> None:
        with Server(lambda _: json_answer({})) as server, Hub(server.url) as hub:
            with self.assertRaisesRegex(NotAHub, "does not send events"):
                next(hub.events())


class Logs(unittest.TestCase):
    def test_a_log_of_which_the_hub_keeps_the_end_is_followed(self) -> None:
        text = "".join(f"line {number}\n" for number in range(400))
        # How much was printed at each look, and how much of it the hub has cut off.
        printed = iter([(900, 0), (1700, 800), (1700, 800), (2600, 2000), (len(text), 0)])
        state = {"id": "1", "type": "EXECUTE_BATCH_JOB", "startedDatetime": "2026-11-21T06:53:00.123"}
        looks = [*(["RUNNING"] * 4), "FINISHED"]

        def answer(request: Request) -> Answer:
            if not request.path.endswith("/log"):
                return json_answer({**state, "status": looks.pop(0)})
            end, cut = next(printed)
            asked = urllib.parse.parse_qs(request.target.partition("?")[2]).get("offset")
            if not looks:
                return 200, {}, text.encode()
            if asked is None:
                remark = f"[… {cut} characters before this]\n" if cut > 0 else ""
                return 200, {}, (remark + text[cut:end]).encode()
            start = max(cut, int(asked[0]))
            positions = {"Log-Offset": str(start), "Log-Next-Offset": str(end)}
            return 204 if start == end else 200, positions, text[start:end].encode()

        fast = mock.patch("workbench_hub._log.SHORTEST_DELAY_S", 0.01)
        with fast, Server(answer) as server, Hub(server.url) as hub:
            pieces = list(hub.log("1", follow=True))
        skipped = "\n[some of the output was skipped]\n"
        self.assertEqual(pieces, [text[:900], text[900:1700], skipped + text[2000:2600], text[2600:]])


class OfAHub(OnSite):
    def test_each_change_of_a_task_is_told_and_can_be_told_again(self) -> None:
        name = f"followed {self.id()}"
        events = self.hub.events(name=name)
        hello = next(events)
        self.assertEqual(hello.type, "hello")
        created = self.hub.submit(script=b"1", labels=["node"], name=name)
        self.hub.wait(created)
        self.hub.delete(created)
        told = list(itertools.takewhile(lambda each: each.type != "removed" or each.id != created.id, events))
        states = [each.task["status"] for each in told if each.task is not None]
        self.assertEqual(states, sorted(states, key=["WAITING", "RUNNING", "FINISHED"].index))
        again = next(each for each in self.hub.events(since=hello.cursor, name=name) if each.id == created.id)
        self.assertEqual((again.type, again.deleted), ("removed", True))
