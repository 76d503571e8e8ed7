"""What the scripts of a task print, as it is printed."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, NamedTuple, Optional

from ._result import ENDED
from ._scope import current_scope

SHORTEST_DELAY_S = 0.2
LONGEST_DELAY_S = 2.0
# Length of the beginning of a window that is looked for in what was seen before.
PROBE = 256
SKIPPED = "\n[some of the output was skipped]\n"


class LogPart(NamedTuple):
    """A part of a log. `start` is its position in UTF-16 units; without one, the log is complete, or the hub an earlier version,
    which gives the latest output at all times."""

    text: str
    start: Optional[int] = None


def follow(task: Callable[[], Dict[str, Any]], log: Callable[[int], LogPart]) -> Iterator[str]:
    """Pieces of the log from its beginning, until the task has ended.

    `task` reads the task, `log` what the hub has of its log from a position on: the latest output while it runs, all of it
    afterwards. Output that was printed too fast to be seen is replaced by a note.
    """
    attempt: Optional[str] = None
    reader = LogReader()
    delay = SHORTEST_DELAY_S
    while True:
        state = task()
        has_ended = state["status"] in ENDED
        fresh = ""
        # The log of a task that waits says why it waits.
        if has_ended or state["status"] == "RUNNING":
            if state.get("startedDatetime") != attempt:
                attempt, reader = state.get("startedDatetime"), LogReader()
            # A complete log may be shorter than what was read of it before.
            fresh = reader.fresh_of(log(0 if has_ended else reader.position), has_ended)
        if fresh:
            yield fresh
        if has_ended:
            return
        delay = SHORTEST_DELAY_S if fresh else min(LONGEST_DELAY_S, delay * 1.5)
        current_scope().sleep(delay)


class LogReader:
    """Tells what is new in a log, by its positions where the hub tells them."""

    def __init__(self) -> None:
        self.position = 0
        self._windows: Optional[WindowReader] = None

    def fresh_of(self, part: LogPart, is_all: bool) -> str:
        """The text of a part that was not in an earlier one; `is_all` says that the task has ended."""
        if part.start is None and not is_all and self._windows is None:
            self._windows = WindowReader()
        if self._windows is not None:
            return self._windows.fresh_of(part.text, is_all)
        start = part.start or 0
        units = part.text.encode("utf-16-le", "surrogatepass")
        known = max(0, self.position - start)
        skipped = SKIPPED if units and start > self.position else ""
        # An empty part may be that of a hub which has no output at present.
        self.position = max(self.position, start + len(units) // 2) if units else self.position
        return skipped + units[2 * known :].decode("utf-16-le", "replace")


class WindowReader:
    """Tells what is new in a text of which the hub shows the latest part, a window that moves on."""

    def __init__(self) -> None:
        self._seen = 0
        self._window = ""
        self._is_whole = True

    def fresh_of(self, window: str, is_all: bool) -> str:
        """The part of `window` that was not in an earlier one; `is_all` says that it is the whole text."""
        if not window:
            return ""
        if is_all and self._is_whole and window[: self._seen].endswith(self._window):
            fresh = window[self._seen :]
        else:
            fresh = self._after_window(window) if is_all else self._after_overlap(window)
        self._window = window
        self._seen += len(fresh)
        return fresh

    def _after_window(self, text: str) -> str:
        """The text after the last window in the whole text, of which some was skipped before it."""
        at = text.find(self._window)
        return self._after_overlap(text) if at < 0 else text[at + len(self._window) :]

    def _after_overlap(self, window: str) -> str:
        if window.startswith(self._window):
            return window[len(self._window) :]
        start = self._window.find(window[:PROBE])
        while start >= 0:
            overlap = len(self._window) - start
            if window.startswith(self._window[start:]):
                return window[overlap:]
            start = self._window.find(window[:PROBE], start + 1)
        self._is_whole = False
        return SKIPPED + window
