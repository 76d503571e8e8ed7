"""Jobs, sweeps and storage on a real hub with an agent."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path
from typing import List, Set
from unittest import mock

from workbench_hub import (
    Conflict,
    Content,
    InvalidInput,
    NotFound,
    OutputExists,
    Progress,
    StoredFile,
    TaskCanceled,
    TaskFailed,
    WaitTimeout,
)

from .site import MODEL, SCRIPT, OnSite, eventually, recorded_requests, setting, writing

SLEEP = b"println('begun'); setTimeout(() => undefined, 600000)"


class Jobs(OnSite):
    def test_a_job_on_mujoco_brings_its_outputs(self) -> None:
        out = self.folder / "results"
        seen: List[Progress] = []
        result = self.hub.run(
            model=MODEL,
            script=SCRIPT,
            variables={"angle": 45, "aim": 0},
            labels=["mujoco"],
            out=out,
            progress=seen.append,
        )
        self.assertEqual(list(self.contents(out)), ["throw.json"])
        self.assertAlmostEqual(result.json("throw.json")["range"], 20**2 / 9.81, delta=0.01)
        self.assertEqual((result.status, result.batch_execution_status, result.ok), ("FINISHED", "OK", True))
        assert result.requested and result.started and result.ended and result.instance
        self.assertLessEqual(result.requested, result.started)
        self.assertLessEqual(result.started, result.ended)
        self.assertTrue(any(each.activity.startswith("task ") for each in seen))
        self.assertRegex(self.hub.log(result.id), r"^range 40\.77. m\n$")

    def test_files_contents_and_several_scripts(self) -> None:
        read = b"const fs = require('fs'); const all = ['deep/a.txt', 'throw.js'].map((name) => fs.readFileSync(name, 'utf8'));"
        write = b"fs.mkdirSync('to', { recursive: true }); fs.writeFileSync('to/all.txt', all.join('|'));"
        count = b"require('fs').writeFileSync('model.txt', require('fs').readFileSync(process.env.WORKBENCH_MODEL))"
        result = self.hub.run(
            script=[read + write, count],
            model=Content(b"the model", "TXT"),
            files={"deep/a.txt": b"first", "throw.js": SCRIPT},
            labels="node",
        )
        self.assertEqual(result.names, ["model.txt", "to/all.txt"])
        self.assertEqual(result.text("to/all.txt"), "first|" + SCRIPT.read_text())
        self.assertEqual(result.read("model.txt"), b"the model")
        with self.assertRaisesRegex(FileNotFoundError, "model.txt, to/all.txt"):
            result.read("none.txt")

    def test_a_job_that_fails_says_why_and_keeps_its_outputs(self) -> None:
        script = b"require('fs').writeFileSync('so-far.txt', 'x'); throw new Error('bad mesh')"
        with self.assertRaises(TaskFailed) as raised:
            self.hub.run(script=script, labels="node", out=self.folder / "out")
        result = raised.exception.result
        self.assertEqual((result.status, result.batch_execution_status), ("FAILED", "ERROR"))
        self.assertIn(str(result.message), str(raised.exception))
        self.assertEqual(self.contents(self.folder / "out"), {"so-far.txt": b"x"})
        self.assertFalse(self.hub.run(script=script, labels="node", check=False).ok)

    def test_outputs_replace_nothing_unless_it_is_said(self) -> None:
        self.hub.run(script=writing("1"), labels="node", out=self.folder)
        task = self.hub.submit(script=writing("2"), labels="node")
        with self.assertRaises(OutputExists):
            self.hub.wait(task, out=self.folder)
        self.assertEqual(self.contents(self.folder), {"out.txt": b"1"})
        self.hub.outputs(task, self.folder, overwrite=True)
        self.assertEqual(self.contents(self.folder), {"out.txt": b"2"})

    def test_large_outputs_are_read_when_they_are_asked_for(self) -> None:
        script = b"const fs = require('fs'); for (const n of ['a', 'b']) fs.writeFileSync(n, Buffer.alloc(3e6, n))"
        result = self.hub.run(script=script, labels="node")
        self.assertIsNone(result._contents)
        self.assertEqual(result.names, ["a", "b"])
        self.assertEqual(result.read("b"), b"b" * 3_000_000)
        result = self.hub.run(script=script, labels="node", out=self.folder / "out")
        self.assertEqual(self.contents(self.folder / "out"), {"a": b"a" * 3_000_000, "b": b"b" * 3_000_000})

    def test_files_of_the_output_storage_come_with_the_outputs(self) -> None:
        script = b"const fs = require('fs'), path = require('path'); fs.writeFileSync('small.txt', 's');"
        script += b"fs.writeFileSync(path.join(process.env.WORKBENCH_OUTPUT_STORAGE, 'big.bin'), Buffer.alloc(2e6, 'b'))"
        out = self.folder / "out"
        result = self.hub.run(script=script, labels="node", out=out)
        self.assertEqual(self.contents(out), {"small.txt": b"s", "big.bin": b"b" * 2_000_000})
        name = f"{result.id}-big.bin"
        self.assertEqual(result.stored, {name: 2_000_000})
        self.assertRaises(OutputExists, self.hub.storage.get, name, out / "big.bin")
        self.assertRaises(NotFound, self.hub.storage.get, "none", self.folder / "none")
        self.assertEqual(sorted(os.listdir(out)), ["big.bin", "small.txt"])

    def test_simulated_work_is_a_task_too(self) -> None:
        task = self.hub.submit(duration=0, labels="node", name="blocker")
        result = self.hub.wait(task.id)
        self.assertEqual((result.ok, result.names), (True, []))
        self.assertEqual(self.hub.task(task)["type"], "SIMULATE_WORK")

    def test_bad_input_is_refused_in_the_words_of_the_hub(self) -> None:
        with self.assertRaisesRegex(InvalidInput, "variablesToInject"):
            self.hub.submit(script=b"1", variables={"no name": 1})
        with self.assertRaisesRegex(InvalidInput, "none.xml"):
            self.hub.submit(script=b"1", model=StoredFile("none.xml"))


class Ends(OnSite):
    def test_a_wait_ends_and_the_task_goes_on(self) -> None:
        task = self.hub.submit(script=b"1", version="never")
        began = time.monotonic()
        self.assertRaises(WaitTimeout, self.hub.wait, task, timeout=0.5)
        self.assertLess(time.monotonic() - began, 60)
        self.assertEqual(self.hub.task(task)["status"], "WAITING")
        self.hub.cancel(task)

    def test_tasks_are_canceled_explained_listed_and_deleted(self) -> None:
        task = self.hub.submit(script=b"1", name="lonely", note="Softer\nbearing", version="never")
        self.assertRaises(Conflict, self.hub.delete, task)
        self.assertRaises(NotFound, self.hub.manifest, task)
        explained = self.hub.explain(task)
        self.assertEqual(explained.get("verdict"), "NEVER")
        self.assertEqual(self.hub.explain(labels="node").get("verdict"), "SOON")
        self.assertIn(task.id, [each["id"] for each in self.hub.tasks(status=["WAITING"], name="lonely")])
        self.assertEqual([each["id"] for each in self.hub.tasks(name="lonely", limit=1)], [task.id])
        [found] = self.hub.tasks(note="softer*")
        self.assertEqual((found["id"], found.get("note")), (task.id, "Softer\nbearing"))
        self.hub.cancel(task)
        self.assertRaises(TaskCanceled, self.hub.wait, task)
        self.assertRaises(Conflict, self.hub.cancel, task)
        self.assertEqual(self.hub.manifest(task)["manifest"]["task"]["status"], "CANCELED")
        self.hub.delete(task)
        self.assertRaises(NotFound, self.hub.task, task)

    def test_a_running_task_is_canceled_by_force(self) -> None:
        task = self.hub.submit(script=SLEEP, labels="node")
        eventually(lambda: self.hub.log(task) == "begun\n")
        with self.assertRaisesRegex(Conflict, "; force=True ends it on its workbench instance$"):
            self.hub.cancel(task)
        self.hub.cancel(task, force=True)
        self.assertEqual(self.hub.wait(task, check=False).status, "CANCELED")

    def test_a_log_is_followed_to_its_end(self) -> None:
        script = b"let n = 0; const t = setInterval(() => { println('line', n); if (++n === 4) clearInterval(t); }, 300)"
        task = self.hub.submit(script=script, labels="node")
        pieces = list(self.hub.log(task, follow=True))
        self.assertEqual("".join(pieces), "".join(f"line {number}\n" for number in range(4)))

    def test_a_log_comes_while_its_task_runs(self) -> None:
        task = self.hub.submit(script=SLEEP, labels="node")
        pieces = self.hub.log(task, follow=True)
        self.assertEqual(next(pieces), "begun\n")
        self.assertEqual(self.hub.task(task)["status"], "RUNNING")
        self.hub.cancel(task, force=True)
        self.assertEqual(list(pieces), [])

    def test_without_a_bar_it_is_logged_why_a_task_waits_and_that_it_runs(self) -> None:
        wanted = mock.patch("workbench_hub._following.SHOWN_POLL_S", 1)
        with wanted, self.assertLogs("workbench_hub", logging.WARNING) as logs:
            with self.assertRaises(WaitTimeout) as waited:
                self.hub.run(script=SLEEP, labels="nobody-has-it", name="unlabeled", timeout=2.5)
        [task] = self.hub.tasks(name="unlabeled")
        self.hub.cancel(task["id"])
        self.assertIn(task["id"], str(waited.exception))
        self.assertRegex("\n".join(logs.output), f'^WARNING:.*:task {task["id"]}: .*none offers label "nobody-has-it"')
        self.assertEqual(len(logs.output), 1)

        task_that_runs = self.hub.submit(script=SLEEP, labels="node")
        with wanted, self.assertLogs("workbench_hub", logging.INFO) as logs:
            with self.assertRaises(WaitTimeout):
                self.hub.wait(task_that_runs, timeout=2.5)
        self.hub.cancel(task_that_runs, force=True)
        self.assertRegex(logs.output[-1], f"^INFO:.*:task {task_that_runs.id} runs on ")


class Sweeps(OnSite):
    def test_a_sweep_that_nobody_fits_says_so_once(self) -> None:
        def cancel_all() -> None:
            eventually(lambda: logs.output)
            for each in self.hub.tasks(name="fits nobody *", status="WAITING"):
                self.hub.cancel(each["id"])

        points = [{"n": number} for number in range(4)]
        with mock.patch("workbench_hub._following.SHOWN_POLL_S", 1):
            with self.assertLogs("workbench_hub", logging.WARNING) as logs:
                sweep = self.hub.map(points, script=SLEEP, labels="nobody-has-it", name="fits nobody")
                canceling = threading.Thread(target=cancel_all)
                canceling.start()
                ended = [each.status for each in sweep]
                canceling.join()
        self.assertEqual(ended, ["CANCELED"] * 4)
        self.assertEqual(len(logs.output), 1)
        self.assertIn('none offers label "nobody-has-it"', logs.output[0])

    def test_points_come_in_order_and_the_model_travels_once(self) -> None:
        model = self.folder / "ball.xml"
        model.write_bytes(MODEL.read_bytes() + b"<!-- of this test -->")
        made = recorded_requests(self)
        points = [{"angle": 20 + number, "aim": 0} for number in range(8)]
        job = {"model": model, "script": SCRIPT, "labels": ["mujoco"]}
        seen: List[Progress] = []
        out = self.folder / "sweep"
        results = list(self.hub.map(points, out=out, name="throw", progress=seen.append, **job))  # type: ignore[call-overload]
        self.assertEqual([each.point for each in results], points)
        self.assertEqual([each.number for each in results], list(range(8)))
        ranges = [each.json("throw.json")["range"] for each in results]
        self.assertEqual(ranges, sorted(ranges))
        self.assertEqual(sorted(self.contents(out)), [f"{number:04}/throw.json" for number in range(8)])
        self.assertEqual(len([path for path in made if path.endswith("/upload")]), 1)
        last = [each for each in seen if each.activity == "map"][-1]
        self.assertEqual((last.done, last.total, last.unit), (8, 8, "tasks"))
        list(self.hub.map(points[:2], **job))  # type: ignore[call-overload]
        self.assertEqual(len([path for path in made if path.endswith("/upload")]), 1)

    def test_a_model_that_was_removed_meanwhile_is_handed_over_again(self) -> None:
        model = self.folder / "ball.xml"
        model.write_bytes(MODEL.read_bytes() + b"<!-- removed -->")
        job = {"model": model, "script": SCRIPT, "variables": {"angle": 1, "aim": 0}, "labels": "mujoco"}
        self.hub.run(**job)  # type: ignore[arg-type]
        self.hub.storage.remove(self.hub.storage.keep(model).name)
        self.hub.storage._checked[self.hub.storage.keep(model).name] = time.monotonic()
        self.assertTrue(self.hub.run(**job).ok)  # type: ignore[arg-type]

    def test_no_more_tasks_than_allowed_are_in_flight(self) -> None:
        counts: Set[int] = set()
        points = ({"n": number} for number in range(12))
        script = b"setTimeout(() => undefined, 50)"
        for _ in self.hub.map(points, script=script, name="bounded", labels="node", in_flight=3, ordered=False):
            counts.add(len(self.hub.tasks(status=["WAITING", "RUNNING"], name="bounded *")))
        self.assertLessEqual(max(counts), 3)
        self.assertEqual(len(self.hub.tasks(name="bounded *")), 12)

    def test_points_that_fail_are_results_unless_they_are_to_be_checked(self) -> None:
        script = b"if (n === '1') throw new Error('bad point')"
        points = [{"n": number} for number in range(3)]
        results = list(self.hub.map(points, script=script, labels="node"))
        self.assertEqual([each.ok for each in results], [True, False, True])
        with self.assertRaisesRegex(TaskFailed, "script 1 of 1 exited with code 1"):
            list(self.hub.map(points, script=script, labels="node", check=True))

    def test_a_sweep_that_is_left_cancels_what_has_not_ended(self) -> None:
        script = b"if (n !== '0') setTimeout(() => undefined, 600000)"
        points = [{"n": number} for number in range(5)]
        # One instance for each: the first point waits for no other.
        sweep = self.hub.map(points, script=script, labels="node", name="left", in_flight=3)
        self.assertEqual(next(sweep).number, 0)
        began = time.monotonic()
        sweep.close()  # type: ignore[attr-defined]
        self.assertLess(time.monotonic() - began, 120)
        eventually(lambda: not self.hub.tasks(status=["WAITING", "RUNNING"], name="left *"))

    @unittest.skipIf(os.name == "nt", "Windows has no pseudo-terminals")
    def test_a_terminal_shows_a_bar(self) -> None:
        import pty

        program = (
            "import sys\nfrom workbench_hub import Hub\n"
            "list(Hub(sys.argv[1]).map([{'n': n} for n in range(6)], script=b'1', labels='node'))\n"
        )
        terminal, end = pty.openpty()
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "COLUMNS": "100"}
        command = [sys.executable, "-c", program, setting("WB_TEST_URL")]
        child = subprocess.Popen(command, env=environment, stderr=end)
        os.close(end)
        shown = ""
        with os.fdopen(terminal, "rb", buffering=0) as screen, contextlib.suppress(OSError):
            # Linux reports the end of the program as an error.
            for piece in iter(lambda: screen.read(10_000), b""):
                shown += piece.decode()
        self.assertEqual(child.wait(), 0)
        self.assertRegex(shown, r"map  \[-+\]   0 %  0/6  0 in flight")
        self.assertRegex(shown, r"map  \[#+\] 100 %  6/6  0 in flight")
        self.assertTrue(shown.endswith("\n"))

    def test_a_function_is_mapped_over_items(self) -> None:
        def square(number: int) -> int:
            script = b"require('fs').writeFileSync('n.json', String(n * n))"
            found: int = self.hub.run(script=script, variables={"n": number}, labels="node").json("n.json")
            return found

        self.assertEqual(list(self.hub.map(square, range(5))), [0, 1, 4, 9, 16])
        with self.assertRaises(ZeroDivisionError):
            list(self.hub.map(lambda number: 1 // number, [1, 0]))

    @unittest.skipIf(os.name == "nt", "Windows sends no SIGINT to one process")
    def test_an_interrupt_ends_a_sweep_cancels_its_tasks_and_leaves_no_part(self) -> None:
        program = (
            "import sys\nfrom workbench_hub import Hub\n"
            "script = b\"require('fs').writeFileSync('a', 'a'); setTimeout(() => undefined, 600000)\"\n"
            "points = [{'n': n} for n in range(4)]\n"
            "list(Hub(sys.argv[1]).map(points, script=script, labels='node', name='interrupted', out=sys.argv[2]))\n"
        )
        out = self.folder / "out"
        source = str(Path(__file__).parents[1])
        child = subprocess.Popen(
            [sys.executable, "-c", program, setting("WB_TEST_URL"), str(out)],
            env={**os.environ, "PYTHONPATH": source},
            stderr=subprocess.PIPE,
        )
        self.addCleanup(child.kill)
        eventually(lambda: self.hub.tasks(status="RUNNING", name="interrupted *"))
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
        self.assertIn(b"KeyboardInterrupt", errors)
        self.assertFalse(out.exists())
        eventually(lambda: not self.hub.tasks(status=["WAITING", "RUNNING"], name="interrupted *"))


class Files(OnSite):
    def test_a_large_file_is_sent_in_parts_and_once(self) -> None:
        path = self.folder / "large.bin"
        path.write_bytes(os.urandom(20 * 1024 * 1024))
        seen: List[Progress] = []
        made = recorded_requests(self)
        stored = self.hub.storage.keep(path, progress=seen.append)
        self.assertEqual(len([each for each in made if "/uploads/" in each]), 3)
        self.assertEqual((seen[-1].done, seen[-1].total), (20 * 1024 * 1024, 20 * 1024 * 1024))
        listed = self.hub._calls.json("GET", "/api/x/storage/input", query={"prefix": stored.name})["files"]
        self.assertEqual(listed[0]["digest"], hashlib.sha256(path.read_bytes()).hexdigest())
        self.assertRaises(Conflict, self.hub.storage.put, path, stored.name)
        self.hub.storage.remove(stored.name)

    def test_files_are_put_renewed_replaced_and_removed(self) -> None:
        path = self.folder / "gear.txt"
        path.write_text("1")
        storage = self.hub.storage
        self.assertTrue(storage.is_active())
        self.assertEqual(storage.put(path), StoredFile("gear.txt"))
        self.assertRaises(Conflict, storage.put, path)
        path.write_text("2")
        stored = storage.put(path, overwrite=True, encrypt=True)
        self.assertTrue(storage.exists("gear.txt"))
        self.assertTrue(storage.renew("gear.txt"))
        script = b"require('fs').copyFileSync(process.env.WORKBENCH_MODEL, 'copy.txt')"
        self.assertEqual(self.hub.run(script=script, model=stored, labels="node").text("copy.txt"), "2")
        storage.remove("gear.txt")
        self.assertFalse(storage.exists("gear.txt"))
        self.assertFalse(storage.renew("gear.txt"))

    def test_an_upload_is_streamed_and_shows_its_progress(self) -> None:
        path = self.folder / "large.bin"
        with path.open("wb") as file:
            for number in range(24):
                file.write(bytes([number]) * 2**20)
        seen: List[Progress] = []
        stored = self.hub.storage.keep(path, progress=seen.append)
        self.assertEqual((seen[-1].done, seen[-1].total), (24 * 2**20, 24 * 2**20))
        self.assertGreater(len(seen), 10)
        count = len(seen)
        self.assertEqual(self.hub.storage.keep(path, progress=seen.append), stored)
        self.assertEqual(len(seen), count)
        script = b"require('fs').writeFileSync('size', String(require('fs').statSync('f.bin').size))"
        result = self.hub.run(script=script, files={"f.bin": path}, labels="node")
        self.assertEqual(result.text("size"), str(24 * 2**20))

    def test_a_file_that_changes_while_it_is_sent_is_not_kept(self) -> None:
        path = self.folder / "torn.bin"
        path.write_bytes(b"a" * 2**20)
        storage = self.hub.storage

        def change(progress: Progress) -> None:
            path.write_bytes(b"b" * 2**20)

        with self.assertRaisesRegex(ValueError, "changed while it was sent"):
            storage.keep(path, progress=change)
        self.assertFalse(storage.exists(next(iter(storage._digests.values()))[:32]))


class Fleet(OnSite):
    def test_instances_and_agents_are_shown_and_controlled(self) -> None:
        ids = [each["id"] for each in self.hub.instances(labels=["node"])]
        self.assertEqual(ids, ["node-1", "node-2", "node-3"])
        self.assertEqual(self.hub.instance("spare")["status"], "UP")
        self.hub.stop_instance("spare")
        eventually(lambda: self.hub.instance("spare")["status"] == "DOWN")
        self.hub.start_instance("spare")
        eventually(lambda: self.hub.instance("spare")["status"] == "UP")
        self.hub.restart_instance("spare")
        self.assertIsInstance(self.hub.instance_log("spare"), str)
        self.assertRaises(NotFound, self.hub.instance, "none")
        self.assertEqual([each["id"] for each in self.hub.agents()], ["host"])
        self.assertTrue(self.hub.drain("host")["drained"])
        self.assertFalse(self.hub.undrain("host")["drained"])
        self.assertEqual(self.hub.agent("host")["status"], "UP")

    def test_the_hub_describes_itself(self) -> None:
        self.assertEqual(self.hub.health()["status"], "UP")
        self.assertTrue(self.hub.info()["application"]["version"])
        self.assertEqual(self.hub.user(), "anonymous")
