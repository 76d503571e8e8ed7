"""A study of the hub: one job at many points."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Iterator, List, Literal, Optional, Sequence, Tuple, Union

from ._calls import Query, quoted
from ._creation import Task
from ._errors import Conflict, LostAnswer, NotFound, StudyHalted, WaitTimeout, WorkbenchError
from ._following import Following
from ._keys import KEY_HEADER, new_key, takes_keys
from ._progress import Choice, Progress, Reporter
from ._reasons import LOGGER, Reasons
from ._result import Result
from ._scope import current_scope
from ._study_plan import LatinHypercube, Points, Samples, Sobol, list_of, samples_of
from ._study_points import EndedPoints, PointOutcome, PointState, Row, Table, points_of

if TYPE_CHECKING:
    from . import schemas

STUDIES = "/api/x/studies"
TASKS = "/api/x/tasks"
TASKS_OF_A_REQUEST = 2000
StudyState = Literal["RUNNING", "PAUSED", "STOPPED", "FINISHED"]

# Delay between two looks at a study, which doubles while nothing changes; the shortest one while many points are open.
FIRST_LOOK_S = 0.05
BUSY_LOOK_S = 1.0
LONGEST_LOOK_S = 2.0
MANY_OPEN = 20
# Points are read at least that often: counts may be the same after a change.
POINTS_LOOK_S = 10.0
# The reason why points wait is told after this time without a change, and asked for again after the other one.
REASON_S = 5.0
REASON_AGAIN_S = 60.0


class Study:
    """A study, which `hub.study` creates and `hub.find_study` finds. Threads share it.

    At the end of a `with` block, a study with the plan `Open` is stopped; any other goes on.
    """

    def __init__(self, hub: Following, details: schemas.Study) -> None:
        self.id: str = details["id"]
        self.name: str = details["name"]
        self._hub = hub
        self._calls = hub._calls
        self._path = f"{STUDIES}/{quoted(self.id)}"
        self._is_open = details["open"]
        self._text_names = [each["name"] for each in details["variables"] if each["kind"] == "TEXT"]
        self._table = Table(details)
        self._lock = threading.Lock()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_open:
            # Somebody may have stopped it, or deleted it.
            with suppress(Conflict, NotFound):
                self.stop()

    def __repr__(self) -> str:
        return f"<Study {self.name!r} {self.id}>"

    def details(self) -> schemas.Study:
        """State, definition, and number of points by outcome."""
        found: schemas.Study = self._calls.json("GET", self._path)
        return found

    def state(self) -> StudyState:
        """RUNNING, PAUSED, STOPPED or FINISHED."""
        return self.details()["state"]

    def wait(self, timeout: Optional[float] = None, *, progress: Choice = None) -> schemas.Study:
        """Waits until no point runs and none follows, for at most `timeout` seconds: the study is finished, stopped or
        paused, or it is open and all its points so far have ended. Raises `WaitTimeout`; the study goes on after that.
        """
        details: Optional[schemas.Study] = None
        for details, _ in self._watch(timeout, progress):
            pass
        assert details is not None
        return details

    def rows(
        self,
        outcomes: Union[PointOutcome, Sequence[PointOutcome]] = (),
        *,
        timeout: Optional[float] = None,
        progress: Choice = None,
    ) -> Iterator[Row]:
        """Points as they end, each once, until `wait` would return; with these outcomes only, if given.

        A row is a dictionary with the variables and values by their names, and `point` (its number), `outcome`,
        `cause`, `message`, `task` and `tries`. What is missing is None; `message` says why. A variable or value with the
        name of one of these columns has `variable.` or `value.` before it.
        """
        wanted = _listed(outcomes)
        ended = EndedPoints(self._calls, self._path)
        for _, is_due in self._watch(timeout, progress):
            for point in ended.look() if is_due else []:
                if not wanted or point.get("outcome") in wanted:
                    yield self._table.row(point)

    def points(self, outcomes: Union[PointState, Sequence[PointState]] = ()) -> List[Row]:
        """Rows of the points that have begun, by number, without a wait. Those whose tasks wait or run, which `OPEN`
        selects, have the outcome None."""
        found = points_of(self._calls, self._path, outcomes=_listed(outcomes))
        return [self._table.row(point) for point in found]

    def add(self, points: Union[Points, Samples]) -> List[int]:
        """Adds points, or samples, and returns their numbers. One program at a time adds points to a study.

        Raises `Conflict` when the study is stopped, and `LostAnswer` when it is unknown whether they were added.
        """
        if isinstance(points, (LatinHypercube, Sobol)):
            plan, count = samples_of(points), points.count
        else:
            plan = list_of(points, self._text_names)
            count = len(plan["points"])
        return self._add(plan, count)

    def evaluate(
        self, points: Points, *, retries: int = 1, timeout: Optional[float] = None, progress: Choice = None
    ) -> List[Row]:
        """Adds points, waits until they have ended, and returns their rows in the same order.

        Points that were given up for an INFRASTRUCTURE fault are tried again, up to `retries` times. Raises
        `StudyHalted` when the study is paused or stopped, so that points do not begin, and `WaitTimeout` after
        `timeout` seconds; the points go on after that.
        """
        plan = list_of(points, self._text_names)
        self._refuse_halted(self.details())
        numbers = self._add(plan, len(plan["points"]))
        ended = EndedPoints(self._calls, self._path, numbers[0] - 1, numbers[-1])
        rows: List[Row] = []
        found = {}
        until = None if timeout is None else time.monotonic() + timeout
        shown = progress if progress is not None else (self._hub._progress or False)
        for tries_left in range(retries, -1, -1):
            left = None if until is None else until - time.monotonic()
            for details, is_due in self._watch(left, shown):
                for point in ended.look() if is_due else []:
                    found[point["number"]] = point
                if len(found) == len(numbers):
                    break
            else:
                self._refuse_halted(details)
                text = f"the study {self.name} has ended without points {numbers[0]} to {numbers[-1]}"
                raise StudyHalted(text, details)
            lost = [number for number, point in found.items() if point.get("outcome") == "INFRASTRUCTURE"]
            if not lost or not tries_left or not self._tried_again():
                break
            for number in lost:
                del found[number]
            ended.follow_again(lost)
        for number, given in zip(numbers, plan["points"]):
            if found[number]["variables"] != given:
                raise WorkbenchError(f"another program added points to the study {self.name} at the same time")
            rows.append(self._table.row(found[number]))
        return rows

    def result(self, number: int) -> Result:
        """The result of the latest task of a point, with its outputs; waits for its end. Raises `LookupError` when the
        point has not begun."""
        for point in points_of(self._calls, self._path, number - 1, number):
            return self._hub.wait(Task(point["taskId"]), check=False)
        raise LookupError(f"the study {self.name} has no point {number} that has begun")

    def tasks(
        self, *, status: Union[str, Sequence[str]] = (), limit: Optional[int] = None
    ) -> List[schemas.TaskItem]:
        """Tasks of its points, newest first, at most `limit` of them; each try of a point is a task, and `study` has the
        number of the point."""
        statuses = [status] if isinstance(status, str) else list(status)
        found: List[schemas.TaskItem] = []
        after: Optional[str] = None
        while limit is None or len(found) < limit:
            most = TASKS_OF_A_REQUEST if limit is None else min(TASKS_OF_A_REQUEST, limit - len(found))
            query: Query = {"study": self.id, "status": statuses, "limit": most, "after": after}
            page: schemas.TaskWindow = self._calls.json("GET", TASKS, query=query)
            found.extend(page["tasks"])
            after = page.get("next")
            if after is None:
                break
        return found

    def pause(self) -> None:
        """Begins no further points; those that wait or run go on. Raises `Conflict` unless the study runs."""
        self._change("pause", ("PAUSED",))

    def resume(self) -> None:
        """Goes on after a pause or a stop, with the points that have not begun. Raises `Conflict` when it is neither
        paused nor stopped."""
        self._change("resume", ("RUNNING", "FINISHED"))

    def stop(self) -> None:
        """Cancels the tasks of the study, also those that run, and begins no further points. Raises `Conflict` when it
        has ended."""
        self._change("stop", ("STOPPED",))

    def retry(self, outcomes: Union[PointOutcome, Sequence[PointOutcome]]) -> int:
        """Tries the points with these outcomes again, under their numbers, and returns how many. Raises `Conflict` when
        the study is stopped."""
        document = {"outcomes": _listed(outcomes)}
        # A repeated request finds the points that failed again meanwhile, if any.
        found = self._calls.json("POST", f"{self._path}/retry", document=document, is_repeatable=lambda: True)
        return int(found["retried"])

    def delete(self) -> None:
        """Deletes the study with its points; their tasks stay. Raises `Conflict` unless it is stopped or finished, and
        its tasks have ended: `stop` and `wait` see to that."""
        self._calls.done("DELETE", self._path)

    def _add(self, plan: Any, count: int) -> List[int]:
        path = f"{self._path}/points"
        with self._lock:
            try:
                details: schemas.ExtendedStudy = self._calls.json(
                    "POST",
                    path,
                    document={"plan": plan},
                    headers={KEY_HEADER: new_key()},
                    is_repeatable=lambda: takes_keys(self._calls, f"{STUDIES}/{{id}}/points"),
                )
            except LostAnswer as error:
                raise LostAnswer(f"{error}: look at points()") from error
        added = details.get("added")
        # An earlier version of the hub tells only how many points there are now.
        first = details["points"]["total"] - count + 1 if added is None else added["first"]
        return list(range(first, first + count))

    def _tried_again(self) -> bool:
        try:
            self.retry("INFRASTRUCTURE")
        except Conflict:
            # The study was stopped: the points stay as they are.
            return False
        return True

    def _change(self, change: str, reached: Sequence[StudyState]) -> None:
        tries = 0

        def is_repeatable() -> bool:
            nonlocal tries
            tries += 1
            return True

        try:
            self._calls.json("POST", f"{self._path}/{change}", is_repeatable=is_repeatable)
        except Conflict:
            # An earlier try, whose answer was lost, may have made the change.
            if tries == 0 or self.state() not in reached:
                raise

    def _refuse_halted(self, details: schemas.Study) -> None:
        if details["state"] in ("PAUSED", "STOPPED"):
            reason = f": {details['message']}" if "message" in details else "; resume() lets it go on"
            text = f"points of the study {self.name} do not begin, since it is {details['state']}{reason}"
            raise StudyHalted(text, details)

    def _watch(self, timeout: Optional[float], choice: Choice) -> Iterator[Tuple[schemas.Study, bool]]:
        """The study again and again until it is at rest, and whether its points may have changed since the last look."""
        report = Reporter(self._hub._progress if choice is None else choice)
        reasons = Reasons(report, is_sweep=True)
        began = changed = due = time.monotonic()
        reason_at = REASON_S
        counts: Optional[schemas.StudyPoints] = None
        delay = FIRST_LOOK_S
        try:
            while True:
                details = self.details()
                now = time.monotonic()
                is_changed, counts = details["points"] != counts, details["points"]
                is_at_rest = self._is_at_rest(details)
                is_due = is_changed or is_at_rest or now - due >= POINTS_LOOK_S
                report(_progress_of(details))
                if is_changed:
                    changed, reason_at, delay = now, REASON_S, FIRST_LOOK_S
                if is_due:
                    due = now
                if is_at_rest:
                    self._tell_halt(details, report)
                yield details, is_due
                if is_at_rest:
                    return
                if timeout is not None and time.monotonic() - began > timeout:
                    raise WaitTimeout(f"the study {self.name} has not ended within {timeout} s; it goes on")
                if now - changed >= reason_at:
                    reason_at = now - changed + REASON_AGAIN_S
                    self._tell_reason(reasons)
                delay = max(delay, BUSY_LOOK_S) if counts["open"] > MANY_OPEN else delay
                current_scope().sleep(delay)
                delay = min(2 * delay, LONGEST_LOOK_S)
        except KeyboardInterrupt:
            if not self._is_open:
                report.say(f"The study {self.name} goes on; find_study({self.id!r}) finds it again.")
            raise
        finally:
            report.end()

    def _is_at_rest(self, details: schemas.Study) -> bool:
        points = details["points"]
        if points["open"] > 0:
            return False
        return details["state"] != "RUNNING" or (details["open"] and points["waiting"] == 0)

    def _tell_halt(self, details: schemas.Study, report: Reporter) -> None:
        """Tells why a study paused or stopped by itself: a loop over its rows ends early then."""
        if details["state"] not in ("PAUSED", "STOPPED") or "message" not in details:
            return
        text = f"study {self.name}: {details['message']}"
        if report.has_bar:
            report.say(text)
        else:
            LOGGER.warning("%s", text)

    def _tell_reason(self, reasons: Reasons) -> None:
        """Tells why points wait, by the task of the first of them."""
        with suppress(NotFound):
            for point in points_of(self._calls, self._path, outcomes=["OPEN"]):
                reasons.tell(self._calls.json("GET", f"/api/x/tasks/{quoted(point['taskId'])}"))
                return


def _progress_of(details: schemas.Study) -> Progress:
    points = details["points"]
    failed = points["SOLVER_FAILED"] + points["RULE_FAILED"] + points["INFRASTRUCTURE"]
    done = points["total"] - points["waiting"] - points["open"]
    detail = f"{points['open']} in progress" + (f", {failed} failed" if failed else "")
    return Progress(f"study {details['name']}", done, points["total"], "points", detail)


def _listed(outcomes: Union[str, Sequence[str]]) -> List[str]:
    return [outcomes] if isinstance(outcomes, str) else list(outcomes)
