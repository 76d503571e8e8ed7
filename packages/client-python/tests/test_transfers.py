"""Transfers, outputs and sweeps against a server that cuts, delays and lies."""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import socket
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Dict, List, Optional
from unittest import mock

from workbench_hub import Hub, NotFound, OutputExists, Task, TooLarge, UnsafeName, WorkbenchError

from .server import BATCH, CREATED, USER, Answer, Request, Server, error_answer, json_answer


class Sweeps(unittest.TestCase):
    def test_a_sweep_that_is_left_during_a_creation_cancels_its_task(self) -> None:
        begun, released = threading.Event(), threading.Event()

        def answer(request: Request) -> Answer:
            if request.path == BATCH:
                number = json.loads(request.body)["variablesToInject"][0]["value"]
                if number == "1":
                    begun.set()
                    released.wait(10)
                return json_answer({"id": number, "status": "WAITING"}, 201)
            if request.path == "/api/x/explain":
                return error_answer(404, "unknown path")
            return (204, {}, b"") if request.method == "DELETE" else json_answer({"id": "0", "status": "FINISHED"})

        with Server(answer) as server, Hub(server.url) as hub:
            sweep = hub.map([{"number": 0}, {"number": 1}], script=b"1")
            self.assertEqual(next(sweep).number, 0)
            begun.wait(10)
            threading.Timer(0.2, released.set).start()
            sweep.close()  # type: ignore[attr-defined]
            canceled = [each.target for each in server.requests if each.method == "DELETE"]
            self.assertEqual(canceled, ["/api/2.0/workbench/task/1/cancel?force=true"])


class Transfers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_an_upload_in_parts_that_is_cut_continues_where_it_was(self) -> None:
        data = bytes(range(256)) * 1000
        got = bytearray()
        begun: List[Dict[str, str]] = []

        def answer(request: Request) -> Optional[Answer]:
            state = {"id": "1", "received": len(got), "stored": len(got) == len(data)}
            if request.path == "/api/x/storage/input/uploads":
                if request.method == "GET":
                    return json_answer({"uploads": []})
                begun.append(request.headers)
                return json_answer(state, 201)
            if request.method == "GET":
                return json_answer(state)
            self.assertEqual(request.headers["upload-offset"], str(len(got)))
            is_cut = len(got) in (0, 50_000)
            got.extend(request.body[: 50_000 if is_cut else None])
            if is_cut:
                return None
            return 204, {"Upload-Offset": str(len(got))}, b""

        source = self.folder / "big.bin"
        source.write_bytes(data)
        small = mock.patch.multiple(
            "workbench_hub._parts", ONE_REQUEST_BYTES=0, PART_BYTES=100_000, BETWEEN_TRIES_S=0.0
        )
        with small:
            with Server(answer) as server, Hub(server.url) as hub:
                hub.storage.put(source)
        self.assertEqual(bytes(got), data)
        self.assertEqual(begun[0]["upload-length"], str(len(data)))

    def test_an_upload_waits_while_the_hub_works_on_its_end_and_sends_nothing_again(self) -> None:
        data = b"gear" * 1000
        locked = error_answer(423, "the hub works on the end of this upload", X_Error_Code="UPLOAD_IN_PROGRESS")
        parts: List[bytes] = []
        asked = 0

        def answer(request: Request) -> Optional[Answer]:
            nonlocal asked
            state = {"id": "1", "received": len(data) if parts else 0, "stored": False}
            if request.path == "/api/x/storage/input/uploads":
                return json_answer({"uploads": []}) if request.method == "GET" else json_answer(state, 201)
            if request.method == "PATCH":
                parts.append(request.body)
                return None
            asked += 1
            return locked if asked <= 100 else json_answer({**state, "stored": True})

        source = self.folder / "big.bin"
        source.write_bytes(data)
        with mock.patch.multiple("workbench_hub._parts", ONE_REQUEST_BYTES=0, BETWEEN_TRIES_S=0.0):
            with Server(answer) as server, Hub(server.url) as hub:
                hub.storage.put(source)
        self.assertEqual(parts, [data])

    def test_a_download_that_is_cut_five_times_continues_where_it_was(self) -> None:
        data = bytes(range(256)) * 400
        tag = f'"{hashlib.sha256(data).hexdigest()}"'
        cut = len(data) // 6

        def answer(request: Request) -> Answer:
            start = int(request.headers.get("range", "bytes=0-")[6:-1])
            rest = data[start:]
            headers = {"ETag": tag, "Content-Length": str(len(rest))}
            body = rest if start >= 5 * cut else rest[:cut]
            return 206 if start else 200, headers, body

        with Server(answer) as server, Hub(server.url) as hub:
            path = hub.storage.get("1-big.bin", self.folder / "big.bin")
            self.assertEqual(path.read_bytes(), data)
            self.assertEqual(len(server.requests), 6)
            self.assertTrue(all(each.headers["if-range"] == tag for each in server.requests[1:]))
        self.assertEqual(os.listdir(self.folder), ["big.bin"])

    def test_a_download_begins_again_when_the_file_is_another_one(self) -> None:
        old, new = b"o" * 9000, b"n" * 8000
        answers: List[Answer] = [
            (200, {"ETag": '"old"', "Content-Length": "9000"}, old[:5000]),
            (200, {"ETag": f'"{hashlib.sha256(new).hexdigest()}"'}, new),
        ]
        with Server(lambda _: answers.pop(0)) as server, Hub(server.url) as hub:
            self.assertEqual(hub.storage.get("1-a", self.folder / "a").read_bytes(), new)

    def test_a_download_that_arrived_damaged_is_refused(self) -> None:
        answer = (200, {"ETag": f'"{"0" * 64}"'}, b"other")
        with Server(lambda _: answer) as server, Hub(server.url) as hub:
            with self.assertRaisesRegex(WorkbenchError, "damaged"):
                hub.storage.get("1-a", self.folder / "a")
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_large_body_waits_for_the_hub_or_a_second(self) -> None:
        path = self.folder / "large.bin"
        path.write_bytes(b"large" * 100_000)
        # The server of these tests sends "100 Continue" when it is asked for.
        answers: List[Answer] = [USER, (204, {}, b"")]
        with Server(lambda _: answers.pop(0)) as server, Hub(server.url) as hub:
            hub.storage.put(path)
            self.assertIn(b"large" * 100_000 + b"\r\n--", server.requests[-1].body)
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def answer() -> None:
                for status in ("200 OK", "413 Too Large"):
                    peer, _ = listener.accept()
                    with peer:
                        head = b""
                        while not head.endswith(b"\r\n\r\n"):
                            head += peer.recv(1)
                        body = USER[2] if status == "200 OK" else error_answer(413, "too large")[2]
                        length = f"Content-Length: {len(body)}\r\nConnection: close\r\n"
                        peer.sendall(f"HTTP/1.1 {status}\r\n{length}\r\n".encode() + body)

            thread = threading.Thread(target=answer)
            thread.start()
            hub = Hub(f"http://127.0.0.1:{listener.getsockname()[1]}")
            self.assertRaisesRegex(TooLarge, "too large", hub.storage.put, path)
            thread.join()

    def test_an_upload_whose_connection_broke_is_sent_again(self) -> None:
        path = self.folder / "gear.bin"
        path.write_bytes(b"gear" * 1000)
        answers: List[Optional[Answer]] = [None, (204, {}, b"")]
        with Server(lambda _: answers.pop(0)) as server, Hub(server.url) as hub:
            hub.storage.put(path)
            for request in server.requests:
                self.assertIn(b'filename="gear.bin"\r\n', request.body)
                self.assertIn(b"gear" * 1000 + b"\r\n--", request.body)

    def test_outputs_with_a_name_that_tries_to_be_a_path_are_refused(self) -> None:
        result = {"id": "1", "status": "FINISHED", "type": "EXECUTE_BATCH_JOB"}
        files = [{"filename": "a.txt", "content": "YQ=="}, {"directory": "../..", "filename": "b", "content": "YQ=="}]
        out = self.folder / "out"
        with Server(lambda _: json_answer({**result, "outputFiles": files})) as server, Hub(server.url) as hub:
            self.assertRaises(UnsafeName, hub.wait, "1", out=out)
            self.assertRaises(UnsafeName, hub.outputs, "1", out)
            self.assertRaises(UnsafeName, hub.wait, "1")
        self.assertFalse(out.exists())

    def serve_stored(self, stored: Dict[str, Optional[bytes]], *outputs: str) -> Hub:
        """A hub with an ended task, some of whose stored files may have expired."""
        files = [{"filename": name, "content": base64.b64encode(b"output").decode()} for name in outputs]
        names = [{"name": f"1-{name}", "size": len(content or b"")} for name, content in stored.items()]
        result = {"id": "1", "status": "FINISHED", "storedFiles": names, "outputFiles": files}

        def answer(request: Request) -> Answer:
            if not request.path.endswith("/download"):
                return json_answer(result)
            content = stored[request.path.split("/")[-2][len("1-") :]]
            return error_answer(404, "expired") if content is None else (200, {}, content)

        server = Server(answer)
        server.__enter__()
        self.addCleanup(server.__exit__)
        hub = Hub(server.url)
        self.addCleanup(hub.close)
        return hub

    def test_a_stored_file_with_the_name_of_an_output_keeps_the_id_of_its_task(self) -> None:
        task, out = Task("1"), self.folder / "out"
        hub = self.serve_stored({"a": b"stored", "1-a": b"of a script that knows", "deep": b"file"}, "a", "b")
        placed = {"a": b"output", "b": b"output", "1-a": b"stored", "1-1-a": b"of a script that knows", "deep": b"file"}
        result = hub.wait(task, out=out)
        self.assertEqual({name: path.read_bytes() for name, path in result.files.items()}, placed)
        self.assertEqual(sorted(os.listdir(out)), sorted(placed))
        self.assertEqual(sorted(hub.outputs(task, out, overwrite=True)), sorted(placed))

    def test_a_stored_file_that_cannot_be_put_into_the_folder_keeps_the_outputs_from_it(self) -> None:
        out = self.folder / "out"
        out.mkdir()
        (out / "big.bin").write_bytes(b"mine")
        hub = self.serve_stored({"big.bin": b"stored"}, "a")
        with self.assertRaises(OutputExists) as raised:
            hub.wait(Task("1"), out=out)
        self.assertEqual(raised.exception.paths, [str(out / "big.bin")])
        self.assertRaises(UnsafeName, self.serve_stored({"..": b"stored"}, "a").outputs, Task("1"), out)
        self.assertEqual(os.listdir(out), ["big.bin"])
        self.assertEqual((out / "big.bin").read_bytes(), b"mine")

    def test_outputs_and_stored_files_appear_together(self) -> None:
        task, out = Task("1"), self.folder / "out"
        hub = self.serve_stored({"big.bin": b"stored", "old.bin": None}, "a")
        self.assertRaises(NotFound, hub.wait, task, out=out)
        self.assertFalse(out.exists())
        self.assertEqual(sorted(hub.outputs(task, out, stored=False)), ["a"])

    def test_a_full_disk_leaves_no_part_of_the_outputs(self) -> None:
        result = {"id": "1", "status": "FINISHED", "type": "EXECUTE_BATCH_JOB"}
        files = [{"filename": name, "content": "YQ=="} for name in ("a.txt", "b.txt")]
        full = OSError(errno.ENOSPC, "No space left on device")
        out = self.folder / "out"
        with Server(lambda _: json_answer({**result, "outputFiles": files})) as server, Hub(server.url) as hub:
            with mock.patch("workbench_hub._outputs.Staging.write", side_effect=[None, full]):
                with self.assertRaisesRegex(OSError, "No space left"):
                    hub.wait("1", out=out)
            self.assertFalse(out.exists())
            self.assertEqual(sorted(hub.wait("1", out=out).files), ["a.txt", "b.txt"])

    def test_a_model_travels_in_the_request_while_the_storage_is_off(self) -> None:
        model = self.folder / "gear.wbpz"
        model.write_bytes(b"gear" * 200_000)

        def answer(request: Request) -> Answer:
            return CREATED if request.path == BATCH else json_answer({"active": False})

        with Server(answer) as server, Hub(server.url) as hub:
            hub.submit(script=b"1", model=model)
            sent = json.loads(server.requests[-1].body)["inputModel"]
        self.assertEqual((sent["type"], base64.b64decode(sent["content"])), ("wbpz", b"gear" * 200_000))

    def test_a_model_travels_in_the_request_when_the_storage_was_switched_off_meanwhile(self) -> None:
        off = error_answer(423, "the input storage of this hub is not enabled", X_Error_Code="INPUT_STORAGE_OFF")
        model = self.folder / "gear.wbpz"
        model.write_bytes(b"gear")
        # The name of the model is checked again before a task is created, or only after it was refused.
        for renew_after_s in (0, 600):
            is_on, sent = True, []

            def answer(request: Request) -> Answer:
                if request.path.endswith("/status"):
                    return json_answer({"active": is_on})
                if request.path != BATCH:
                    return json_answer({"exists": True}) if is_on else off
                sent.append(json.loads(request.body))
                return off if "inputModelReference" in sent[-1] and not is_on else CREATED

            renewed = mock.patch("workbench_hub._storage.RENEW_AFTER_S", renew_after_s)
            with self.subTest(renew_after_s=renew_after_s), renewed, Server(answer) as server, Hub(server.url) as hub:
                hub.submit(script=b"1", model=model)
                is_on = False
                hub.submit(script=b"1", model=model)
                self.assertIn("inputModelReference", sent[0])
                self.assertEqual(base64.b64decode(sent[-1]["inputModel"]["content"]), b"gear")

    def test_a_model_whose_name_another_user_has_gets_one_of_the_users_own(self) -> None:
        model = self.folder / "gear.wbpz"
        model.write_bytes(b"gear" * 200_000)
        shared = f"gear-{hashlib.sha256(model.read_bytes()).hexdigest()[:32]}.wbpz"
        stored: List[str] = []

        def answer(request: Request) -> Answer:
            if request.path == "/api/2.0/user":
                return USER
            if request.path.endswith("/upload"):
                stored.append(request.body.split(b'filename="')[1].split(b'"')[0].decode())
                return 204, {}, b""
            name = request.path.split("/")[-1]
            if name == shared:
                refused = f"{name} is a file of udo: only its owner and the role ADMIN may renew it"
                return error_answer(403, refused, X_Error_Code="STORED_FILE_FOREIGN")
            return json_answer({"exists": name in stored})

        with Server(answer) as server:
            for _ in range(2):
                with Hub(server.url) as hub:
                    name = hub.storage.keep(model).name
                    asked = len(server.requests)
                    self.assertEqual(hub.storage.keep(model).name, name)
                    self.assertEqual(len(server.requests), asked)
        self.assertNotEqual(name, shared)
        self.assertEqual(stored, [name])
