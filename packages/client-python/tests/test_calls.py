"""Retries, tokens, proxies and errors, against a server that answers as each test says."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import threading
import unittest
import urllib.parse
from pathlib import Path
from typing import Callable, Dict, List, Optional
from unittest import mock

import workbench_hub
from workbench_hub import (
    Conflict,
    DiskFull,
    Hub,
    HubError,
    HubUnreachable,
    LostAnswer,
    NotAHub,
    Task,
    Unauthenticated,
    Unavailable,
    UsageError,
    WaitTimeout,
)
from workbench_hub import _scope, _steps
from workbench_hub._errors import CLASS_OF

from .server import BATCH, CREATED, USER, Answer, Request, Server, error_answer, json_answer


class Forks(unittest.TestCase):
    @unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
    def test_processes_that_are_forked_get_their_own_answers(self) -> None:
        def answer(request: Request) -> Answer:
            return json_answer({"id": request.path.rsplit("/", 1)[1], "status": "FINISHED"})

        def own_answers(hub: Hub, mark: str) -> bool:
            names = [f"{mark}-{number}" for number in range(50)]
            return all(hub.task(name)["id"] == name for name in names)

        with Server(answer) as server, Hub(server.url) as hub:
            self.assertEqual(hub.task("first")["id"], "first")
            children = []
            for mark in ("a", "b"):
                child = os.fork()
                if child == 0:
                    is_right = False
                    try:
                        is_right = own_answers(hub, mark)
                    finally:
                        os._exit(0 if is_right else 1)
                children.append(child)
            is_right = own_answers(hub, "parent")
            ends = [os.WEXITSTATUS(os.waitpid(child, 0)[1]) for child in children]
            self.assertEqual((is_right, ends), (True, [0, 0]))


def document(has_key: bool) -> Answer:
    parameters = [{"in": "header", "name": "Idempotency-Key"}] if has_key else []
    return json_answer({"paths": {BATCH: {"post": {"parameters": parameters}}}})


class Retries(unittest.TestCase):
    def test_a_read_is_repeated_when_its_answer_was_lost(self) -> None:
        answers: List[Optional[Answer]] = [USER, None, (200, {"Content-Length": "50"}, b'{"user'), USER]
        with Server(lambda _: answers.pop(0)) as server, Hub(server.url) as hub:
            self.assertEqual(hub.user(), "anna")
            self.assertEqual(hub.user(), "anna")
            self.assertEqual(len(server.requests), 4)

    def test_what_the_hub_warns_of_is_logged_once(self) -> None:
        warned = json_answer({"id": "7"}, 201, Warning='299 - "unknown field: a", 299 - "several kinds"')
        with Server(lambda _: warned) as server, Hub(server.url) as hub:
            with self.assertLogs("workbench_hub", "WARNING") as logs:
                hub.submit(script=b"1")
                hub.submit(script=b"1")
        said = [record.getMessage() for record in logs.records]
        self.assertEqual(said, ["unknown field: a", "several kinds"])

    def test_an_overloaded_hub_is_asked_again_until_the_time_is_up(self) -> None:
        answers = [error_answer(503, "overloaded"), USER]
        with Server(lambda _: answers.pop(0)) as server, Hub(server.url) as hub:
            self.assertEqual(hub.user(), "anna")
        with Server(lambda _: error_answer(503, "overloaded")) as server, Hub(server.url, retry_for=0.5) as hub:
            with self.assertRaisesRegex(Unavailable, "overloaded"):
                hub.user()
            self.assertGreater(len(server.requests), 2)

    def test_the_hub_says_when_it_may_be_asked_again(self) -> None:
        answers = [error_answer(503, "overloaded", Retry_After="1"), USER]
        with Server(lambda _: answers.pop(0)) as server, Hub(server.url) as hub:
            with mock.patch("workbench_hub._scope.Scope.sleep") as sleep:
                self.assertEqual(hub.user(), "anna")
            self.assertGreaterEqual(sleep.call_args.args[0], 1)

    def test_an_address_where_nobody_ever_answered_is_reported_at_once(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{free.getsockname()[1]}"
            with self.assertRaisesRegex(HubUnreachable, "cannot be reached"):
                Hub(url).user()

    def test_a_hub_that_accepts_and_never_answers_is_given_up_in_the_time_for_retries(self) -> None:
        done = threading.Event()
        self.addCleanup(done.set)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        ended = json_answer({"id": "1", "status": "RUNNING"})
        for call in ("user", "wait", "outputs", "get", "events"):
            answers: List[Answer] = [USER, *([ended] if call == "wait" else [])]

            def answer(_: Request) -> Optional[Answer]:
                if answers:
                    return answers.pop(0)
                done.wait()
                return None

            # A try that takes longer than this has not transferred anything all the same.
            long_try = mock.patch("workbench_hub._calls.LONG_TRY_S", 0.05)
            polls = mock.patch("workbench_hub._following.POLL_S", 1)
            with self.subTest(call=call), Server(answer) as server, long_try, polls:
                hub = Hub(server.url, timeout=0.2, retry_for=0.5, progress=False)
                hub.user()
                calls: Dict[str, Callable[[], object]] = {
                    "user": hub.user,
                    "wait": lambda: hub.wait(Task("1", "execute-batch-job")),
                    "outputs": lambda: hub.outputs(Task("1", "execute-batch-job"), "none"),
                    "get": lambda: hub.storage.get("a", Path(folder.name) / "a"),
                    "events": lambda: next(iter(hub.events())),
                }
                with self.assertRaisesRegex(HubUnreachable, "accepts connections and does not answer"):
                    calls[call]()
                self.assertLess(len(server.requests), 8)
                done.set()
            done.clear()

    def test_a_creation_is_repeated_only_by_a_hub_that_knows_its_key(self) -> None:
        for knows in (False, True):
            lost: List[None] = [None]

            def answer(request: Request) -> Optional[Answer]:
                if request.path == "/openapi.json":
                    return document(knows)
                return lost.pop() if lost else CREATED

            with self.subTest(knows=knows), Server(answer) as server, Hub(server.url) as hub:
                if knows:
                    self.assertEqual(hub.submit(script=b"1").id, "1")
                else:
                    with self.assertRaises(LostAnswer) as raised:
                        hub.submit(script=b"1")
                keys = [each.headers["idempotency-key"] for each in server.requests if each.path == BATCH]
                self.assertEqual(len(keys), 2 if knows else 1)
                self.assertEqual(len(set(keys)), 1)
                if not knows:
                    self.assertEqual(raised.exception.key, keys[0])

    def test_a_creation_is_repeated_when_the_hub_refused_it_for_overload(self) -> None:
        answers = [error_answer(503, "overloaded"), CREATED]
        with Server(lambda _: answers.pop(0)) as server, Hub(server.url) as hub:
            self.assertEqual(hub.submit(script=b"1").id, "1")

    def test_a_deletion_and_a_cancel_count_when_their_answer_was_lost(self) -> None:
        gone: List[Optional[Answer]] = [USER, None, error_answer(404, "there is no such task")]
        with Server(lambda _: gone.pop(0)) as server, Hub(server.url) as hub:
            hub.user()
            hub.delete("1")
        ended: List[Optional[Answer]] = [
            USER,
            None,
            error_answer(409, "the task is CANCELED"),
            json_answer({"id": "1", "status": "CANCELED"}),
        ]
        with Server(lambda _: ended.pop(0)) as server, Hub(server.url) as hub:
            hub.user()
            hub.cancel("1")
        with Server(lambda _: error_answer(409, "it runs")) as server, Hub(server.url) as hub:
            self.assertRaises(Conflict, hub.cancel, "1")


class Lists(unittest.TestCase):
    def test_no_more_pages_are_read_than_are_asked_for(self) -> None:
        def answer(request: Request) -> Answer:
            query = urllib.parse.parse_qs(request.target.partition("?")[2])
            size, page = int(query["size"][0]), int(query.get("page", ["0"])[0])
            # A task that was created meanwhile has moved the others on by one.
            first = size * page - (1 if page >= 2 else 0)
            return json_answer({"content": [{"id": each} for each in range(first, first + size)], "last": page == 3})

        for limit, pages in ((1, 1), (2000, 1), (2001, 2), (4000, 2), (6000, 4), (None, 4)):
            with self.subTest(limit=limit), Server(answer) as server, Hub(server.url) as hub:
                found = [each["id"] for each in hub.tasks(limit=limit)]
                self.assertEqual(found, list(range(limit or 7999)))
                self.assertEqual(len(server.requests), pages)

    def test_lists_of_things_that_have_a_name_only_are_read(self) -> None:
        answer = json_answer({"content": [{"name": "site"}, {"name": "other"}], "last": True})
        with Server(lambda _: answer) as server, Hub(server.url) as hub:
            self.assertEqual([each["name"] for each in hub.upstreams()], ["site", "other"])
            self.assertEqual([each["name"] for each in hub.host_recipes()], ["site", "other"])


class Waits(unittest.TestCase):
    def test_a_wait_of_no_time_looks_once(self) -> None:
        answers = [json_answer({"id": "1", "status": each}) for each in ("RUNNING", "FINISHED", "FINISHED")]
        with Server(lambda _: answers.pop(0)) as server, Hub(server.url, progress=False) as hub:
            self.assertRaisesRegex(WaitTimeout, "within 0 s", hub.wait, Task("1"), timeout=0)
            self.assertTrue(hub.wait(Task("1"), timeout=0).ok)
            self.assertTrue(hub.wait(Task("1"), timeout=-1).ok)
            self.assertEqual([each.target.partition("?")[2] for each in server.requests], ["timeout=0"] * 3)


class Steps(unittest.TestCase):
    """Waits in steps, as on Windows."""

    def setUp(self) -> None:
        patch = mock.patch("workbench_hub._scope.STEP_S", 0.01)
        patch.start()
        self.addCleanup(patch.stop)

    def test_an_answer_that_comes_late_is_read(self) -> None:
        released = threading.Event()
        steps: List[float] = []
        has_bytes = _steps._has_bytes

        def step(connected: socket.socket, within_s: float) -> bool:
            steps.append(within_s)
            if len(steps) == 5:
                released.set()
            return has_bytes(connected, within_s)

        def answer(_: Request) -> Answer:
            released.wait(10)
            return USER

        with Server(answer) as server, Hub(server.url) as hub:
            with mock.patch("workbench_hub._steps._has_bytes", step):
                self.assertEqual([hub.user(), hub.user()], ["anna", "anna"])

    def test_a_hub_that_never_answers_is_given_up(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            with Hub(url, timeout=0.2, retry_for=0.3) as hub:
                self.assertRaisesRegex(HubUnreachable, "accepts connections and does not answer", hub.user)

    def test_another_thread_ends_a_wait(self) -> None:
        scope = _scope.Scope()
        asked, released = threading.Event(), threading.Event()

        def answer(_: Request) -> Optional[Answer]:
            asked.set()
            released.wait(10)
            return None

        def end() -> None:
            asked.wait(10)
            # On Windows this need not wake the thread that reads.
            with mock.patch("socket.socket.shutdown"):
                scope.end()

        with Server(answer) as server, Hub(server.url) as hub:
            ending = threading.Thread(target=end)
            ending.start()
            _scope.enter_scope(scope)
            try:
                self.assertRaises(_scope.Ended, hub.user)
                self.assertRaises(_scope.Ended, scope.sleep, 60)
            finally:
                _scope.enter_scope(None)
                released.set()
            ending.join()


class Servers(unittest.TestCase):
    def test_a_server_that_is_no_hub_is_named_as_such(self) -> None:
        html = {"Content-Type": "text/html"}
        for answer in (
            (200, html, b"<html>"),
            (404, html, b"<html>"),
            (302, {"Location": "https://login.example.org"}, b""),
            json_answer({"detail": "Not Found"}, 404),
            (403, html, b"blocked"),
        ):
            with self.subTest(answer=answer), Server(lambda _: answer) as server:
                with self.assertRaisesRegex(NotAHub, "is no Workbench Hub: GET /api/2.0/user was answered with"):
                    Hub(server.url).user()

    def test_a_program_that_speaks_no_http_is_named_as_such(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def greet() -> None:
                peer, _ = listener.accept()
                with peer:
                    peer.recv(1000)
                    peer.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

            thread = threading.Thread(target=greet)
            thread.start()
            with self.assertRaisesRegex(NotAHub, "does not answer by HTTP"):
                Hub(f"http://127.0.0.1:{listener.getsockname()[1]}").user()
            thread.join()

    def test_a_server_without_tls_is_named_as_such(self) -> None:
        with Server(lambda _: USER) as server:
            with self.assertRaisesRegex(NotAHub, "begins with http://"):
                Hub(server.url.replace("http", "https")).user()

    def test_a_proxy_that_answers_for_a_hub_that_restarts_is_asked_again(self) -> None:
        answers = [USER, (502, {"Content-Type": "text/html"}, b"<html>"), USER]
        with Server(lambda _: answers.pop(0)) as server, Hub(server.url) as hub:
            hub.user()
            self.assertEqual(hub.user(), "anna")

    def test_requests_go_by_the_proxy_of_the_environment(self) -> None:
        with Server(lambda _: USER) as proxy:
            address = proxy.url.replace("http://", "http://anna:a%40b@")
            with mock.patch.dict(os.environ, {"http_proxy": address, "no_proxy": "near.example.org"}):
                self.assertEqual(Hub("http://hub.example.org:8080/hubs/1/").user(), "anna")
                self.assertRaises(HubUnreachable, Hub("http://127.0.0.1:1").user)
            request = proxy.requests[0]
            self.assertEqual(request.target, "http://hub.example.org:8080/hubs/1/api/2.0/user")
            self.assertEqual(request.headers["host"], "hub.example.org:8080")
            self.assertEqual(request.headers["proxy-authorization"], "Basic YW5uYTphQGI=")
            self.assertEqual(len(proxy.requests), 1)

    def test_addresses_that_are_none_are_refused(self) -> None:
        for url in ("hub:8080", "ftp://hub", "http://", "http://anna:secret@hub", "http://hub/?a=1", "http://hub:x"):
            with self.subTest(url=url), self.assertRaises(UsageError) as raised:
                Hub(url)
            self.assertNotIn("secret", str(raised.exception))


class Sessions(unittest.TestCase):
    def test_a_session_is_opened_refreshed_opened_again_and_ended(self) -> None:
        valid: Dict[str, str] = {}
        logins: List[Dict[str, str]] = []

        def answer(request: Request) -> Answer:
            cookie = request.headers.get("cookie")
            if request.path == "/api/2.0/auth/login":
                logins.append(json.loads(request.body))
                valid.update(token=f"login{len(logins)}", cookie=f"refreshToken=c{len(logins)}")
            elif request.path == "/api/2.0/auth/refresh":
                if cookie != valid["cookie"]:
                    return error_answer(401, "the session has ended")
                valid.update(token=valid["token"] + "+", cookie=valid["cookie"] + "+")
            elif request.path == "/api/2.0/auth/logout":
                return (200, {}, b"") if cookie == valid["cookie"] else error_answer(401, "no session")
            else:
                is_valid = request.headers.get("authorization") == f"Bearer {valid.get('token')}"
                return USER if is_valid else error_answer(401, "expired")
            return json_answer({"accessToken": valid["token"]}, Set_Cookie=valid["cookie"] + "; HttpOnly")

        with Server(answer) as server:
            hub = Hub(server.url, user="anna", password="secret")
            self.assertEqual(hub.user(), "anna")
            valid["token"] = "expired"
            threads = [threading.Thread(target=hub.user) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(valid["token"], "expired+")
            valid.update(token="ended", cookie="ended")
            self.assertEqual(hub.user(), "anna")
            hub.close()
            self.assertEqual(logins, [{"username": "anna", "password": "secret"}] * 2)
            self.assertEqual(server.requests[-1].path, "/api/2.0/auth/logout")

    def test_a_wrong_password_and_a_rejected_token_are_reported(self) -> None:
        with Server(lambda _: error_answer(401, "wrong")) as server:
            self.assertRaises(Unauthenticated, Hub(server.url, user="anna", password="x").user)
            self.assertRaises(Unauthenticated, Hub(server.url, token="x").user)


class Places(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "profiles.json"
        clean = {name: text for name, text in os.environ.items() if not name.startswith("WB_")}
        patch = mock.patch.dict(os.environ, {**clean, "WB_PROFILES": str(self.file)}, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def write(self, value: object, mode: int = 0o600) -> None:
        self.file.write_text(json.dumps(value))
        self.file.chmod(mode)

    def token_at(self, hub: Hub) -> Optional[str]:
        return hub._access.token()

    def test_the_environment_names_hub_and_token(self) -> None:
        os.environ.update(WB_URL="http://one:1", WB_TOKEN="t1")
        self.assertEqual((Hub().url, self.token_at(Hub())), ("http://one:1", "t1"))
        self.assertEqual(self.token_at(Hub("http://one:1")), "t1")
        self.assertEqual(self.token_at(Hub("http://one:1", token="t2")), "t2")

    def test_the_token_of_the_environment_goes_to_no_other_hub(self) -> None:
        os.environ.update(WB_URL="http://one:1", WB_TOKEN="t1")
        self.assertIsNone(self.token_at(Hub("http://two:1")))
        del os.environ["WB_URL"]
        self.assertEqual(self.token_at(Hub("http://two:1")), "t1")

    def test_profiles_name_hubs(self) -> None:
        profiles = {"a": {"url": "http://a", "token": "ta"}, "b": {"url": "http://b"}}
        self.write({"default": "a", "profiles": profiles})
        self.assertEqual((Hub().url, self.token_at(Hub())), ("http://a", "ta"))
        self.assertEqual((Hub(profile="b").url, self.token_at(Hub(profile="b"))), ("http://b", None))
        os.environ["WB_PROFILE"] = "b"
        self.assertEqual(Hub().url, "http://b")

    def test_profiles_that_cannot_be_used_are_refused(self) -> None:
        self.assertRaisesRegex(UsageError, "no hub is named", Hub)
        for value, reason in (
            ([], "must be an object"),
            ({"profiles": {"a": {}}}, 'no "default"'),
            ({"default": "a", "profiles": {"a": {}}}, "has no url"),
            ({"default": "a", "profiles": {"a": {"url": 1}}}, "must be a text"),
            ({"default": "b", "profiles": {"a": {}}}, "has no profile b"),
        ):
            with self.subTest(value=value):
                self.write(value)
                self.assertRaisesRegex(UsageError, reason, Hub)
        self.file.write_text("{")
        self.assertRaisesRegex(UsageError, "is not JSON", Hub)

    @unittest.skipIf(os.name == "nt", "Windows has no such modes")
    def test_a_profile_with_a_token_that_others_can_read_is_refused(self) -> None:
        self.write({"default": "a", "profiles": {"a": {"url": "http://a", "token": "t"}}}, 0o644)
        self.assertRaisesRegex(UsageError, "chmod 600", Hub)


class Errors(unittest.TestCase):
    def test_a_refusal_has_what_the_hub_said(self) -> None:
        answer = error_answer(507, "the disk is full", X_Request_Id="r1")
        with Server(lambda _: answer) as server, self.assertRaises(DiskFull) as raised:
            Hub(server.url).user()
        error = raised.exception
        self.assertEqual((error.status, error.message, error.request_id), (507, "the disk is full", "r1"))

    def test_an_unexpected_status_is_a_plain_hub_error(self) -> None:
        with Server(lambda _: error_answer(418, "teapot")) as server, self.assertRaises(HubError) as raised:
            Hub(server.url).user()
        self.assertIs(type(raised.exception), HubError)

    def test_each_status_has_one_class_which_is_exported(self) -> None:
        for kind in CLASS_OF.values():
            self.assertIs(getattr(workbench_hub, kind.__name__), kind)
            self.assertTrue(kind.codes)

    def test_each_code_of_the_hub_has_a_class(self) -> None:
        given = os.environ.get("WB_TEST_CODES")
        if given is None:
            self.skipTest("the codes of the hub are given by the scenario")
        codes: Dict[str, int] = json.loads(given)
        known = {code: status for status, kind in CLASS_OF.items() for code in kind.codes}
        self.assertEqual({code: known.get(code) for code in codes}, codes)


class TokensOfACommand(unittest.TestCase):
    """The profile of a sign-on, whose tokens `wb token` prints."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def profile(self, url: str) -> mock._patch_dict:
        path = self.folder / "profiles.json"
        site = {"url": url, "token": "old", "signOn": {"issuer": "https://sso.example"}}
        path.write_text(json.dumps({"default": "site", "profiles": {"site": site}}))
        path.chmod(0o600)
        settings = {"WB_PROFILES": str(path), "WB_URL": "", "WB_TOKEN": "", "WB_PROFILE": "", "PATH": str(self.folder)}
        return mock.patch.dict(os.environ, settings)

    def command(self, script: str) -> None:
        """Makes `wb` a program in Python, as npm makes it one of Node.js: by a shell script or a batch file."""
        program = self.folder / "wb.py"
        program.write_text(f"import pathlib, sys\n{script}\n", encoding="utf-8")
        call = f'"{sys.executable}" -X utf8 "{program}"'
        if os.name == "nt":
            (self.folder / "wb.cmd").write_text(f"@{call} %*\n")
        else:
            (self.folder / "wb").write_text(f'#!/bin/sh\nexec {call} "$@"\n')
            (self.folder / "wb").chmod(0o700)

    def test_a_token_is_asked_for_once_and_again_when_the_hub_rejects_it(self) -> None:
        self.command(
            f"calls = pathlib.Path({str(self.folder / 'calls')!r})\n"
            "before = calls.read_text() if calls.exists() else ''\n"
            "calls.write_text(before + ' '.join(sys.argv[1:]) + '\\n')\n"
            "print(f'token-{before.count(chr(10)) + 1}')"
        )
        seen: List[Optional[str]] = []

        def answer(request: Request) -> Answer:
            seen.append(request.headers.get("authorization"))
            return error_answer(401, "expired") if len(seen) == 2 else USER

        with Server(answer) as server, self.profile(server.url), Hub() as hub:
            self.assertEqual([hub.user(), hub.user()], ["anna", "anna"])
        self.assertEqual(seen, ["Bearer token-1", "Bearer token-1", "Bearer token-2"])
        self.assertEqual((self.folder / "calls").read_text(), "token --profile site\n" * 2)

    def test_a_command_that_fails_or_is_missing_is_told(self) -> None:
        with self.profile("http://127.0.0.1:9"):
            with self.assertRaisesRegex(UsageError, "there is no wb"):
                Hub().user()
            self.command("sys.exit('the sign-on has ended – Größe')")
            words = "`wb token --profile site` gave no token: the sign-on has ended – Größe"
            with self.assertRaisesRegex(UsageError, words):
                Hub().user()
