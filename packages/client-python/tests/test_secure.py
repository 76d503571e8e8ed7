"""A hub with login, roles, and the certificate of a private authority; its access tokens are valid for one second."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import threading
import unittest
from pathlib import Path
from typing import List
from unittest import mock

from workbench_hub import Forbidden, Hub, Locked, TooLarge, Unauthenticated, UsageError, WaitTimeout

from .site import PASSWORD, eventually, secure_hub, setting


class Steps(unittest.TestCase):
    """Reads in steps, as on Windows, of TLS: what has arrived may lie decrypted already, and the socket be empty."""

    def test_long_answers_are_read(self) -> None:
        with secure_hub("anna") as hub:
            path = "/openapi.json"
            expected = hub._calls.text("GET", path)
            with mock.patch("workbench_hub._scope.STEP_S", 0.01):
                self.assertEqual([hub._calls.text("GET", path) for _ in range(3)], [expected] * 3)
        self.assertGreater(len(expected), 100_000)


class Tunnel:
    """A proxy for TLS that connects to one port of loopback, whatever host it is asked for."""

    def __init__(self, port: int) -> None:
        self.asked: List[str] = []
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Tunnel:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += client.recv(1)
                self.asked.append(head.decode().rsplit(" HTTP/", 1)[0])
                hub = socket.create_connection(("127.0.0.1", self._port))
                client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                for source, sink in ((client, hub), (hub, client)):
                    self._threads.append(threading.Thread(target=self._copy, args=(source, sink)))
                    self._threads[-1].start()

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        with source, contextlib.suppress(OSError):
            for piece in iter(lambda: source.recv(65536), b""):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)


class Secure(unittest.TestCase):
    def test_a_session_outlives_its_tokens_and_ends_with_the_block(self) -> None:
        with secure_hub("anna") as hub:
            self.assertEqual(hub.user(), "anna")
            first = hub._access._token
            eventually(lambda: hub.user() == "anna" and hub._access._token != first)
            second = hub._access._token
            cookie = hub._access._cookie  # type: ignore[attr-defined]
            self.assertTrue(cookie)
        after = Hub(hub.url, token=second, ca_file=setting("WB_TEST_CA_FILE"))
        self.assertRaises(Unauthenticated, after.user)

    def test_a_wait_outlives_the_token_that_began_it(self) -> None:
        with secure_hub("anna") as hub:
            task = hub.submit(script=b"1")
            first = hub._access._token
            self.assertRaises(WaitTimeout, hub.wait, task, timeout=4)
            self.assertEqual(hub.task(task)["creator"], "anna")
            self.assertNotEqual(hub._access._token, first)
            hub.cancel(task)

    def test_personal_tokens_are_created_used_listed_and_revoked(self) -> None:
        ca_file = setting("WB_TEST_CA_FILE")
        with secure_hub("anna") as hub:
            created = hub.tokens.create("nightly", expires_in_days=1, role="VIEWER")
            scripted = Hub(hub.url, token=created["token"], ca_file=ca_file)
            self.assertEqual(scripted.user(), "anna")
            self.assertRaises(Forbidden, scripted.submit, script=b"1")
            self.assertEqual([each["name"] for each in hub.tokens.list()], ["nightly"])
            hub.tokens.revoke(created["id"])
            self.assertRaises(Unauthenticated, scripted.user)

    def test_wrong_passwords_and_unknown_authorities_are_refused(self) -> None:
        url, ca_file = setting("WB_TEST_SECURE_URL"), setting("WB_TEST_CA_FILE")
        self.assertRaises(Unauthenticated, Hub(url, user="anna", password="x" * 8, ca_file=ca_file).user)
        with self.assertRaisesRegex(UsageError, "is not trusted.*ca_file"):
            Hub(url, user="anna", password=PASSWORD).user()
        with self.assertRaisesRegex(UsageError, "cannot be read"):
            Hub(url, ca_file=ca_file + ".none")

    def test_an_upload_that_is_too_large_is_refused_while_it_is_sent(self) -> None:
        with tempfile.TemporaryDirectory() as folder, secure_hub("anna") as hub:
            path = Path(folder) / "large.bin"
            with path.open("wb") as file:
                file.truncate(64 * 2**20)
            self.assertRaises(TooLarge, hub.storage.put, path)
            self.assertFalse(hub.storage.exists("large.bin"))

    def test_requests_go_through_the_proxy_of_the_environment(self) -> None:
        port = setting("WB_TEST_SECURE_URL").rsplit(":", 1)[1]
        with Tunnel(int(port)) as tunnel, mock.patch.dict(os.environ, {"https_proxy": tunnel.url, "no_proxy": ""}):
            url, ca_file = f"https://hub.test:{port}", setting("WB_TEST_CA_FILE")
            with Hub(url, user="anna", password=PASSWORD, ca_file=ca_file) as hub:
                self.assertEqual(hub.user(), "anna")
            self.assertEqual(tunnel.asked, [f"CONNECT hub.test:{port}"])
            with self.assertRaisesRegex(UsageError, "is not trusted"):
                Hub(f"https://other.test:{port}", token="t", ca_file=ca_file).user()

    def test_administrators_see_the_hub_and_prepare_its_shutdown(self) -> None:
        with secure_hub("anna") as anna, secure_hub("root") as root:
            self.assertRaises(Forbidden, anna.metrics)
            self.assertIn("# TYPE", root.metrics())
            self.assertTrue(root.server_info()["systemInfo"]["version"])
            self.assertTrue(root.hub_log())
            self.assertTrue(root.audit(limit=5, user="anna")["entries"])
            self.assertTrue(root.prepare_shutdown()["initiated"])
            self.assertRaises(Locked, anna.submit, script=b"1")
            self.assertTrue(anna.shutdown_preparation()["initiated"])
            root.prepare_shutdown(False)
