"""Progress of transfers, waits and sweeps: for a function of the caller, or as one line of text on a terminal."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from dataclasses import dataclass
from typing import Callable, Optional, TextIO, Union

REDRAW_S = 0.1
BAR_WIDTH = 24
# A notebook breaks longer lines itself.
NOTEBOOK_COLUMNS = 200
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True)
class Progress:
    """One report. `done` and `total` count `unit`s, which are `bytes`, `tasks`, `points` or `seconds`."""

    activity: str
    done: float
    total: Optional[float]
    unit: str
    detail: str = ""


Report = Callable[[Progress], None]
Choice = Union[bool, Report, None]


class Reporter:
    """Where one call reports its progress. Threads share it."""

    def __init__(self, choice: Choice) -> None:
        self._report: Optional[Report] = None
        self._bar: Optional[Bar] = None
        if callable(choice):
            self._report = choice
        elif choice is True or (choice is None and _may_draw()):
            self._bar = Bar(sys.stderr)
            self._report = self._bar.show
        self._lock = threading.Lock()

    @property
    def is_heard(self) -> bool:
        return self._report is not None

    @property
    def has_bar(self) -> bool:
        return self._bar is not None

    def __call__(self, progress: Progress) -> None:
        if self._report is not None:
            with self._lock:
                self._report(progress)

    def end(self) -> None:
        """Leaves the last state of the bar on a line of its own."""
        if self._bar is not None:
            self._bar.end()

    def say(self, text: str) -> None:
        """Prints a line, if there is a bar."""
        if self._bar is not None:
            with self._lock:
                self._bar.end()
                self._bar.stream.write(text + "\n")
                self._bar.stream.flush()


def is_notebook() -> bool:
    """Whether a kernel of Jupyter shows what this program prints."""
    shell_of = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return shell_of is not None and hasattr(shell_of(), "kernel")


def _may_draw() -> bool:
    """Whether a bar is seen. Calls in other threads have none, since their bars would overwrite each other."""
    if sys.stderr is None or threading.current_thread() is not threading.main_thread():
        return False
    return sys.stderr.isatty() or is_notebook()


class Bar:
    """One line of text that is drawn again and again, on a terminal and in a notebook; elsewhere a line for each activity."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream = stream
        self._clock = clock
        self._is_drawn = stream.isatty() or is_notebook()
        self._began = clock()
        self._first_done = 0.0
        self._drawn = float("-inf")
        self._activity: Optional[str] = None
        self._line = ""
        self._width = 0

    def show(self, progress: Progress) -> None:
        now = self._clock()
        if progress.activity != self._activity:
            self.end()
            self._activity, self._began, self._drawn = progress.activity, now, float("-inf")
            self._first_done = progress.done
        self._line = self._text(progress, now - self._began)
        is_last = progress.total is not None and progress.done >= progress.total
        if self._is_drawn and (is_last or now - self._drawn >= REDRAW_S):
            self._drawn = now
            columns = shutil.get_terminal_size().columns if self.stream.isatty() else NOTEBOOK_COLUMNS
            width = max(20, columns - 1)
            self.stream.write(self._over(self._line[:width]))
            self.stream.flush()

    def end(self) -> None:
        if self._activity is None:
            return
        self._activity = None
        self.stream.write((self._over(self._line) if self._is_drawn else self._line) + "\n")
        self.stream.flush()
        self._width = 0

    def _over(self, line: str) -> str:
        """The line in place of the last one, by spaces: a notebook erases nothing."""
        before, self._width = self._width, len(line)
        return "\r" + line.ljust(before)

    def _text(self, progress: Progress, elapsed_s: float) -> str:
        parts = [progress.activity]
        gained = progress.done - self._first_done
        rate = gained / elapsed_s if elapsed_s > 0 else 0.0
        if progress.total is not None:
            share = 1.0 if progress.total <= 0 else min(1.0, progress.done / progress.total)
            filled = int(share * BAR_WIDTH)
            parts.append(f"[{'#' * filled}{'-' * (BAR_WIDTH - filled)}] {100 * share:3.0f} %")
        parts.append(_amount(progress))
        if progress.unit == "bytes" and rate > 0:
            parts.append(f"{_bytes(rate)}/s")
        if progress.detail:
            parts.append(progress.detail)
        if progress.total is not None and rate > 0 and progress.done < progress.total:
            parts.append(f"{_time((progress.total - progress.done) / rate)} left")
        return "  ".join(parts)


def _amount(progress: Progress) -> str:
    if progress.unit == "seconds":
        return _time(progress.done)
    if progress.unit == "bytes":
        total = "" if progress.total is None else f" of {_bytes(progress.total)}"
        return _bytes(progress.done) + total
    total = "" if progress.total is None else f"/{progress.total:.0f}"
    return f"{progress.done:.0f}{total}"


def _bytes(count: float) -> str:
    for unit in UNITS:
        if count < 1000 or unit == UNITS[-1]:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return ""


def _time(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
