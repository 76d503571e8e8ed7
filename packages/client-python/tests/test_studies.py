"""Studies: requests, rows and waits against a server that answers as each test says, and studies of a real hub."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import math
import threading
import unittest
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, Optional, Sequence
from unittest import mock

from workbench_hub import (
    Conflict,
    Hub,
    InvalidInput,
    LatinHypercube,
    LostAnswer,
    NotFound,
    OneAtATime,
    Open,
    Progress,
    Range,
    Sobol,
    Study,
    StudyHalted,
    UsageError,
    WaitTimeout,
    WorkbenchError,
)
from workbench_hub._study_plan import StopRules, study_fields

from .server import Answer, Request, Server, error_answer, json_answer
from .site import MODEL, SCRIPT, OnSite

OUTCOMES = ("FINISHED", "SOLVER_FAILED", "RULE_FAILED", "INFRASTRUCTURE", "CANCELED")


def fields(**options: Any) -> Dict[str, Any]:
    names = ("vary", "points", "plan", "values", "success")
    vary, points, plan, values, success = (options.get(name) for name in names)
    stop = options.get("stop", StopRules())
    return study_fields(vary, points, plan, values, success, stop=stop, notify=options.get("notify"))


class Requests(unittest.TestCase):
    def test_address_that_is_told_is_sent(self) -> None:
        notify = "https://ci.example.org/hooks"
        self.assertEqual(fields(vary={"a": [1]}, notify=notify)["notify"], notify)
        self.assertNotIn("notify", fields(vary={"a": [1]}))

    def test_values_make_a_grid(self) -> None:
        found = fields(vary={"speed": range(500, 3001, 100), "load": (1, 2.5), "oil": ["thin", 5], "on": iter([True])})
        levels = [
            {"variable": "speed", "from": 500, "to": 3000, "step": 100},
            {"variable": "load", "values": [1, 2.5]},
            {"variable": "oil", "values": ["thin", "5"]},
            {"variable": "on", "values": ["true"]},
        ]
        self.assertEqual(found["plan"], {"kind": "GRID", "levels": levels})
        texts = [{"name": "oil", "kind": "TEXT"}, {"name": "on", "kind": "TEXT"}]
        self.assertEqual(found["variables"], [{"name": "speed"}, {"name": "load"}, *texts])
        self.assertEqual(list(found), ["variables", "plan"])

    def test_a_range_has_levels_or_is_sampled(self) -> None:
        ranges = {"a": Range(0, 1, step=0.25), "b": Range(1, 1000, unit="Hz", log=True, integer=True, count=4)}
        found = fields(vary=ranges)
        levels = [
            {"variable": "a", "from": 0, "to": 1, "step": 0.25},
            {"variable": "b", "from": 1, "to": 1000, "count": 4},
        ]
        self.assertEqual(found["plan"], {"kind": "GRID", "levels": levels})
        second = {"name": "b", "kind": "INTEGER", "unit": "Hz", "lower": 1, "upper": 1000, "scale": "LOGARITHMIC"}
        self.assertEqual(found["variables"], [{"name": "a", "lower": 0, "upper": 1}, second])
        bounds = {"a": Range(0, 1)}
        for plan, asked in (
            (LatinHypercube(8), {"kind": "LATIN_HYPERCUBE", "count": 8, "seed": 0}),
            (Sobol(8), {"kind": "SOBOL", "count": 8}),
            (Sobol(8, seed=3), {"kind": "SOBOL", "count": 8, "seed": 3}),
        ):
            self.assertEqual(fields(vary=bounds, plan=plan)["plan"], asked)

    def test_points_make_a_list_whose_texts_are_told_from_numbers(self) -> None:
        found = fields(points=[{"a": 1, "b": 2}, {"a": 1.5, "b": "x"}])
        self.assertEqual(found["variables"], [{"name": "a"}, {"name": "b", "kind": "TEXT"}])
        self.assertEqual(found["plan"], {"kind": "LIST", "points": [{"a": 1, "b": "2"}, {"a": 1.5, "b": "x"}]})
        bounded = fields(points=({"a": value} for value in (1, 2)), vary={"a": Range(1, 2)})
        self.assertEqual(bounded["variables"], [{"name": "a", "lower": 1, "upper": 2}])

    def test_one_variable_at_a_time_has_the_first_levels_as_its_base(self) -> None:
        vary = {"a": [1, 2], "b": range(3, 6), "c": ["x", "y"], "d": Range(0, 9)}
        plan = fields(vary=vary, plan=OneAtATime({"c": "y", "d": 5}))["plan"]
        self.assertEqual(plan["base"], {"a": 1, "b": 3, "c": "y", "d": 5})
        self.assertEqual([each["variable"] for each in plan["levels"]], ["a", "b", "c"])
        self.assertEqual(fields(vary=vary, plan=Open())["plan"], {"kind": "OPEN"})

    def test_asks_for_reuse_and_bundles_only_if_wanted(self) -> None:
        plain = study_fields({"a": [1]}, None, None, None, None)
        self.assertNotIn("reuse", plain)
        self.assertNotIn("bundle", plain)
        found = study_fields({"a": [1]}, None, None, None, None, reuse=True, bundle=True)
        self.assertEqual((found["reuse"], found["bundle"]), (True, True))

    def test_values_have_a_short_form(self) -> None:
        table = {"kind": "CSV", "delimiter": ";", "column": 1, "take": "LAST"}
        values = {
            "stress": "out/result.json#$.stress[0]",
            "force": "motion.csv:force:max",
            "end": "motion.csv:2",
            "odd": "motion.csv:force:N:last",
            "time": r"log~took: (\S+) s",
            "own": {"kind": "TEXT", "source": {"kind": "LOG"}, "reader": table},
        }
        success = {"stress": (None, 400), "force": (1, 2.5), "end": (-math.inf, math.inf)}
        found = fields(vary={"a": [1]}, values=values, success=success, stop=StopRules(3, 60, {"stress": (None, 300)}))

        def file(path: str) -> Dict[str, str]:
            return {"kind": "FILE", "path": path}

        def csv(column: object, take: str) -> Dict[str, object]:
            return {"kind": "CSV", "column": column, "take": take}

        pattern = {"kind": "REGULAR_EXPRESSION", "pattern": r"took: (\S+) s"}
        json_path = {"kind": "JSON_PATH", "path": "$.stress[0]"}
        asked = [
            {"name": "stress", "source": file("out/result.json"), "reader": json_path},
            {"name": "force", "source": file("motion.csv"), "reader": csv("force", "MAX")},
            {"name": "end", "source": file("motion.csv"), "reader": csv(2, "LAST")},
            {"name": "odd", "source": file("motion.csv"), "reader": csv("force:N", "LAST")},
            {"name": "time", "source": {"kind": "LOG"}, "reader": pattern},
            {"name": "own", "kind": "TEXT", "source": {"kind": "LOG"}, "reader": table},
        ]
        self.assertEqual(found["values"], asked)
        bounds = [{"value": "stress", "upper": 400}, {"value": "force", "lower": 1, "upper": 2.5}, {"value": "end"}]
        self.assertEqual(found["success"], bounds)
        self.assertEqual(found["stopAfterFailures"], 3)
        self.assertEqual(found["stopAfter"], 60)
        self.assertEqual(found["stopWhen"], [{"value": "stress", "upper": 300}])

    def test_what_cannot_be_asked_is_refused_before_anything_is_sent(self) -> None:
        wrong: Dict[str, Dict[str, Any]] = {
            "needs vary": {},
            "at least one point": {"points": []},
            "either points, or a plan": {"points": [{"a": 1}], "plan": Open()},
            "list of values": {"vary": {"a": "12"}},
            "belongs to variables": {"vary": {"a": 12}},
            "at least one value": {"vary": {"a": range(0)}},
            "bounds only": {"vary": {"a": Range(0, 1)}},
            "both bounds": {"vary": {"a": Range(0, step=1)}},
            "step or count": {"vary": {"a": Range(0, 1, step=1, count=2)}},
            "finite": {"vary": {"a": [math.nan]}},
            "must be numbers": {"vary": {"a": Range("0", 1)}},  # type: ignore[arg-type]
            "takes samples": {"vary": {"a": [1, 2]}, "plan": Sobol(4)},
            "plan must be": {"vary": {"a": [1, 2]}, "plan": "SOBOL"},
            "must be like": {"vary": {"a": [1]}, "values": {"b": "result.json"}},
            "one of first, last": {"vary": {"a": [1]}, "values": {"b": "a.csv:x:largest"}},
        }
        for message, options in wrong.items():
            with self.subTest(message), self.assertRaisesRegex(UsageError, message):
                fields(**options)

    def test_the_job_is_that_of_a_task(self) -> None:
        with StudyServer() as server, Hub(server.url, progress=False) as hub:
            job: Dict[str, Any] = {"variables": {"k": 1.5}, "labels": ["x"], "version": "9.1", "time_limit": 60}
            job["note"] = "n"
            study = hub.study("bearing", script=b"1", files={"a.txt": b"x"}, vary={"a": [1]}, **job)
            self.assertEqual((study.id, study.name), ("s1", "bearing"))
            created = server.body_of("POST", "/api/x/studies")
        self.assertEqual(created["name"], "bearing")
        self.assertEqual(created["inputScripts"], [{"content": "MQ=="}])
        self.assertEqual(created["additionalFiles"], [{"filename": "a.txt", "content": "eA=="}])
        self.assertEqual(created["variablesToInject"], [{"key": "k", "value": "1.5"}])
        self.assertEqual((created["timeLimit"], created["note"]), (60, "n"))
        self.assertEqual([each["type"] for each in created["classifiers"]], ["VERSION", "LABLES"])
        self.assertEqual(created["variables"], [{"name": "a"}])


class StudyServer:
    """A hub with one study, `s1`, whose points end as a test says."""

    def __init__(self, is_open: bool = True, values: Sequence[str] = ("y",)) -> None:
        self.is_open = is_open
        self.state = "RUNNING"
        self.message: Optional[str] = None
        self.points: List[Dict[str, Any]] = []
        self.waiting = 0
        self.limit_of_a_page = 1000
        # Called before each response, with the request.
        self.before: Callable[[Request], Optional[Answer]] = lambda _: None
        self.variables = [{"name": "x", "kind": "NUMBER"}, {"name": "oil", "kind": "TEXT"}]
        self.values = [{"name": name, "kind": "TEXT" if name == "word" else "NUMBER"} for name in values]
        self._server = Server(self._answer)

    def __enter__(self) -> StudyServer:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    @property
    def url(self) -> str:
        return self._server.url

    def paths(self, method: str) -> List[str]:
        return [each.path for each in self._server.requests if each.method == method]

    def targets(self) -> List[str]:
        return [urllib.parse.unquote(each.target) for each in self._server.requests]

    def body_of(self, method: str, path: str) -> Any:
        asked = [each for each in self._server.requests if (each.method, each.path) == (method, path)]
        return json.loads(asked[-1].body)

    def begin(self, variables: Dict[str, Any]) -> Dict[str, Any]:
        number = len(self.points) + 1
        point: Dict[str, Any] = {"number": number, "tries": 1, "taskId": f"t{number}"}
        point.update(variables=variables, values={})
        self.points.append(point)
        return point

    def end(self, number: int, outcome: str = "FINISHED", **more: Any) -> None:
        self.points[number - 1].update(outcome=outcome, **more)

    def study(self) -> Dict[str, Any]:
        counts: Dict[str, int] = {outcome: 0 for outcome in OUTCOMES}
        for point in self.points:
            if "outcome" in point:
                counts[point["outcome"]] += 1
        is_open = len(self.points) - sum(counts.values())
        total = {"total": len(self.points) + self.waiting, "waiting": self.waiting, "open": is_open}
        return {
            **{"id": "s1", "name": "bearing", "state": self.state, "open": self.is_open},
            **({} if self.message is None else {"message": self.message}),
            **{"variables": self.variables, "values": self.values, "points": {**total, **counts}},
        }

    def _answer(self, request: Request) -> Optional[Answer]:
        found = self.before(request)
        if found is not None:
            return found
        if request.path == "/api/x/studies" and request.method == "GET":
            return json_answer({"studies": [self.study()]})
        last = request.path.rsplit("/", 1)[-1]
        if request.method == "GET" and last == "points":
            return json_answer(self._page(urllib.parse.parse_qs(request.target.partition("?")[2])))
        if request.method == "POST" and last == "points":
            for point in json.loads(request.body)["plan"]["points"]:
                self.begin(point)
        if request.method == "POST" and last == "retry":
            wanted = json.loads(request.body)["outcomes"]
            retried = [point for point in self.points if point.get("outcome") in wanted]
            for point in retried:
                del point["outcome"]
                point["tries"] += 1
            return json_answer({"retried": len(retried)})
        if request.method == "POST" and last in ("pause", "resume", "stop"):
            self.state = {"pause": "PAUSED", "resume": "RUNNING", "stop": "STOPPED"}[last]
        return json_answer(self.study())

    def _page(self, query: Dict[str, List[str]]) -> Dict[str, Any]:
        after = int(query.get("after", ["0"])[0])
        wanted = query["outcome"][0].split(",") if "outcome" in query else []
        found = [
            point
            for point in self.points
            if point["number"] > after and (not wanted or point.get("outcome", "OPEN") in wanted)
        ]
        limit = min(int(query["limit"][0]), self.limit_of_a_page)
        more = {"next": found[limit - 1]["number"]} if len(found) > limit else {}
        return {"points": found[:limit], **more}


class Served(unittest.TestCase):
    """A test with a study of a server."""

    def serve(self, **options: Any) -> Study:
        self.server = StudyServer(**options)
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        self.hub = Hub(self.server.url, progress=False, retry_for=5)
        self.addCleanup(self.hub.close)
        for name in ("FIRST_LOOK_S", "BUSY_LOOK_S"):
            patch = mock.patch(f"workbench_hub._study.{name}", 0.001)
            patch.start()
            self.addCleanup(patch.stop)
        return self.hub.find_study("bearing")


class Rows(Served):
    def test_a_row_has_the_same_columns_whatever_is_missing(self) -> None:
        study = self.serve(values=["y", "word", "cause"])
        self.server.begin({"x": 1, "oil": "thin"})
        self.server.end(1, values={"y": "NaN", "word": "NaN", "cause": 2})
        self.server.begin({"x": 2.5, "oil": "thick"})
        self.server.end(2, values={"y": "-Infinity", "cause": 1}, missing={"word": "the log has no match"})
        self.server.begin({"x": 3, "oil": "thick"})
        self.server.end(3, "INFRASTRUCTURE", cause="LOSS", message="lost")
        self.server.begin({"x": 4, "oil": "thick"})
        first, second, third, fourth = study.points()
        columns = {"point", "outcome", "cause", "message", "task", "tries", "x", "oil", "y", "word", "value.cause"}
        for row in (first, second, third, fourth):
            self.assertEqual(set(row), columns)
        self.assertTrue(math.isnan(first["y"]))
        self.assertEqual((first["word"], first["value.cause"], first["cause"]), ("NaN", 2.0, None))
        self.assertEqual((second["y"], second["word"], second["x"]), (-math.inf, None, 2.5))
        self.assertEqual(second["message"], "word is missing: the log has no match")
        self.assertEqual((third["outcome"], third["cause"], third["message"]), ("INFRASTRUCTURE", "LOSS", "lost"))
        self.assertEqual((fourth["outcome"], fourth["y"], fourth["task"]), (None, None, "t4"))
        self.assertEqual([row["point"] for row in study.points(["OPEN", "FINISHED"])], [1, 2, 4])

    def test_rows_come_as_points_end_each_once(self) -> None:
        study = self.serve(is_open=False)
        for number in range(1, 301):
            self.server.begin({"x": number, "oil": "a"})
        # Point 2 ends last, and the others in stretches.
        ends = [[*range(3, 100)], [1, 150, 299], [*range(100, 150), *range(151, 299), 300], [2]]

        def before(request: Request) -> None:
            if request.path == "/api/x/studies/s1" and ends:
                for number in ends.pop(0):
                    self.server.end(number, "SOLVER_FAILED" if number == 150 else "FINISHED", values={"y": number})
            elif request.path == "/api/x/studies/s1":
                self.server.state = "FINISHED"

        self.server.before = before
        self.server.limit_of_a_page = 70
        rows = list(study.rows())
        self.assertEqual(sorted(row["point"] for row in rows), [*range(1, 301)])
        self.assertEqual([row["point"] for row in rows][97:100], [1, 150, 299])
        self.assertEqual([row["point"] for row in study.rows("SOLVER_FAILED")], [150])
        self.assertTrue(any("outcome=OPEN" in target for target in self.server.targets()))

    def test_rows_end_with_a_reason_when_a_study_pauses_by_itself(self) -> None:
        study = self.serve(is_open=False)
        self.server.begin({"x": 1, "oil": "a"})
        self.server.end(1)
        self.server.waiting, self.server.state, self.server.message = 5, "PAUSED", "paused by itself"
        with self.assertLogs("workbench_hub", "WARNING") as logs:
            self.assertEqual(len(list(study.rows())), 1)
        self.assertEqual([record.getMessage() for record in logs.records], ["study bearing: paused by itself"])

    def test_the_reason_why_points_wait_is_told(self) -> None:
        study = self.serve(is_open=False)
        self.server.begin({"x": 1, "oil": "a"})
        reason = {"verdict": "NEVER"}
        task = {"id": "t1", "status": "WAITING", "waitReason": reason, "message": "no instance fits"}

        def before(request: Request) -> Optional[Answer]:
            if request.path != "/api/x/tasks/t1":
                return None
            self.server.end(1)
            self.server.state = "FINISHED"
            return json_answer(task)

        self.server.before = before
        with mock.patch("workbench_hub._study.REASON_S", 0), self.assertLogs("workbench_hub", "WARNING") as logs:
            study.wait()
        self.assertEqual([record.getMessage() for record in logs.records], ["task t1: no instance fits"])

    def test_progress_counts_points(self) -> None:
        study = self.serve()
        self.server.begin({"x": 1, "oil": "a"})
        self.server.end(1, "RULE_FAILED")
        seen: List[Progress] = []
        study.wait(progress=seen.append)
        self.assertEqual(seen, [Progress("study bearing", 1, 1, "points", "0 in progress, 1 failed")])
        stream = io.StringIO()
        with contextlib.redirect_stderr(stream):
            study.wait(progress=True)
        self.assertIn("1/1", stream.getvalue())

    def test_a_wait_has_a_limit(self) -> None:
        study = self.serve(is_open=False)
        self.server.begin({"x": 1, "oil": "a"})
        with self.assertRaisesRegex(WaitTimeout, "the study bearing has not ended within 0.01 s"):
            study.wait(0.01)


class Evaluations(Served):
    def end_at_looks(self, *ends: Dict[int, str]) -> None:
        """Lets points end at each look at the study, in these steps."""
        left = list(ends)

        def before(request: Request) -> None:
            if request.method == "GET" and request.path == "/api/x/studies/s1" and self.server.points and left:
                for number, outcome in left.pop(0).items():
                    self.server.end(number, outcome, values={"y": 10 * number})

        self.server.before = before

    def test_rows_are_in_the_order_of_the_points(self) -> None:
        study = self.serve()
        self.server.begin({"x": 0, "oil": "a"})
        self.server.end(1)
        self.end_at_looks({}, {3: "FINISHED"}, {2: "RULE_FAILED", 4: "FINISHED"})
        rows = study.evaluate({"x": x, "oil": 5} for x in (7, 8, 9))
        self.assertEqual([(row["point"], row["x"], row["y"]) for row in rows], [(2, 7, 20), (3, 8, 30), (4, 9, 40)])
        self.assertEqual([row["outcome"] for row in rows], ["RULE_FAILED", "FINISHED", "FINISHED"])
        plan = self.server.body_of("POST", "/api/x/studies/s1/points")["plan"]
        self.assertEqual(plan, {"kind": "LIST", "points": [{"x": x, "oil": "5"} for x in (7, 8, 9)]})

    def test_points_lost_with_the_infrastructure_are_tried_again(self) -> None:
        study = self.serve()
        self.end_at_looks({1: "INFRASTRUCTURE", 2: "FINISHED"}, {1: "INFRASTRUCTURE"}, {1: "FINISHED"})
        points = [{"x": 1, "oil": "a"}, {"x": 2, "oil": "a"}]
        rows = study.evaluate(points, retries=2)
        self.assertEqual([(row["outcome"], row["tries"]) for row in rows], [("FINISHED", 3), ("FINISHED", 1)])
        self.assertEqual(self.server.body_of("POST", "/api/x/studies/s1/retry"), {"outcomes": ["INFRASTRUCTURE"]})
        self.end_at_looks({}, {3: "INFRASTRUCTURE"})
        self.assertEqual(study.evaluate(points[:1], retries=0)[0]["outcome"], "INFRASTRUCTURE")

    def test_a_study_that_is_halted_is_told(self) -> None:
        study = self.serve()
        self.server.state, self.server.message = "PAUSED", "paused by itself at its first results"
        with self.assertRaisesRegex(StudyHalted, "do not begin, since it is PAUSED: paused by itself") as caught:
            study.evaluate([{"x": 1, "oil": "a"}])
        self.assertEqual(caught.exception.details["state"], "PAUSED")
        self.assertEqual(self.server.points, [])

    def test_a_stop_in_the_middle_is_told(self) -> None:
        study = self.serve()

        def before(request: Request) -> None:
            if self.server.points:
                self.server.state = "STOPPED"
                if len(self.server.points) > 1:
                    self.server.points.pop()
                    self.server.waiting = 1
                self.server.end(1, "CANCELED")

        self.server.before = before
        with self.assertRaisesRegex(StudyHalted, r"since it is STOPPED; resume\(\)"):
            study.evaluate([{"x": 1, "oil": "a"}, {"x": 2, "oil": "a"}])

    def test_points_of_another_program_are_not_taken_for_those_asked(self) -> None:
        study = self.serve()

        def before(request: Request) -> Optional[Answer]:
            if request.method != "POST":
                return None
            for point in [*json.loads(request.body)["plan"]["points"], {"x": 99, "oil": "other"}]:
                self.server.end(self.server.begin(point)["number"])
            return json_answer(self.server.study())

        self.server.before = before
        with self.assertRaisesRegex(WorkbenchError, "another program added points"):
            study.evaluate([{"x": 1, "oil": "a"}])

    def test_threads_evaluate_at_the_same_time(self) -> None:
        study = self.serve()
        lock = threading.Lock()

        def before(request: Request) -> None:
            with lock:
                for point in self.server.points:
                    point.update(outcome="FINISHED", values={"y": 2 * point["variables"]["x"]})

        self.server.before = before

        def one(x: int) -> float:
            return float(study.evaluate([{"x": x, "oil": "a"}])[0]["y"])

        with ThreadPoolExecutor(8) as pool:
            self.assertEqual(list(pool.map(one, range(40))), [2.0 * x for x in range(40)])

        async def both() -> List[float]:
            return await asyncio.gather(*(asyncio.to_thread(one, x) for x in (50, 60)))

        self.assertEqual(asyncio.run(both()), [100.0, 120.0])

    def test_numbers_of_points_that_were_added(self) -> None:
        study = self.serve()
        self.assertEqual(study.add([{"x": 1, "oil": "a"}, {"x": 2, "oil": "a"}]), [1, 2])
        self.assertEqual(study.add([{"x": 3, "oil": "a"}]), [3])
        with self.assertRaisesRegex(UsageError, "at least one point"):
            study.add([])


class Changes(Served):
    def test_an_open_study_is_stopped_at_the_end_of_its_block(self) -> None:
        with self.serve():
            pass
        self.assertEqual(self.server.paths("POST"), ["/api/x/studies/s1/stop"])
        self.server.before = lambda request: error_answer(409, "it has ended") if request.method == "POST" else None
        with self.hub.find_study("bearing"):
            pass

    def test_another_study_goes_on_after_its_block(self) -> None:
        with self.serve(is_open=False):
            pass
        self.assertEqual(self.server.paths("POST"), [])

    def test_a_change_whose_answer_was_lost_is_made_once(self) -> None:
        study = self.serve()
        for change, state in (("pause", "PAUSED"), ("resume", "RUNNING"), ("stop", "STOPPED")):
            answers: List[Optional[Answer]] = [None, error_answer(409, "its state forbids it")]

            def before(request: Request) -> Optional[Answer]:
                if request.method != "POST":
                    return None
                self.server.state = state
                found = answers.pop(0)
                return found if found is not None else (200, {"Content-Length": "50"}, b"{")

            self.server.before = before
            with self.subTest(change):
                made: Callable[[], None] = getattr(study, change)
                made()

    def test_refusals_have_the_class_of_their_status(self) -> None:
        study = self.serve()
        self.server.before = lambda request: error_answer(409, "study s1 is STOPPED")
        calls: List[Callable[[], object]] = [study.pause, study.resume, study.stop, study.delete]
        calls.append(lambda: study.retry("CANCELED"))
        for call in calls:
            with self.assertRaisesRegex(Conflict, "study s1 is STOPPED"):
                call()
        with self.assertRaises(Conflict):
            study.add([{"x": 1, "oil": "a"}])
        self.server.before = lambda request: error_answer(404, "there is no study")
        with self.assertRaises(NotFound):
            study.state()

    def test_an_addition_whose_answer_was_lost_is_not_repeated_on_a_hub_that_takes_no_key(self) -> None:
        study = self.serve()
        cut = (200, {"Content-Length": "50"}, b"{")

        def answer(request: Request) -> Optional[Answer]:
            if request.path == "/openapi.json":
                return json_answer({"paths": {}})
            return cut if request.method == "POST" else None

        self.server.before = answer
        with self.assertRaisesRegex(LostAnswer, r"look at points\(\)"):
            study.add([{"x": 1, "oil": "a"}])
        with self.assertRaisesRegex(LostAnswer, r"find_study\(\)"):
            self.hub.study("bearing", script=b"1", vary={"a": [1]})
        self.assertEqual(len(self.server.paths("POST")), 2)

    def test_an_addition_whose_answer_was_lost_is_repeated_with_its_key(self) -> None:
        study = self.serve()
        details: Dict[str, Any] = dict(study.details())
        takes_key = {"post": {"parameters": [{"in": "header", "name": "Idempotency-Key"}]}}
        keys: List[str] = []

        def answer(request: Request) -> Optional[Answer]:
            if request.path == "/openapi.json":
                return json_answer({"paths": {"/api/x/studies/{id}/points": takes_key}})
            if request.method != "POST":
                return None
            keys.append(str(request.headers["idempotency-key"]))
            if len(keys) == 1:
                return (200, {"Content-Length": "50"}, b"{")
            # Another program has added five points meanwhile.
            points = {**details["points"], "total": 8}
            return json_answer({**details, "points": points, "added": {"first": 2, "count": 2}})

        self.server.before = answer
        self.assertEqual(study.add([{"x": 1, "oil": "a"}, {"x": 2, "oil": "a"}]), [2, 3])
        self.assertEqual(len(keys), 2)
        self.assertEqual(keys[0], keys[1])

    def test_its_tasks_are_read_in_parts(self) -> None:
        study = self.serve()

        def answer(request: Request) -> Optional[Answer]:
            if request.path != "/api/x/tasks":
                return None
            query = urllib.parse.parse_qs(request.target.partition("?")[2])
            self.assertEqual((query["study"], query.get("status", [])), (["s1"], ["FAILED"]))
            begin = int(query.get("after", ["0"])[0])
            ids = [str(each) for each in range(begin, min(begin + int(query["limit"][0]), 5000))]
            return json_answer({"tasks": [{"id": each} for each in ids], **({"next": str(begin + 2000)} if ids else {})})

        self.server.before = answer
        self.assertEqual(len(study.tasks(status="FAILED")), 5000)
        self.assertEqual([each["id"] for each in study.tasks(status=["FAILED"], limit=2001)][-1], "2000")

    def test_the_result_of_a_point_is_that_of_its_task(self) -> None:
        study = self.serve()
        self.server.begin({"x": 1, "oil": "a"})
        result = {"id": "t1", "status": "FAILED", "outputFiles": []}
        self.server.before = lambda request: json_answer(result) if request.path.endswith("/result") else None
        self.assertEqual(study.result(1).id, "t1")
        with self.assertRaisesRegex(LookupError, "no point 2"):
            study.result(2)


class Found(unittest.TestCase):
    def found(self, studies: List[Dict[str, Any]], name: str) -> str:
        details = {"name": name, "open": True, "variables": [], "values": []}

        def answer(request: Request) -> Answer:
            if request.path == "/api/2.0/user":
                return json_answer({"username": "anna"})
            if request.path == "/api/x/studies":
                query = urllib.parse.parse_qs(request.target.partition("?")[2])
                place = int(query.get("after", ["0"])[0])
                named = [each for each in studies if each["name"] == query["name"][0]]
                more = {"next": str(place + 1)} if place + 1 < len(named) else {}
                return json_answer({"studies": named[place : place + 1], **more})
            study_id = request.path.rsplit("/", 1)[-1]
            if any(each["id"] == study_id for each in studies):
                return json_answer({**details, "id": study_id})
            return error_answer(404, f"there is no study with the id {study_id}")

        with Server(answer) as server, Hub(server.url) as hub:
            return hub.find_study(name).id

    def test_a_name_finds_the_newest_study_of_the_user(self) -> None:
        studies = [
            {"id": "4", "name": "other", "creator": "anna"},
            {"id": "3", "name": "bearing", "creator": "otto"},
            {"id": "2", "name": "bearing", "creator": "anna"},
            {"id": "1", "name": "bearing", "creator": "anna"},
        ]
        self.assertEqual(self.found(studies, "bearing"), "2")
        self.assertEqual(self.found(studies, "3"), "3")
        with self.assertRaisesRegex(NotFound, "no study with the name 'gear', and there is none with this id"):
            self.found(studies, "gear")

    def test_without_security_all_studies_are_those_of_the_user(self) -> None:
        self.assertEqual(self.found([{"id": "2", "name": "a"}, {"id": "1", "name": "a"}], "a"), "2")


class OnAHub(OnSite):
    job: Dict[str, Any] = {"model": MODEL, "script": SCRIPT, "labels": ["mujoco"]}

    def test_a_grid_gives_rows_and_outputs(self) -> None:
        values = {"range": "throw.json#$.range", "told": r"log~range (\S+) m"}
        vary, success = {"angle": [15, 45, 75], "aim": [0]}, {"range": (30, None)}
        study = self.hub.study("grid", vary=vary, values=values, success=success, **self.job)
        rows = sorted(study.rows(), key=lambda row: int(row["point"]))
        self.assertEqual([row["outcome"] for row in rows], ["RULE_FAILED", "FINISHED", "RULE_FAILED"])
        self.assertAlmostEqual(rows[1]["range"], 20**2 / 9.81, delta=0.01)
        self.assertAlmostEqual(rows[1]["told"], rows[1]["range"], delta=0.001)
        self.assertEqual(study.result(2).json("throw.json")["range"], rows[1]["range"])
        again = self.hub.find_study("grid")
        self.assertEqual((again.id, again.retry("RULE_FAILED")), (study.id, 2))
        self.assertEqual(again.wait()["points"]["RULE_FAILED"], 2)
        self.assertEqual([row["tries"] for row in again.points()], [2, 1, 2])
        tasks = [each["study"] for each in study.tasks()]
        self.assertEqual(sorted(each["point"] for each in tasks), [1, 1, 2, 3, 3])
        self.assertEqual({each["id"] for each in tasks}, {study.id})
        self.assertEqual((len(study.tasks(status="FINISHED", limit=2)), study.tasks(status="WAITING")), (2, []))
        self.assertEqual([each["id"] for each in self.hub.studies("grid")], [study.id])
        again.delete()
        with self.assertRaises(NotFound):
            self.hub.find_study("grid")

    def test_an_open_study_evaluates_points(self) -> None:
        vary = {"angle": Range(5, 85), "aim": Range(-60, 60)}
        values = {"range": "throw.json#$.range"}
        with self.hub.study("open", vary=vary, plan=Open(), values=values, **self.job) as study:
            for angle in (30, 40.5):
                rows = study.evaluate([{"angle": angle, "aim": 0}, {"angle": angle, "aim": 60}])
                self.assertEqual([row["angle"] for row in rows], [angle, angle])
                self.assertAlmostEqual(rows[1]["range"], rows[0]["range"] / 2, delta=0.1)
            with self.assertRaisesRegex(InvalidInput, "must be at most 85"):
                study.evaluate([{"angle": 99, "aim": 0}])
            self.assertEqual(len(list(study.rows())), 4)
        self.assertEqual(study.state(), "STOPPED")
        with self.assertRaises(Conflict):
            study.add([{"angle": 40, "aim": 0}])

    def test_failures_and_numbers_that_json_does_not_know(self) -> None:
        script = b"if (n === '2') throw new Error('no'); println('value', { 1: 'Inf', 3: 'NaN' }[n] ?? 'none')"
        points, values = [{"n": n} for n in (1, 2, 3, 4)], {"v": r"log~value ([^n]\S+)"}
        study = self.hub.study("odd", script=script, labels=["node"], points=points, values=values)
        rows = sorted(study.rows(), key=lambda row: int(row["point"]))
        self.assertEqual([row["outcome"] for row in rows], ["FINISHED", "SOLVER_FAILED", "FINISHED", "FINISHED"])
        self.assertEqual((rows[0]["v"], rows[1]["v"], rows[3]["v"]), (math.inf, None, None))
        self.assertTrue(math.isnan(rows[2]["v"]))
        self.assertRegex(str(rows[3]["message"]), "^v is missing: ")

    def test_a_stopped_study_goes_on_where_it_was(self) -> None:
        script = b"setTimeout(() => undefined, 600000 * wait)"
        study = self.hub.study("stop", script=script, labels=["node"], vary={"wait": [1]})
        study.pause()
        study.resume()
        study.stop()
        self.assertEqual(study.wait()["points"]["waiting"] + len(study.points("CANCELED")), 1)
        study.delete()
