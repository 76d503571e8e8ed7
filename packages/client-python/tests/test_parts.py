"""The parts that need no server: reading of results, safe names, logs, progress, and the request of a job."""

from __future__ import annotations

import base64
import io
import json
import os
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple
from unittest import mock

from workbench_hub import (
    Content,
    HostFile,
    OutputExists,
    Progress,
    StoredFile,
    UnsafeName,
    UsageError,
    WebhookRefused,
    verify_webhook,
)
from workbench_hub._creation import path_of
from workbench_hub._job import Job, request_of, text_of
from workbench_hub._json_stream import JsonReader, NotJson, Sink
from workbench_hub._log import LogPart, LogReader, WindowReader
from workbench_hub._outputs import Staging, safe_parts, stored_names
from workbench_hub._progress import Bar, Reporter
from workbench_hub._storage import NAME, _name_of

DIGEST = "0123456789abcdef" * 4


def pieces(text: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def read(text: bytes, size: int) -> Tuple[Any, List[bytes]]:
    """The value of a JSON text that arrives in pieces, and the contents that went to the sink."""
    contents: List[bytes] = []
    chunks = pieces(text, size)

    def write(content: bytes) -> None:
        contents[-1] += content

    def sink_for(path: Tuple[str, ...]) -> Optional[Sink]:
        if path != ("files", "[]", "content"):
            return None
        contents.append(b"")
        return write

    return JsonReader(lambda: next(chunks, b""), sink_for).value(), contents


class Webhooks(unittest.TestCase):
    """The example is that of the libraries of Standard Webhooks."""

    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    other = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
    body = b'{"test": 2432232314}'
    headers = {
        "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "Webhook-Timestamp": "1614265330",
        "Webhook-Signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }

    def test_one_that_the_hub_has_signed_is_taken(self) -> None:
        signature = self.headers["Webhook-Signature"]
        several = {**self.headers, "Webhook-Signature": f"v1,AAAA v2,x {signature}"}
        message = verify_webhook(self.body, self.headers, self.secret, now=1614265330)
        self.assertEqual(message, {"test": 2432232314})
        secrets = [self.other, self.secret]
        self.assertEqual(verify_webhook(self.body.decode(), several, secrets, now=1614265630), message)

    def test_any_other_is_refused(self) -> None:
        def refused(
            reason: str,
            body: bytes = self.body,
            secret: Any = self.secret,
            now: float = 1614265330,
            **headers: str,
        ) -> None:
            changed = {**self.headers, **{f"Webhook-{name}": value for name, value in headers.items()}}
            with self.assertRaisesRegex(WebhookRefused, reason):
                verify_webhook(body, changed, secret, now=now)

        refused("no signature", body=self.body + b" ")
        refused("no signature", secret=self.other)
        refused("no signature", secret=[])
        refused("no signature", Id="x")
        refused("no signature", Timestamp="1614265331")
        for signature in ("", "v1,*", "v1,", "v1,\xe4", self.headers["Webhook-Signature"].replace("v1", "v2")):
            refused("no signature", Signature=signature)
        refused("missing or malformed", Id="")
        for timestamp in ("", "1e9", "\u0661", "9" * 400, "9" * 5000):
            refused("missing or malformed", now=1614265330.5, Timestamp=timestamp)
        refused("too old", now=1614265631)
        refused("too old", now=1614265029)
        refused("the secret must be", secret=self.secret[6:])


class Json(unittest.TestCase):
    def test_a_value_in_pieces_of_any_size_is_that_of_json(self) -> None:
        value = {
            "a": [1, -2.5e3, True, False, None, [], {}, "", "ü\u0001\\\"/"],
            'k"\\': {"nested": ["x" * 50]},
            "last": 7,
        }
        for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=2)):
            for size in range(1, 40):
                self.assertEqual(read(text.encode(), size), (value, []))

    def test_contents_go_to_their_sinks(self) -> None:
        data = [b"", b"a", b"ab", b"abc", bytes(range(256)) * 3, b"\xff\xfe\xfb" * 40]
        files = [{"content": base64.b64encode(each).decode(), "name": str(len(each))} for each in data]
        text = json.dumps({"files": files, "content": "plain"})
        for escaped in (text, text.replace("/", "\\/")):
            for size in (1, 2, 3, 5, 7, 64, 10_000):
                value, contents = read(escaped.encode(), size)
                self.assertEqual(contents, data)
                self.assertEqual([each["content"] for each in value["files"]], [None] * len(data))
                self.assertEqual(value["content"], "plain")

    def test_what_is_no_json_is_refused(self) -> None:
        for text in ("", "{", '{"a"}', '{"a":1', "[1 2]", "[1,]", "tru", '"abc', "{} {}", '{"a":1,}', "[" * 200):
            with self.subTest(text=text), self.assertRaises(NotJson):
                read(text.encode(), 3)
        for content in ("a", "ab=c", "a b=", "abc", "äöü=", "===="):
            text = json.dumps({"files": [{"content": content}]}, ensure_ascii=False)
            with self.subTest(content=content), self.assertRaises(NotJson):
                read(text.encode(), 5)


class Outputs(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "out"

    def stage(self, *names: Tuple[str, ...], overwrite: bool = False) -> Dict[str, Path]:
        with Staging(self.folder, overwrite) as staging:
            for name in names:
                staging.begin()
                staging.write("/".join(name).encode())
            return staging.place(names)

    def test_names_that_try_to_be_a_path_are_refused(self) -> None:
        for directory, name in (
            (None, ".."),
            (None, "."),
            (None, ""),
            (None, "a/b"),
            (None, "/etc/passwd"),
            (None, "a\\b"),
            (None, "a\0b"),
            ("..", "a"),
            ("/etc", "passwd"),
            ("a/../..", "b"),
            ("a//b", "c"),
            ("", "a"),
        ):
            with self.subTest(directory=directory, name=name), self.assertRaises(UnsafeName):
                safe_parts(directory, name)
        self.assertEqual(safe_parts("a/b", "c .x"), ("a", "b", "c .x"))

    def test_names_that_windows_cannot_have_are_refused_there(self) -> None:
        names = ("a:b", "C:", "a?", "name.", "name ", "CON", "nul.txt", "con .log", "COM1", "lpt0.x", "conin$")
        for name in names:
            with self.subTest(name=name):
                self.assertEqual(safe_parts(None, name), (name,))
                with mock.patch("workbench_hub._outputs.os.name", "nt"), self.assertRaises(UnsafeName):
                    safe_parts(None, name)
        with mock.patch("workbench_hub._outputs.os.name", "nt"):
            self.assertEqual(safe_parts("a", "console.txt"), ("a", "console.txt"))

    def test_outputs_that_would_be_one_file_are_refused(self) -> None:
        same = (("Result.csv", "result.csv"), ("\u00fc.txt", "u\u0308.txt"), ("Stra\u00dfe", "STRASSE"))
        for platform in ("darwin", "win32"):
            with mock.patch.object(sys, "platform", platform):
                for one, other in same:
                    with self.subTest(platform=platform, one=one):
                        self.assertRaisesRegex(UnsafeName, "one file", self.stage, (one,), (other,))
                        self.assertRaisesRegex(UnsafeName, "one file", self.stage, (one, "a"), (other, "a"))
                        self.assertRaisesRegex(UnsafeName, "folder and a file", self.stage, (one, "a"), (other,))
                self.assertEqual(stored_names("7", ["7-a.csv"], [("A.csv",)]), {"7-a.csv": ("7-a.csv",)})
        self.assertRaisesRegex(UnsafeName, "one file", self.stage, ("a",), ("a",))
        self.assertRaisesRegex(UnsafeName, "folder and a file", self.stage, ("a",), ("a", "b", "c"))
        self.assertFalse(self.folder.exists())
        with mock.patch.object(sys, "platform", "linux"):
            self.assertEqual(stored_names("7", ["7-a.csv"], [("A.csv",)]), {"7-a.csv": ("a.csv",)})

    @unittest.skipIf(sys.platform in ("win32", "darwin"), "such names are one file there")
    def test_names_that_differ_in_case_are_two_files_elsewhere(self) -> None:
        self.stage(("Result.csv",), ("result.csv",))
        self.assertEqual(sorted(os.listdir(self.folder)), ["Result.csv", "result.csv"])

    def test_a_file_that_another_program_holds_is_waited_for_on_windows(self) -> None:
        tries: List[str] = []

        def held(source: Path, target: Path) -> None:
            tries.append(target.name)
            if len(tries) < 3:
                raise PermissionError(13, "it is open in another program")
            source.rename(target)

        with mock.patch("workbench_hub._put.os.replace", held):
            with self.assertRaises(PermissionError):
                self.stage(("a.txt",))
            tries.clear()
            with mock.patch("workbench_hub._put.PATIENCE_S", 60.0):
                self.stage(("a.txt",))
        self.assertEqual(tries, ["a.txt"] * 3)

    def test_files_appear_together_and_leave_nothing_else(self) -> None:
        placed = self.stage(("a.txt",), ("deep", "er", "b.txt"))
        self.assertEqual(placed["deep/er/b.txt"].read_text(), "deep/er/b.txt")
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.txt", "deep"])

    def test_nothing_is_replaced_unless_it_is_said(self) -> None:
        self.folder.mkdir()
        (self.folder / "a.txt").write_text("mine")
        with self.assertRaises(OutputExists) as raised:
            self.stage(("b.txt",), ("a.txt",))
        self.assertEqual(raised.exception.paths, [str(self.folder / "a.txt")])
        self.assertEqual(os.listdir(self.folder), ["a.txt"])
        self.assertEqual((self.folder / "a.txt").read_text(), "mine")
        self.stage(("b.txt",), ("a.txt",), overwrite=True)
        self.assertEqual((self.folder / "a.txt").read_text(), "a.txt")

    @unittest.skipIf(os.name == "nt", "Windows lets few users make links")
    def test_links_in_the_folder_are_not_followed(self) -> None:
        self.folder.mkdir()
        elsewhere = self.folder.parent / "elsewhere"
        elsewhere.mkdir()
        (self.folder / "deep").symlink_to(elsewhere)
        self.assertRaises(UnsafeName, self.stage, ("deep", "a.txt"))
        self.assertEqual(os.listdir(elsewhere), [])

    def test_an_interrupt_leaves_nothing(self) -> None:
        with self.assertRaises(KeyboardInterrupt), Staging(self.folder, False) as staging:
            staging.begin()
            staging.write(b"half")
            raise KeyboardInterrupt
        self.assertFalse(self.folder.exists())


class Jobs(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "gear.xml").write_text("<gear/>")
        (self.folder / "run.js").write_bytes(b"\x00" * 500_000)

    def document(self, job: Job, stored: Optional[str] = None) -> Dict[str, Any]:
        _, body = request_of(job, lambda path: stored)
        for _ in range(2):
            text = b"".join(body.chunks())
            self.assertEqual(len(text), body.size)
        found: Dict[str, Any] = json.loads(text)
        return found

    def test_plain_words_become_the_fields_of_the_request(self) -> None:
        job = Job(
            script=[self.folder / "run.js", b"2"],
            model=self.folder / "gear.xml",
            files={"a/b.txt": b"x", "c.xml": str(self.folder / "gear.xml"), "d": StoredFile("far.stl")},
            variables={"load": 12, "share": 0.5, "on": True, "word": "w"},
            name="n",
            version="9.*",
            labels=["gears", "linux"],
            priority="HIGH",
            time_limit=5,
            note="softer\nbearing",
        )
        document = self.document(job, "gear-1.xml")
        self.assertEqual(base64.b64decode(document["inputScripts"][0]["content"]), b"\x00" * 500_000)
        self.assertEqual(document["inputScripts"][1], {"content": "Mg=="})
        self.assertEqual(
            document["inputModelReference"],
            {
                "type": "INPUT_STORAGE",
                "parameters": [{"key": "name", "value": "gear-1.xml"}],
                "filename": "gear.xml",
            },
        )
        self.assertEqual(document["additionalFiles"][0], {"filename": "a/b.txt", "content": "eA=="})
        self.assertEqual(document["additionalFiles"][1]["content"], base64.b64encode(b"<gear/>").decode())
        self.assertEqual(document["additionalFiles"][2], {"filename": "d", "storageName": "far.stl"})
        variables = {each["key"]: each["value"] for each in document["variablesToInject"]}
        self.assertEqual(variables, {"load": "12", "share": "0.5", "on": "true", "word": "w"})
        types = {each["type"]: each["value"] for each in document["classifiers"]}
        self.assertEqual(types, {"VERSION": "9.*", "LABLES": "gears,linux", "PRIORITY": "HIGH"})
        self.assertEqual((document["name"], document["timeLimit"]), ("n", 5))
        self.assertEqual(document["note"], "softer\nbearing")

    def test_files_of_an_iterator_are_those_of_each_point(self) -> None:
        job = Job(script=b"1", files=self.folder.glob("*.xml"))
        for number in range(2):
            names = [each["filename"] for each in self.document(job.at({"n": number}, number))["additionalFiles"]]
            self.assertEqual(names, ["gear.xml"])

    def test_scripts_have_the_names_of_their_files_that_the_hub_takes(self) -> None:
        taken = ["run.js", "wörfe.py", "x" * 255]
        refused = ["a\\b.js", "c:d.js", "line\n.js", ".workbench-x"]
        for name in (*taken, *refused):
            (self.folder / name).write_bytes(b"1")
        scripts = [self.folder / name for name in (*taken, *refused)]
        document = self.document(Job([*scripts, b"1"]))
        names = [script.get("filename") for script in document["inputScripts"]]
        self.assertEqual(names, [*taken, *(None for _ in refused), None])

    def test_models_of_each_kind(self) -> None:
        path = self.folder / "gear.xml"
        self.assertEqual(
            self.document(Job(b"1", path))["inputModel"],
            {"type": "xml", "content": base64.b64encode(b"<gear/>").decode(), "filename": "gear.xml"},
        )
        self.assertEqual(
            self.document(Job(b"1", Content(b"m", "MJCF")))["inputModel"], {"type": "MJCF", "content": "bQ=="}
        )
        reference = self.document(Job(b"1", HostFile("/models/a.xml")))["inputModelReference"]
        self.assertEqual(reference["type"], "LOCAL_FILESYSTEM")
        large = self.document(Job(b"1", files=[self.folder / "run.js"]), "run-1.js")["additionalFiles"]
        self.assertEqual(large, [{"filename": "run.js", "storageName": "run-1.js"}])

    def test_simulated_work_has_a_duration_only(self) -> None:
        kind, body = request_of(Job(duration=0, labels="a"), lambda path: None)
        self.assertEqual(kind, "simulate-work")
        expected = {"classifiers": [{"type": "LABLES", "value": "a"}], "duration": 0}
        self.assertEqual(json.loads(b"".join(body.chunks())), expected)
        self.assertRaises(UsageError, self.document, Job(script=b"1", duration=1))

    def test_an_address_for_the_end_goes_to_the_path_that_takes_both_types(self) -> None:
        url = "https://ci.example.org/hook"
        work, batch = Job(duration=0, notify=url), Job(b"1", notify=url)
        for job, kind, name in (
            (work, "simulate-work", "SIMULATE_WORK"),
            (batch, "execute-batch-job", "EXECUTE_BATCH_JOB"),
        ):
            found, body = request_of(job, lambda path: None)
            document = json.loads(b"".join(body.chunks()))
            self.assertEqual((found, document["type"], document["notify"]), (kind, name, url))
            self.assertEqual(path_of(kind, job), "/api/x/tasks")
            self.assertEqual(path_of(kind, Job()), f"/api/2.0/workbench/task/{kind}/create")

    def test_what_cannot_be_used_is_refused_before_anything_is_sent(self) -> None:
        for job in (
            Job(),
            Job(script=self.folder / "none.js"),
            Job(script=self.folder),
            Job(script=b"1", model=self.folder / "run"),
            Job(script=b"1", files="gear.xml"),
            Job(script=b"1", variables={"a": float("nan")}),
            Job(script=b"1", variables={"a": None}),
        ):
            with self.subTest(job=job), self.assertRaises(UsageError):
                self.document(job)

    def test_numbers_of_other_types_are_written_plainly(self) -> None:
        self.assertEqual(text_of("a", Fraction(1, 4)), "0.25")
        self.assertEqual(text_of("a", 10**30), "1" + "0" * 30)

    def test_names_of_kept_files_are_allowed_and_tell_file_and_content(self) -> None:
        for name in ("gear.xml", "a b\u00fc.tar.gz", ".hidden", "-x.stl", "x" * 200 + ".step", "ü", "a." + "b" * 90):
            found = _name_of(Path(name), DIGEST)
            self.assertRegex(found, NAME)
            self.assertIsNotNone(NAME.fullmatch(found))
            self.assertIn(DIGEST[:32], found)
        self.assertEqual(_name_of(Path("gear.xml"), DIGEST), f"gear-{DIGEST[:32]}.xml")


class Logs(unittest.TestCase):
    def read(self, text: str, window: int, steps: List[int], whole_at_end: bool = True) -> str:
        reader = WindowReader()
        found = "".join(reader.fresh_of(text[:end][-window:], False) for end in steps)
        return found + reader.fresh_of(text if whole_at_end else text[-window:], whole_at_end)

    def test_a_window_that_moves_on_is_followed(self) -> None:
        text = "".join(f"line {number}\n" for number in range(2000))
        self.assertEqual(self.read(text, 1000, list(range(0, len(text), 400))), text)
        self.assertEqual(self.read(text, 10**6, [5, 5, 100, 7000]), text)

    def test_output_that_was_missed_is_said_to_be(self) -> None:
        text = "".join(f"line {number}\n" for number in range(2000))
        found = self.read(text, 1000, [900, 9000], whole_at_end=False)
        self.assertIn("[some of the output was skipped]", found)
        self.assertTrue(found.endswith("line 1999\n"))

    def test_the_end_of_a_log_of_which_some_was_missed_repeats_nothing(self) -> None:
        text = "".join(f"line {number}\n" for number in range(2000))
        skipped = "\n[some of the output was skipped]\n"
        self.assertEqual(self.read(text, 1000, [900, 9000]), text[:900] + skipped + text[8000:])

    def test_a_log_with_positions_is_read_on_from_each(self) -> None:
        reader = LogReader()
        looks = [(0, ""), (0, "a\U0001f600"), (3, "b"), (4, ""), (0, ""), (0, "a"), (2, "?bc")]
        fresh = [reader.fresh_of(LogPart(text, start), False) for start, text in looks]
        self.assertEqual(fresh, ["", "a\U0001f600", "b", "", "", "", "c"])
        self.assertEqual(reader.position, 5)
        self.assertEqual(reader.fresh_of(LogPart("gh", 8), False), "\n[some of the output was skipped]\ngh")
        self.assertEqual(reader.fresh_of(LogPart("a\U0001f600bcdefghi"), True), "i")
        self.assertEqual(reader.fresh_of(LogPart("short"), True), "")
        self.assertEqual(LogReader().fresh_of(LogPart("all"), True), "all")

    def test_a_hub_that_has_no_output_at_present_changes_nothing(self) -> None:
        reader = WindowReader()
        text = "x" * 100_000
        self.assertEqual([reader.fresh_of(each, False) for each in (text, "", text + "y")], [text, "", "y"])


class Bars(unittest.TestCase):
    def drawn(self, is_terminal: bool) -> str:
        class Stream(io.StringIO):
            def isatty(self) -> bool:
                return is_terminal

        stream, now = Stream(), [0.0]
        bar = Bar(stream, lambda: now[0])
        with mock.patch.dict(os.environ, {"COLUMNS": "120"}):
            for done in range(0, 101, 10):
                bar.show(Progress("upload gear.xml", done * 1024, 100 * 1024, "bytes"))
                now[0] += 1
        bar.end()
        return stream.getvalue()

    def test_a_bar_shows_share_amount_speed_and_time_left(self) -> None:
        text = self.drawn(True)
        half = next(line for line in text.split("\r") if " 50 %" in line)
        self.assertIn("[############------------]", half)
        self.assertIn("50.0 KiB of 100.0 KiB", half)
        self.assertIn("10.0 KiB/s", half)
        self.assertIn("0:05 left", half)
        self.assertTrue(text.endswith("\n"))

    def test_a_notebook_has_a_bar_whose_lines_cover_each_other(self) -> None:
        shell = mock.Mock(kernel=object())
        with mock.patch.dict(sys.modules, IPython=mock.Mock(get_ipython=lambda: shell)):
            text = self.drawn(False)
            with mock.patch.object(sys, "stderr", io.StringIO()):
                self.assertTrue(Reporter(None).has_bar)
                with ThreadPoolExecutor(1) as executor:
                    self.assertFalse(executor.submit(lambda: Reporter(None).has_bar).result())
        lines = text.rstrip("\n").split("\r")[1:]
        self.assertEqual(len(lines), 12)
        self.assertNotIn("\x1b", text)
        for before, line in zip(lines, lines[1:]):
            self.assertGreaterEqual(len(line), len(before.rstrip()))
        with mock.patch.object(sys, "stderr", io.StringIO()):
            self.assertFalse(Reporter(None).is_heard)

    def test_without_a_terminal_the_end_is_one_line(self) -> None:
        self.assertEqual(self.drawn(False).count("\n"), 1)
        self.assertNotIn("\r", self.drawn(False))
