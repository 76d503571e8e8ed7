"""Points of a study as rows, and the search for those that have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Literal, Optional, Sequence, Set, Tuple, Union

from ._calls import Calls

if TYPE_CHECKING:
    from . import schemas

PointOutcome = Literal["FINISHED", "REUSED", "SOLVER_FAILED", "RULE_FAILED", "INFRASTRUCTURE", "CANCELED"]
PointState = Union[PointOutcome, Literal["OPEN"]]
Row = Dict[str, Any]

POINTS_OF_A_REQUEST = 1000
# Numbers between two points up to which both are read by one request.
GAP = 50
# Columns of a row that no variable and no value may hide.
COLUMNS = ("point", "outcome", "cause", "message", "task", "tries")


class Table:
    """Rows of one study, with the same columns in each."""

    def __init__(self, study: schemas.Study) -> None:
        self._variables = [(each["name"], _column("variable", each["name"])) for each in study["variables"]]
        self._values = [
            (each["name"], _column("value", each["name"]), each["kind"] == "NUMBER") for each in study["values"]
        ]

    def row(self, point: schemas.StudyPoint) -> Row:
        row: Row = {
            "point": point["number"],
            "outcome": point.get("outcome"),
            "cause": point.get("cause"),
            "message": point.get("message") or _missing(point) or point.get("notReused"),
            "task": point["taskId"],
            "tries": point["tries"],
        }
        for name, column in self._variables:
            row[column] = point["variables"].get(name)
        for name, column, is_number in self._values:
            value = point["values"].get(name)
            # Numbers that JSON does not know are texts, which Python reads.
            row[column] = float(value) if is_number and value is not None else value
        return row


def points_of(
    calls: Calls, path: str, after: int = 0, last: Optional[int] = None, outcomes: Sequence[str] = ()
) -> Iterator[schemas.StudyPoint]:
    """Points that have begun with numbers greater than `after` and up to `last`, by number."""
    while last is None or after < last:
        limit = POINTS_OF_A_REQUEST if last is None else min(POINTS_OF_A_REQUEST, last - after)
        query = {"after": after, "limit": limit, "outcome": ",".join(outcomes) or None}
        page: schemas.StudyPointList = calls.json("GET", f"{path}/points", query=query)
        for point in page["points"]:
            if last is not None and point["number"] > last:
                return
            yield point
        if "next" not in page:
            return
        after = page["next"]


class EndedPoints:
    """Points with numbers greater than `after` and up to `last`, each told once: at the first look after its end.

    A look reads what is new, and not all points again: those that have begun since, and of the others those that are no
    longer among the few whose tasks wait or run.
    """

    def __init__(self, calls: Calls, path: str, after: int = 0, last: Optional[int] = None) -> None:
        self._calls = calls
        self._path = path
        self._begun = after
        self._last = last
        self._running: Set[int] = set()

    def follow_again(self, numbers: Iterable[int]) -> None:
        """Tells these once more, which are tried again."""
        self._running.update(numbers)

    def look(self) -> List[schemas.StudyPoint]:
        """Points that have ended since the last look, by number."""
        found = list(self._of_running())
        for point in points_of(self._calls, self._path, self._begun, self._last):
            self._begun = point["number"]
            if "outcome" in point:
                found.append(point)
            else:
                self._running.add(point["number"])
        return sorted(found, key=lambda point: point["number"])

    def _of_running(self) -> Iterator[schemas.StudyPoint]:
        if not self._running:
            return
        doubtful = self._running
        first, last = min(doubtful), max(doubtful)
        if last - first > GAP:
            still = points_of(self._calls, self._path, first - 1, last, ["OPEN"])
            doubtful = doubtful - {point["number"] for point in still}
        for low, high in _stretches(sorted(doubtful)):
            for point in points_of(self._calls, self._path, low - 1, high):
                if "outcome" in point and point["number"] in self._running:
                    self._running.discard(point["number"])
                    yield point


def _stretches(numbers: Sequence[int]) -> List[Tuple[int, int]]:
    """First and last numbers of stretches without large gaps that have all of these."""
    found: List[Tuple[int, int]] = []
    for number in numbers:
        if found and number - found[-1][1] <= GAP:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _column(kind: str, name: str) -> str:
    return f"{kind}.{name}" if name in COLUMNS else name


def _missing(point: schemas.StudyPoint) -> Optional[str]:
    reasons = point.get("missing") or {}
    return "; ".join(f"{name} is missing: {reason}" for name, reason in reasons.items()) or None
