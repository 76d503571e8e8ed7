"""Many jobs at once: tasks of points, or calls of a function, with a bounded number in flight."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Callable, Deque, Generic, Iterable, Iterator, Optional, Sized, Tuple, TypeVar

from ._progress import Progress, Reporter
from ._scope import Scope, current_scope, enter_scope

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

# Finished and unfinished items that are held for a consumer that wants them in order, for each one in flight.
HELD = 4
# Interval of looks at interrupts, which some systems do not deliver to a thread that waits.
LOOK_S = 1.0


class Pool(Generic[Item, Outcome]):
    """Runs `work` for each item in threads. Items are taken late: at most `HELD` times `in_flight` are begun and not yet given.

    When the iteration is left early, by an error, an interrupt or `close`, the requests of all threads are ended.
    """

    def __init__(
        self,
        work: Callable[[int, Item], Outcome],
        items: Iterable[Item],
        in_flight: int,
        report: Reporter,
        has_failed: Callable[[Outcome], bool],
    ) -> None:
        self._work = work
        self._items = enumerate(items)
        self._in_flight = in_flight
        self._report = report
        self._has_failed = has_failed
        self._total = len(items) if isinstance(items, Sized) else None
        self._lock = threading.Lock()
        self._working = self._done = self._failed = 0
        self._scope = Scope()

    def ordered(self) -> Iterator[Outcome]:
        """Outcomes in the order of the items."""
        return self._run(_first)

    def completed(self) -> Iterator[Outcome]:
        """Outcomes as they come."""
        return self._run(_any)

    def _run(
        self, choose: Callable[[Deque[Future[Outcome]]], Optional[Future[Outcome]]]
    ) -> Iterator[Outcome]:
        outer = current_scope()
        executor = ThreadPoolExecutor(self._in_flight, "workbench", lambda: enter_scope(self._scope))
        held: Deque[Future[Outcome]] = deque()
        is_complete = False
        try:
            self._tell()
            self._fill(executor, held)
            while held:
                chosen = choose(held)
                if chosen is None:
                    # Raises when the iteration is itself in a thread whose requests were ended.
                    outer.sleep(0)
                    continue
                held.remove(chosen)
                self._fill(executor, held)
                yield chosen.result()
            is_complete = True
        finally:
            for each in held:
                each.cancel()
            if not is_complete:
                self._scope.end()
            executor.shutdown(wait=True)
            self._report.end()

    def _fill(self, executor: ThreadPoolExecutor, held: Deque[Future[Outcome]]) -> None:
        while len(held) < self._in_flight * HELD:
            taken: Optional[Tuple[int, Item]] = next(self._items, None)
            if taken is None:
                return
            held.append(executor.submit(self._one, *taken))

    def _one(self, number: int, item: Item) -> Outcome:
        with self._lock:
            self._working += 1
        self._tell()
        has_failed = True
        try:
            outcome = self._work(number, item)
            has_failed = self._has_failed(outcome)
            return outcome
        finally:
            with self._lock:
                self._working -= 1
                self._done += 1
                self._failed += has_failed
            self._tell()

    def _tell(self) -> None:
        with self._lock:
            failed = f", {self._failed} failed" if self._failed else ""
            detail = f"{self._working} in flight{failed}"
            progress = Progress("map", self._done, self._total, "tasks", detail)
        self._report(progress)


def _first(held: Deque[Future[Outcome]]) -> Optional[Future[Outcome]]:
    wait([held[0]], LOOK_S)
    return held[0] if held[0].done() else None


def _any(held: Deque[Future[Outcome]]) -> Optional[Future[Outcome]]:
    wait(held, LOOK_S, FIRST_COMPLETED)
    return next((each for each in held if each.done()), None)
